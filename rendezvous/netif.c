#include "rendezvous/netif.h"

#include <assert.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"

static_assert(sizeof((struct netif){0}.name) == IF_NAMESIZE, "a name of the kernel fits");

static bool to_text(const struct sockaddr *addr, struct addr *out)
{
    socklen_t n = addr->sa_family == AF_INET    ? (socklen_t)sizeof(struct sockaddr_in)
                  : addr->sa_family == AF_INET6 ? (socklen_t)sizeof(struct sockaddr_in6)
                                                : 0;
    out->port = 0;
    return n && getnameinfo(addr, n, out->host, sizeof out->host, NULL, 0, NI_NUMERICHOST) == 0;
}

int netif_list(struct netif_list *out, struct err *e)
{
    struct ifaddrs *all;
    *out = (struct netif_list){0};
    if (getifaddrs(&all) < 0)
        return err_sys(e, errno, "cannot list the network interfaces");
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        struct addr addr;
        if (!i->ifa_addr || !to_text(i->ifa_addr, &addr))
            continue;
        array_grow(out->items, out->len, out->cap);
        struct netif *item = &out->items[out->len++];
        *item = (struct netif){.addr = addr, .is_up = (i->ifa_flags & IFF_UP) != 0};
        strncpy(item->name, i->ifa_name, sizeof item->name - 1);
    }
    freeifaddrs(all);
    return 0;
}

void netif_fini(struct netif_list *list)
{
    free(list->items);
    *list = (struct netif_list){0};
}

static void names_format(const struct netif_list *list, struct buf *out)
{
    for (size_t i = 0; i < list->len; i++) {
        bool is_known = false;
        for (size_t k = 0; k < i && !is_known; k++)
            is_known = strcmp(list->items[k].name, list->items[i].name) == 0;
        if (!is_known)
            buf_addf(out, "%s%s", out->len ? " " : "", list->items[i].name);
    }
}

static bool matches(const struct netif *item, const char *what, bool is_subnet)
{
    return item->is_up
           && (is_subnet ? addr_in_subnet(item->addr.host, str_from(what))
                         : strcmp(item->name, what) == 0);
}

/* The better an address, the lower. */
static int rank(const char *host)
{
    return (addr_is_link_local(host) ? 2 : 0) + (strchr(host, ':') ? 1 : 0);
}

int netif_find(const struct netif_list *list, const char *what, struct addr *out, size_t max,
               struct err *e)
{
    bool is_subnet = addr_is_subnet(str_from(what));
    size_t n = 0;
    for (int r = 0; r < 4 && (r < 2 || !n); r++)
        for (size_t i = 0; i < list->len && n < max; i++)
            if (rank(list->items[i].addr.host) == r
                && matches(&list->items[i], what, is_subnet))
                out[n++] = list->items[i].addr;
    if (n)
        return (int)n;
    struct buf names;
    buf_init(&names, 0);
    names_format(list, &names);
    err_set(e, ERR_USAGE, "no interface that is up %s \"%s\" with an address; there are: %s",
            is_subnet ? "lies in" : "is called", what, buf_str(&names));
    buf_fini(&names);
    return -1;
}

bool netif_is_mine(const struct netif_list *list, const char *host)
{
    if (addr_is_loopback(host))
        return addr_is_numeric(host);
    for (size_t i = 0; i < list->len; i++)
        if (addr_is_same_host(list->items[i].addr.host, host))
            return true;
    return false;
}
