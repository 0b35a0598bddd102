#include "launcher/core/nccl_interface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "rendezvous/addr.h"

/* Whether NCCL's list ("eth,ib", "^docker", "=eth0") takes an interface of that name. Ports
 * (":1") are read over. */
static bool matches(const char *list, const char *name)
{
    bool is_exclusion = *list == '^';
    list += is_exclusion;
    bool is_exact = *list == '=';
    list += is_exact;
    struct str rest = str_from(list), word;
    bool is_member = false;
    while (str_split(&rest, ',', &word)) {
        const char *colon = memchr(word.p, ':', word.n);
        if (colon)
            word.n = (size_t)(colon - word.p);
        if (word.n)
            is_member |= is_exact ? str_eq(word, name) : strncmp(word.p, name, word.n) == 0;
    }
    return is_member != is_exclusion;
}

static bool is_ipv6(const char *address)
{
    return strchr(address, ':') != NULL;
}

static bool is_usable(const struct evidence_address *a, const char *family)
{
    if (!a->name || !a->address || !evidence_is(&a->running, 1))
        return false;
    if (is_ipv6(a->address) && addr_is_loopback(a->address))
        return false;
    if (family && strcmp(family, "AF_INET") == 0)
        return !is_ipv6(a->address);
    return !(family && strcmp(family, "AF_INET6") == 0) || is_ipv6(a->address);
}

static const struct evidence_address *find(const struct host_evidence *ev, const char *list)
{
    const char *family = evidence_setting(ev, "NCCL_SOCKET_FAMILY");
    for (size_t i = 0; i < ev->addresses.n; i++) {
        const struct evidence_address *a = evidence_address_at(ev, i);
        if (is_usable(a, family) && matches(list, a->name))
            return a;
    }
    return NULL;
}

/* In whose subnet the root of NCCL_COMM_ID is. */
static const struct evidence_address *find_subnet(const struct host_evidence *ev,
                                                  const char *root)
{
    struct addr addr;
    struct err e;
    if (addr_parse(str_from(root), 0, &addr, &e) < 0)
        return NULL;
    for (size_t i = 0; i < ev->addresses.n; i++) {
        const struct evidence_address *a = evidence_address_at(ev, i);
        if (!is_usable(a, NULL) || !a->bits.is_known)
            continue;
        char *subnet = mem_printf("%s/%lld", a->address, (long long)a->bits.value);
        bool is_in = addr_in_subnet(addr.host, str_from(subnet));
        free(subnet);
        if (is_in)
            return a;
    }
    return NULL;
}

const struct evidence_address *nccl_interface_predict(const struct host_evidence *ev)
{
    static const char *const order[] = {"^docker,lo,virbr", "docker", "lo", "virbr"};
    const char *list = evidence_setting(ev, "NCCL_SOCKET_IFNAME");
    const char *root = evidence_setting(ev, "NCCL_COMM_ID");
    if (list && strlen(list) > 1) /* NCCL reads over shorter ones */
        return find(ev, list);
    const struct evidence_address *a = find(ev, "ib");
    if (!a && root)
        a = find_subnet(ev, root);
    for (size_t i = 0; !a && i < sizeof order / sizeof order[0]; i++)
        a = find(ev, order[i]);
    return a;
}
