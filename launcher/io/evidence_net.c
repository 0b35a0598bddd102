#include "launcher/io/evidence_gather.h" /* of which this is the part about the network */

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static int64_t count_bits(const void *mask, size_t n)
{
    const unsigned char *bytes = mask;
    int64_t bits = 0;
    for (size_t i = 0; i < n; i++)
        bits += __builtin_popcount(bytes[i]);
    return bits;
}

static int64_t prefix_bits(const struct sockaddr *mask)
{
    if (mask->sa_family == AF_INET)
        return count_bits(&((const struct sockaddr_in *)(const void *)mask)->sin_addr, 4);
    return count_bits(&((const struct sockaddr_in6 *)(const void *)mask)->sin6_addr, 16);
}

static void add_address(const struct ifaddrs *i, struct host_evidence *ev)
{
    char host[NI_MAXHOST];
    int family = i->ifa_addr ? i->ifa_addr->sa_family : AF_UNSPEC;
    socklen_t n = family == AF_INET    ? (socklen_t)sizeof(struct sockaddr_in)
                  : family == AF_INET6 ? (socklen_t)sizeof(struct sockaddr_in6)
                                       : 0;
    if (!n || getnameinfo(i->ifa_addr, n, host, sizeof host, NULL, 0, NI_NUMERICHOST) != 0)
        return;
    host[strcspn(host, "%")] = '\0';
    struct evidence_address *a = evidence_address_add(ev);
    evidence_set_text(&a->name, i->ifa_name);
    evidence_set_text(&a->address, host);
    if (i->ifa_netmask)
        evidence_set(&a->bits, prefix_bits(i->ifa_netmask));
    evidence_set(&a->running, (i->ifa_flags & IFF_RUNNING) != 0);
}

static void add_name(const char *name, struct host_evidence *ev)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(name, NULL, &hints, &list);
    struct evidence_name *item = evidence_name_add(ev);
    evidence_set_text(&item->name, name);
    evidence_set(&item->code, rc);
    if (rc == 0)
        freeaddrinfo(list);
    else
        evidence_set_text(&item->words, gai_strerror(rc));
}

void evidence_gather_net(const struct evidence_request *r, struct host_evidence *ev)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) == 0) {
        ev->addresses.is_known = true;
        for (const struct ifaddrs *i = all; i; i = i->ifa_next)
            add_address(i, ev);
        freeifaddrs(all);
    }
    add_name(r->facts->host, ev);
    for (uint32_t i = 0; i < r->opt->lookups.n; i++)
        if (strcmp(r->opt->lookups.items[i], r->facts->host) != 0)
            add_name(r->opt->lookups.items[i], ev);
}
