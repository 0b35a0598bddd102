#include "launcher/core/doctor_ib.h"

#include <stdlib.h>
#include <string.h>

/* ---- ports ---- */

static bool is_active(const struct evidence_port *port)
{
    return port->state && strcmp(port->state, "ACTIVE") == 0;
}

static const struct evidence_port *port_of(const struct host_evidence *ev, const char *name)
{
    for (size_t i = 0; i < ev->ports.n; i++) {
        const struct evidence_port *port = evidence_port_at(ev, i);
        if (port->name && strcmp(port->name, name) == 0)
            return port;
    }
    return NULL;
}

static void judge_ports(const struct rule *rule, const struct host_evidence *ev,
                        struct finding_list *out)
{
    for (size_t i = 0; i < ev->ports.n; i++) {
        const struct evidence_port *port = evidence_port_at(ev, i);
        if (port->name && port->state && !is_active(port))
            rule_found(rule, ev, out, "port %s is %s, not ACTIVE%s%s", port->name, port->state,
                       port->phys_state ? ": " : "", port->phys_state ? port->phys_state : "");
    }
}

static const char *layer_of(const struct host_evidence *ev, const char *name)
{
    const struct evidence_port *port = port_of(ev, name);
    return port && is_active(port) ? port->layer : NULL;
}

static const char *rate_of(const struct host_evidence *ev, const char *name)
{
    const struct evidence_port *port = port_of(ev, name);
    return port && is_active(port) ? port->rate : NULL;
}

/* The port of that name on all hosts. */
static void compare_port(const struct rule *rule, const struct host_evidence *const *hosts,
                         size_t n, const char *name, struct finding_list *out)
{
    struct buf text;
    buf_init(&text, 0);
    if (rule_values_format(hosts, n, layer_of, name, NULL, &text)) {
        rule_differs(rule, out, "port %s is %s", name, buf_str(&text));
    } else {
        buf_reset(&text);
        if (rule_values_format(hosts, n, rate_of, name, NULL, &text))
            rule_differs(rule, out, "port %s runs at %s", name, buf_str(&text));
    }
    buf_fini(&text);
}

/* Whether no earlier host has a port of that name. */
static bool is_first_with(const struct host_evidence *const *hosts, size_t i, const char *name)
{
    for (size_t k = 0; k < i; k++)
        if (port_of(hosts[k], name))
            return false;
    return true;
}

void doctor_ib_port(const struct rule *rule, const struct host_evidence *const *hosts, size_t n,
                    struct finding_list *out)
{
    for (size_t i = 0; i < n; i++) {
        if (!hosts[i]->ports.is_known)
            rule_unknown(rule, hosts[i], out, "the ports of InfiniBand devices");
        judge_ports(rule, hosts[i], out);
        for (size_t k = 0; k < hosts[i]->ports.n; k++) {
            const char *name = evidence_port_at(hosts[i], k)->name;
            if (name && is_first_with(hosts, i, name))
                compare_port(rule, hosts, n, name, out);
        }
    }
}

/* ---- devices ---- */

void doctor_ib_device(const struct rule *rule, const struct host_evidence *ev,
                      struct finding_list *out)
{
    if (!ev->hcas.is_known || (ev->hcas.n && !ev->has_ibverbs.is_known)) {
        rule_unknown(rule, ev, out, "InfiniBand devices, or libibverbs.so.1");
        return;
    }
    if (ev->hcas.n && !ev->has_ibverbs.value)
        rule_found(rule, ev, out,
                   "%zu InfiniBand device%s, and libibverbs.so.1 cannot be loaded", ev->hcas.n,
                   ev->hcas.n == 1 ? "" : "s");
    for (size_t i = 0; i < ev->hcas.n; i++) {
        const struct evidence_hca *hca = evidence_hca_at(ev, i);
        if (hca->verbs_errno.is_known && hca->verbs_errno.value)
            rule_found(rule, ev, out, "%s: its /dev/infiniband/uverbs* cannot be opened: %s",
                       hca->name ? hca->name : "a device",
                       strerror((int)hca->verbs_errno.value));
    }
}

/* ---- addresses of RoCE ---- */

static bool is_routable(const struct evidence_gid *gid)
{
    return gid->gid && gid->type && strcmp(gid->type, "RoCE v2") == 0
           && strncmp(gid->gid, "fe80:", 5) != 0
           && strcmp(gid->gid, "0000:0000:0000:0000:0000:0000:0000:0000") != 0;
}

static const struct evidence_gid *routable_gid(const struct host_evidence *ev, const char *port,
                                               int64_t index)
{
    for (size_t i = 0; i < ev->gids.n; i++) {
        const struct evidence_gid *gid = evidence_gid_at(ev, i);
        if (gid->port && strcmp(gid->port, port) == 0 && is_routable(gid)
            && (index < 0 || evidence_is(&gid->index, index)))
            return gid;
    }
    return NULL;
}

static void judge_gids(const struct rule *rule, const struct host_evidence *ev,
                       const struct evidence_port *port, const char *fixed,
                       struct finding_list *out)
{
    const struct evidence_gid *any = routable_gid(ev, port->name, -1);
    if (!any) {
        finding_set_fix(rule_found(rule, ev, out,
                                   "port %s has no RoCE v2 address but link-local ones",
                                   port->name),
                        "give the interface of %s an IP address", port->name);
        return;
    }
    if (fixed && !routable_gid(ev, port->name, strtol(fixed, NULL, 10)))
        finding_set_fix(
            rule_found(rule, ev, out, "NCCL_IB_GID_INDEX=%s is no RoCE v2 address of port %s",
                       fixed, port->name),
            "unset NCCL_IB_GID_INDEX, or NCCL_IB_GID_INDEX=%lld", (long long)any->index.value);
}

void doctor_ib_gid(const struct rule *rule, const struct host_evidence *ev,
                   struct finding_list *out)
{
    enum { NCCL_CHOOSES_SINCE = 22100 };
    if (!ev->ports.is_known
        || (ev->ports.n && (!ev->gids.is_known || !ev->settings.is_known))) {
        rule_unknown(rule, ev, out, "the ports of InfiniBand devices, or their addresses");
        return;
    }
    const char *fixed = evidence_setting(ev, "NCCL_IB_GID_INDEX");
    bool has_roce = false;
    for (size_t i = 0; i < ev->ports.n; i++) {
        const struct evidence_port *port = evidence_port_at(ev, i);
        if (!port->name || !port->layer || strcmp(port->layer, "Ethernet") != 0
            || !is_active(port))
            continue;
        has_roce = true;
        judge_gids(rule, ev, port, fixed, out);
    }
    if (has_roce && fixed && ev->nccl_version
        && rule_version(ev->nccl_version) >= NCCL_CHOOSES_SINCE)
        rule_found(rule, ev, out, "NCCL_IB_GID_INDEX=%s is set, and NCCL %s finds it by itself",
                   fixed, ev->nccl_version);
}

/* ---- GPU Direct RDMA ---- */

static bool has_dmabuf(const struct host_evidence *ev)
{
    int major = 0, minor = 0;
    if (!ev->kernel || !evidence_is(&ev->is_open_module, 1))
        return false;
    char *end;
    major = (int)strtol(ev->kernel, &end, 10);
    if (*end == '.')
        minor = (int)strtol(end + 1, NULL, 10);
    return major > 5 || (major == 5 && minor >= 12);
}

void doctor_ib_gdr(const struct rule *rule, const struct host_evidence *const *hosts, size_t n,
                   struct finding_list *out)
{
    size_t lacking = 0, judged = 0;
    struct finding *f = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct host_evidence *ev = hosts[i];
        if (ev->hcas.is_known && ev->gpus.is_known && (!ev->hcas.n || !ev->gpus.n))
            continue;
        if (!ev->hcas.is_known || !ev->gpus.is_known || !ev->has_peermem.is_known) {
            rule_unknown(rule, ev, out, "InfiniBand devices, GPUs or the kernel's modules");
            continue;
        }
        judged++;
        if (ev->has_peermem.value || has_dmabuf(ev))
            continue;
        lacking++;
        f = rule_found(rule, ev, out,
                       "neither nvidia_peermem nor DMA-BUF (open module, kernel 5.12)");
    }
    for (size_t i = 0; f && lacking < judged && i < out->n; i++)
        if (strcmp(out->items[i].rule, rule->id) == 0 && out->items[i].level != FINDING_UNKNOWN)
            out->items[i].is_difference = true;
}
