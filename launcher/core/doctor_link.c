#include "launcher/core/doctor_link.h"

#include <string.h>

enum { CUDA_SYSTEM_NOT_READY = 802 };
enum { FABRIC_NOT_STARTED = 1, FABRIC_IN_PROGRESS = 2, FABRIC_COMPLETED = 3 };

static const struct evidence_gpu *by_index(const struct host_evidence *ev, int64_t index)
{
    for (size_t i = 0; i < ev->gpus.n; i++)
        if (evidence_is(&evidence_gpu_at(ev, i)->index, index))
            return evidence_gpu_at(ev, i);
    return NULL;
}

static bool is_switched(const struct evidence_gpu *gpu)
{
    return gpu && gpu->switch_links.is_known && gpu->switch_links.value > 0;
}

static bool is_pair_linked(const struct host_evidence *ev, const struct evidence_pair *pair)
{
    return (pair->links.is_known && pair->links.value > 0)
           || (is_switched(by_index(ev, pair->a.value))
               && is_switched(by_index(ev, pair->b.value)));
}

/* ---- NVLink ---- */

/* Without any link a GPU may just have no bridge, unless there is a switch. */
static bool may_lack_bridge(const struct host_evidence *ev, const struct evidence_gpu *gpu)
{
    for (size_t i = 0; i < ev->gpus.n; i++)
        if (is_switched(evidence_gpu_at(ev, i)))
            return false;
    return gpu->links.value == 0;
}

/* The most links of a GPU of that model on this host. */
static int64_t most_links(const struct host_evidence *ev, const char *name)
{
    int64_t most = 0;
    for (size_t i = 0; name && i < ev->gpus.n; i++) {
        const struct evidence_gpu *gpu = evidence_gpu_at(ev, i);
        if (gpu->name && strcmp(gpu->name, name) == 0 && gpu->links.is_known
            && gpu->links.value > most)
            most = gpu->links.value;
    }
    return most;
}

void doctor_nvlink_down(const struct rule *rule, const struct host_evidence *ev,
                        struct finding_list *out)
{
    if (rule_is_without_gpus(rule, ev, out))
        return;
    bool is_told = ev->gpus.n == 1;
    for (size_t i = 0; i < ev->gpus.n; i++) {
        const struct evidence_gpu *gpu = evidence_gpu_at(ev, i);
        int64_t most = most_links(ev, gpu->name);
        is_told |= gpu->links.is_known;
        if (gpu->links.is_known && gpu->links.value < most && !may_lack_bridge(ev, gpu))
            rule_found(rule, ev, out, "GPU %lld has %lld of %lld NVLinks; down: %s",
                       (long long)gpu->index.value, (long long)gpu->links.value,
                       (long long)most, gpu->links_down ? gpu->links_down : "unknown");
    }
    for (size_t i = 0; i < ev->pairs.n; i++) {
        const struct evidence_pair *pair = evidence_pair_at(ev, i);
        if (pair->p2p.is_known && pair->p2p.value && is_pair_linked(ev, pair))
            rule_found(rule, ev, out,
                       "GPUs %lld and %lld have NVLinks and no access to each other's memory "
                       "(status %lld)",
                       (long long)pair->a.value, (long long)pair->b.value,
                       (long long)pair->p2p.value);
    }
    if (!is_told)
        rule_unknown(rule, ev, out, "the state of NVLinks: NVML does not tell");
}

/* ---- its fabric ---- */

void doctor_fabric_manager(const struct rule *rule, const struct host_evidence *ev,
                           struct finding_list *out)
{
    if (evidence_is(&ev->cuda_code, CUDA_SYSTEM_NOT_READY)) {
        rule_found(rule, ev, out, "CUDA says 802, system not yet initialized");
        return;
    }
    if (rule_is_without_gpus(rule, ev, out))
        return;
    bool is_told = false;
    for (size_t i = 0; i < ev->gpus.n; i++) {
        const struct evidence_gpu *gpu = evidence_gpu_at(ev, i);
        int64_t state = gpu->fabric_state.value;
        is_told |= gpu->fabric_state.is_known;
        if (gpu->fabric_state.is_known
            && (state == FABRIC_NOT_STARTED || state == FABRIC_IN_PROGRESS))
            rule_found(rule, ev, out, "GPU %lld: its registration with the fabric %s",
                       (long long)gpu->index.value,
                       state == FABRIC_NOT_STARTED ? "has not begun" : "is not over");
    }
    if (!is_told)
        rule_unknown(rule, ev, out, "the state of the fabric: NVML does not tell");
}

void doctor_fabric_multicast(const struct rule *rule, const struct host_evidence *ev,
                             struct finding_list *out)
{
    if (rule_is_without_gpus(rule, ev, out))
        return;
    bool is_told = false;
    for (size_t i = 0; i < ev->gpus.n; i++) {
        const struct evidence_gpu *gpu = evidence_gpu_at(ev, i);
        is_told |= gpu->fabric_state.is_known;
        if (evidence_is(&gpu->fabric_state, FABRIC_COMPLETED) && gpu->fabric_status.is_known
            && gpu->fabric_status.value)
            rule_found(rule, ev, out, "GPU %lld: its registration with the fabric gave %lld",
                       (long long)gpu->index.value, (long long)gpu->fabric_status.value);
    }
    if (!is_told)
        rule_unknown(rule, ev, out, "the state of the fabric: NVML does not tell");
}

static const char *clique_of(const struct host_evidence *ev, const char *name)
{
    (void)name;
    for (size_t i = 0; i < ev->gpus.n; i++) {
        const char *clique = evidence_gpu_at(ev, i)->fabric_clique;
        if (clique && *clique)
            return clique;
    }
    return NULL;
}

static void judge_channels(const struct rule *rule, const struct host_evidence *ev,
                           struct finding_list *out)
{
    bool can_open = false;
    for (size_t i = 0; i < ev->channels.n; i++)
        can_open |= evidence_is(&evidence_channel_at(ev, i)->code, 0);
    if (!ev->channels.is_known)
        rule_unknown(rule, ev, out, "the IMEX channels");
    else if (!ev->channels.n)
        rule_found(rule, ev, out, "GPUs of a multi-node NVLink domain, and no IMEX channel");
    else if (!can_open)
        rule_found(rule, ev, out, "none of %zu IMEX channels may be opened", ev->channels.n);
}

void doctor_fabric_imex(const struct rule *rule, const struct host_evidence *const *hosts,
                        size_t n, struct finding_list *out)
{
    struct buf text;
    buf_init(&text, 0);
    for (size_t i = 0; i < n; i++)
        if (!rule_is_without_gpus(rule, hosts[i], out) && clique_of(hosts[i], NULL))
            judge_channels(rule, hosts[i], out);
    if (rule_values_format(hosts, n, clique_of, NULL, NULL, &text))
        rule_differs(rule, out, "several NVLink cliques: %s", buf_str(&text));
    buf_fini(&text);
}

/* ---- peers without NVLink ---- */

/* 1: some pair has no access to each other's memory; 0: all have; -1: nobody knows. */
static int lacks_peers(const struct host_evidence *ev)
{
    bool is_known = ev->cuda_peers.is_known || (ev->gpus.is_known && ev->gpus.n < 2);
    bool is_lacking = evidence_is(&ev->cuda_peers, 0);
    for (size_t i = 0; i < ev->pairs.n; i++) {
        const struct evidence_pair *pair = evidence_pair_at(ev, i);
        is_known |= pair->p2p.is_known;
        is_lacking |= pair->p2p.is_known && pair->p2p.value != 0;
    }
    return is_known ? is_lacking : -1;
}

void doctor_p2p_none(const struct rule *rule, const struct host_evidence *ev,
                     struct finding_list *out)
{
    int lacks = lacks_peers(ev);
    if (lacks < 0)
        rule_unknown(rule, ev, out, "which GPUs reach each other's memory");
    if (lacks > 0)
        rule_found(rule, ev, out, "some of %zu GPUs do not reach each other's memory",
                   ev->gpus.n);
}

void doctor_p2p_cumemhost(const struct rule *rule, const struct host_evidence *ev,
                          struct finding_list *out)
{
    enum { NCCL_SINCE = 22400, CUDA_UNTIL = 13000 };
    int lacks = lacks_peers(ev);
    if (lacks == 0 || (ev->cuda_driver.is_known && ev->cuda_driver.value >= CUDA_UNTIL))
        return;
    int64_t nccl = ev->nccl_version ? rule_version(ev->nccl_version) : -1;
    if (lacks < 0 || nccl < 0 || !ev->cuda_driver.is_known) {
        rule_unknown(rule, ev, out, "peer access, or the versions of NCCL and the driver");
        return;
    }
    const char *off = evidence_setting(ev, "NCCL_CUMEM_HOST_ENABLE");
    if (nccl >= NCCL_SINCE && !(off && strcmp(off, "0") == 0))
        rule_found(rule, ev, out,
                   "NCCL %s with a driver of CUDA %lld.%lld, and GPUs without peer access",
                   ev->nccl_version, (long long)(ev->cuda_driver.value / 1000),
                   (long long)(ev->cuda_driver.value % 1000 / 10));
}

/* ---- PCIe ---- */

void doctor_pcie_acs(const struct rule *rule, const struct host_evidence *ev,
                     struct finding_list *out)
{
    if (ev->buses.is_known && ev->buses.n < 2)
        return;
    if (!ev->buses.is_known || !ev->iommu_groups.is_known || !ev->cmdline) {
        rule_unknown(rule, ev, out, "the PCI bus, the IOMMU's groups or the kernel's options");
        return;
    }
    if (ev->iommu_groups.value > 0 && !strstr(ev->cmdline, "iommu=pt")
        && !strstr(ev->cmdline, "iommu.passthrough=1"))
        rule_found(rule, ev, out,
                   "the IOMMU translates for %zu GPUs (%lld groups, no iommu=pt)", ev->buses.n,
                   (long long)ev->iommu_groups.value);
}

void doctor_pcie_link(const struct rule *rule, const struct host_evidence *ev,
                      struct finding_list *out)
{
    if (!ev->buses.is_known)
        rule_unknown(rule, ev, out, "the PCI bus");
    for (size_t i = 0; i < ev->buses.n; i++) {
        const struct evidence_bus *bus = evidence_bus_at(ev, i);
        if (bus->width.is_known && bus->width_max.is_known && bus->width.value > 0
            && bus->width.value < bus->width_max.value)
            rule_found(rule, ev, out, "GPU %s runs x%lld of x%lld", bus->pci ? bus->pci : "",
                       (long long)bus->width.value, (long long)bus->width_max.value);
    }
}
