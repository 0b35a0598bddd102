#include "launcher/io/head_addrs.h"

#include "launcher/io/own_addr.h"

/* Loopback is of use only where all hosts are this one. */
static bool is_alone(const struct agents *a)
{
    for (size_t i = 0; i < a->hosts->n; i++)
        if (!agents_is_here(a, &a->hosts->hosts[i]))
            return false;
    return true;
}

static int fail_loopback(const struct agents *a, const struct host *host, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "%s: %s:%u: %s=%s is loopback, which no other host reaches; give an address "
                   "of its network, or its interface there",
                   host->name, a->hosts->source, host->line, host->addr ? "addr" : "iface",
                   host->addr ? host->addr : host->iface);
}

static int check_loopback(const struct agents *a, struct err *e)
{
    bool may_have = is_alone(a);
    for (size_t i = 0; i < a->hosts->n && !may_have; i++) {
        const struct host *host = &a->hosts->hosts[i];
        if (host->addr && addr_is_loopback(host->addr))
            return fail_loopback(a, host, e);
    }
    return 0;
}

/* What the list says of this machine: how many addresses, 0 = nothing. */
static int find_listed(const struct agents *a, struct addr *out, struct err *e)
{
    for (size_t i = 0; i < a->hosts->n; i++) {
        const struct host *host = &a->hosts->hosts[i];
        struct buf line;
        if ((!host->addr && !host->iface) || !agents_is_here(a, host))
            continue;
        buf_init(&line, 0);
        buf_addf(&line, "%s:%u", a->hosts->source, host->line);
        const struct own_addr wish = {host->addr, host->iface, buf_str(&line)};
        int n = own_addr_find(&wish, a->netifs, out, ADDR_CANDIDATES_MAX, e);
        buf_fini(&line);
        if (n < 0)
            return err_wrap(e, "%s", host->name);
        return addr_is_loopback(out[0].host) && !is_alone(a) ? fail_loopback(a, host, e) : n;
    }
    return 0;
}

static int find_chosen(const struct agents *a, struct addr *out, struct err *e)
{
    if (check_loopback(a, e) < 0)
        return -1;
    if (!a->opt->interface)
        return find_listed(a, out, e);
    int n = netif_find(a->netifs, a->opt->interface, out, ADDR_CANDIDATES_MAX, e);
    return n < 0 ? err_wrap(e, "--interface") : n;
}

int head_addrs_find(const struct agents *a, struct addr out[ADDR_CANDIDATES_MAX], size_t *n,
                    struct err *e)
{
    struct addr own[ADDR_CANDIDATES_MAX], chosen[ADDR_CANDIDATES_MAX];
    size_t nown = 0;
    int nchosen = find_chosen(a, chosen, e);
    if (nchosen < 0)
        return -1;
    for (size_t i = 0; i < a->netifs->len && nown < ADDR_CANDIDATES_MAX; i++)
        if (a->netifs->items[i].is_up)
            own[nown++] = a->netifs->items[i].addr;
    const struct addr_sources from = {.chosen = {chosen, (size_t)nchosen}, .own = {own, nown}};
    *n = addr_candidates(&from, 0, out);
    return *n ? 0 : err_set(e, ERR_UNAVAILABLE, "this machine has no address");
}
