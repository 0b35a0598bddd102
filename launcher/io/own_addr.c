#include "launcher/io/own_addr.h"

#include <stdio.h>
#include <string.h>

#include "launcher/io/resolve.h"

static bool is_given(const char *text)
{
    return text && *text;
}

static bool has(const struct addr *list, size_t n, const char *host)
{
    for (size_t i = 0; i < n; i++)
        if (addr_is_same_host(list[i].host, host))
            return true;
    return false;
}

/* "10.0.0.7 (eth0), 10.1.0.7 (ib0)": those that others may reach. */
static void format_all(const struct netif_list *netifs, struct buf *out)
{
    for (size_t i = 0; i < netifs->len; i++) {
        const struct netif *item = &netifs->items[i];
        if (item->is_up && !addr_is_loopback(item->addr.host)
            && !addr_is_link_local(item->addr.host))
            buf_addf(out, "%s%s (%s)", out->len ? ", " : "", item->addr.host, item->name);
    }
    if (!out->len)
        buf_adds(out, "none but loopback");
}

static int fail_addr(const struct own_addr *wish, const struct netif_list *netifs,
                     const char *what, struct err *e)
{
    struct buf all;
    buf_init(&all, 0);
    format_all(netifs, &all);
    err_set(e, ERR_USAGE, "addr=%.80s %s; addresses here: %s", wish->addr, what, buf_str(&all));
    buf_fini(&all);
    return -1;
}

/* What the name or number stands for, as far as it is this machine's; of these addresses
 * only, unless there are none. */
static int find_addr(const struct own_addr *wish, const struct netif_list *netifs,
                     const struct addr *only, size_t nonly, struct addr *out, size_t max,
                     struct err *e)
{
    struct addr where = {.port = 0}, found[ADDR_CANDIDATES_MAX];
    char what[160] = "stands for no address of this host";
    size_t kept = 0;
    snprintf(where.host, sizeof where.host, "%s", wish->addr);
    bool is_name = !addr_is_numeric(where.host) && !addr_is_loopback(where.host);
    int n = resolve(&where, 0, found, ADDR_CANDIDATES_MAX, e);
    if (n < 0)
        return fail_addr(wish, netifs, "is not known on this host", e);
    for (int i = 0; i < n && kept < max; i++) {
        const char *host = found[i].host;
        if (is_name && addr_is_loopback(host))
            snprintf(what, sizeof what, "is %.80s here, which no other host reaches", host);
        else if (!netif_is_mine(netifs, host))
            snprintf(what, sizeof what, "is no address of this host");
        else if (only && !has(only, nonly, host))
            snprintf(what, sizeof what, "is not on %.20s", wish->iface);
        else
            out[kept++] = found[i];
    }
    return kept ? (int)kept : fail_addr(wish, netifs, what, e);
}

int own_addr_find(const struct own_addr *wish, const struct netif_list *netifs,
                  struct addr *out, size_t max, struct err *e)
{
    struct addr on[ADDR_CANDIDATES_MAX];
    bool has_iface = is_given(wish->iface);
    int n = 0;
    if (has_iface && (n = netif_find(netifs, wish->iface, on, ADDR_CANDIDATES_MAX, e)) < 0)
        return err_wrap(e, "%s: iface=%s", wish->line, wish->iface);
    if (is_given(wish->addr)) {
        n = find_addr(wish, netifs, has_iface ? on : NULL, (size_t)n, out, max, e);
        return n < 0 ? err_wrap(e, "%s", wish->line) : n;
    }
    n = (size_t)n > max ? (int)max : n;
    memcpy(out, on, (size_t)n * sizeof *out);
    return n;
}
