#include "launcher/core/doctor_net.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/nccl_interface.h"
#include "rendezvous/addr.h"

static bool is_net_known(const struct host_evidence *ev)
{
    return ev->addresses.is_known && ev->settings.is_known;
}

/* Names of the interfaces that are up, each once. */
static void running_format(const struct host_evidence *ev, struct buf *out)
{
    for (size_t i = 0; i < ev->addresses.n; i++) {
        const struct evidence_address *a = evidence_address_at(ev, i);
        bool is_told = !a->name || !evidence_is(&a->running, 1);
        for (size_t k = 0; k < i && !is_told; k++) {
            const char *other = evidence_address_at(ev, k)->name;
            is_told = other && strcmp(other, a->name) == 0;
        }
        if (!is_told)
            buf_addf(out, "%s%s", out->len ? ", " : "", a->name);
    }
}

void doctor_net_ifname(const struct rule *rule, const struct host_evidence *ev,
                       struct finding_list *out)
{
    if (!is_net_known(ev)) {
        rule_unknown(rule, ev, out, "the interfaces, or the settings of NCCL");
        return;
    }
    if (nccl_interface_predict(ev))
        return;
    const char *list = evidence_setting(ev, "NCCL_SOCKET_IFNAME");
    struct buf there;
    buf_init(&there, 0);
    running_format(ev, &there);
    if (list)
        rule_found(rule, ev, out, "NCCL_SOCKET_IFNAME=%s matches no running interface (%s%s)",
                   list, there.len ? "there are " : "there is none", buf_str(&there));
    else
        rule_found(rule, ev, out, "no interface is up with an address that NCCL can use");
    buf_fini(&there);
}

/* Why an interface is rarely the one that leads to other hosts; NULL if nothing speaks against
 * it. */
static const char *doubt(const struct evidence_address *a)
{
    static const struct {
        const char *prefix, *words;
    } kinds[] = {
        {"veth", "a container's cable"},   {"br-", "a bridge of Docker"},  {"tun", "a tunnel"},
        {"cni", "a bridge of Kubernetes"}, {"CloudflareWARP", "a tunnel"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncmp(a->name, kinds[i].prefix, strlen(kinds[i].prefix)) == 0)
            return kinds[i].words;
    return addr_is_link_local(a->address) ? "a link-local address" : NULL;
}

static bool is_same_subnet(const struct evidence_address *a, const struct evidence_address *b)
{
    if (!a->bits.is_known)
        return true;
    char *subnet = mem_printf("%s/%lld", a->address, (long long)a->bits.value);
    bool is_in = addr_in_subnet(b->address, str_from(subnet));
    free(subnet);
    return is_in;
}

/* Whether the address of an earlier host is in the same subnet. */
static bool is_subnet_told(const struct host_evidence *const *hosts, size_t i,
                           const struct evidence_address *a)
{
    for (size_t k = 0; k < i; k++) {
        const struct evidence_address *b = nccl_interface_predict(hosts[k]);
        if (b && !addr_is_loopback(a->address) && is_same_subnet(b, a))
            return true;
    }
    return false;
}

/* Names one host of each subnet. A loopback address is a subnet of its own. */
static void subnets_differ(const struct rule *rule, const struct host_evidence *const *hosts,
                           size_t n, struct finding_list *out)
{
    unsigned nsubnets = 0;
    struct buf text;
    buf_init(&text, 0);
    for (size_t i = 0; i < n; i++) {
        const struct evidence_address *a = nccl_interface_predict(hosts[i]);
        if (a && !is_subnet_told(hosts, i, a))
            buf_addf(&text, "%s%s %s on %s", nsubnets++ ? ", " : "", a->name, a->address,
                     rule_host(hosts[i]));
    }
    if (nsubnets > 1)
        rule_differs(rule, out, "the interfaces that NCCL would take share no subnet: %s",
                     buf_str(&text));
    buf_fini(&text);
}

void doctor_net_interface(const struct rule *rule, const struct host_evidence *const *hosts,
                          size_t n, struct finding_list *out)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_net_known(hosts[i])) {
            rule_unknown(rule, hosts[i], out, "the interfaces, or the settings of NCCL");
            continue;
        }
        const struct evidence_address *a = nccl_interface_predict(hosts[i]);
        const char *words = a ? doubt(a) : NULL;
        if (words)
            rule_found(rule, hosts[i], out, "NCCL would take %s (%s), %s", a->name, a->address,
                       words);
    }
    subnets_differ(rule, hosts, n, out);
}

/* ---- who reaches whom ---- */

static const struct evidence_reach *reach_of(const struct host_evidence *from, const char *to)
{
    for (size_t i = 0; i < from->reaches.n; i++) {
        const struct evidence_reach *r = evidence_reach_at(from, i);
        if (r->peer && strcmp(r->peer, to) == 0)
            return r;
    }
    return NULL;
}

static const char *way_back(const struct host_evidence *const *hosts, size_t n,
                            const char *peer, const char *host)
{
    for (size_t i = 0; i < n; i++) {
        const struct evidence_reach *r = NULL;
        if (strcmp(rule_host(hosts[i]), peer) == 0)
            r = reach_of(hosts[i], host);
        if (r && r->code.is_known)
            return r->code.value ? "cannot" : "can";
    }
    return NULL;
}

static void judge_reach(const struct rule *rule, const struct host_evidence *const *hosts,
                        size_t n, const struct host_evidence *from, struct finding_list *out)
{
    for (size_t i = 0; i < from->reaches.n; i++) {
        const struct evidence_reach *r = evidence_reach_at(from, i);
        if (!r->peer || evidence_is(&r->code, 0))
            continue;
        const char *back = way_back(hosts, n, r->peer, rule_host(from));
        struct buf text;
        buf_init(&text, 0);
        buf_addf(&text, "%s cannot reach %s (%s): %s", rule_host(from), r->peer,
                 r->address ? r->address : "?", r->words ? r->words : "no answer");
        if (back)
            buf_addf(&text, "; %s %s reach %s", r->peer, back, rule_host(from));
        rule_differs(rule, out, "%s", buf_str(&text));
        buf_fini(&text);
    }
}

void doctor_net_reach(const struct rule *rule, const struct host_evidence *const *hosts,
                      size_t n, struct finding_list *out)
{
    for (size_t i = 0; i < n && n > 1; i++) {
        if (hosts[i]->reaches.is_known)
            judge_reach(rule, hosts, n, hosts[i], out);
        else
            rule_unknown(rule, hosts[i], out, "whom this host reaches");
    }
}

void doctor_net_name(const struct rule *rule, const struct host_evidence *ev,
                     struct finding_list *out)
{
    if (!ev->names.is_known)
        rule_unknown(rule, ev, out, "how names are resolved");
    for (size_t i = 0; i < ev->names.n; i++) {
        const struct evidence_name *name = evidence_name_at(ev, i);
        if (name->name && name->code.is_known && name->code.value)
            rule_found(rule, ev, out, "%s: %s (%lld)", name->name,
                       name->words ? name->words : "it cannot be resolved",
                       (long long)name->code.value);
    }
}

/* ---- one job ---- */

static const char *given_job(const struct host_evidence *ev, const char *name)
{
    (void)name;
    return ev->job;
}

static const char *given_nodes(const struct host_evidence *ev, const char *name)
{
    (void)name;
    return ev->nodes;
}

static void compare_given(const struct rule *rule, const struct host_evidence *const *hosts,
                          size_t n, const char *what,
                          const char *(*given)(const struct host_evidence *ev,
                                               const char *name),
                          struct finding_list *out)
{
    struct buf text;
    buf_init(&text, 0);
    for (size_t i = 0; i < n; i++)
        if (!given(hosts[i], NULL))
            rule_unknown(rule, hosts[i], out, what);
    if (rule_values_format(hosts, n, given, NULL, NULL, &text))
        rule_differs(rule, out, "%s: %s", what, buf_str(&text));
    buf_fini(&text);
}

void doctor_rdzv_mismatch(const struct rule *rule, const struct host_evidence *const *hosts,
                          size_t n, struct finding_list *out)
{
    if (n < 2)
        return;
    compare_given(rule, hosts, n, "the name of the job", given_job, out);
    compare_given(rule, hosts, n, "the number of nodes", given_nodes, out);
}
