#include "launcher/core/doctor_gpu.h"

#include <errno.h>
#include <string.h>

enum { CUDA_INSUFFICIENT_DRIVER = 35 };
enum { NVML_VERSION_MISMATCH = 18, NVML_UNKNOWN = 999, NO_NVML = -1 };
enum { MODE_PROHIBITED = 2, MODE_EXCLUSIVE = 3 };

/* ---- the driver ---- */

/* What NVIDIA's container runtime was told that would explain a missing driver. */
static const char *container_reason(const struct host_evidence *ev)
{
    const char *visible = evidence_setting(ev, "NVIDIA_VISIBLE_DEVICES");
    const char *capabilities = evidence_setting(ev, "NVIDIA_DRIVER_CAPABILITIES");
    if (visible && (strcmp(visible, "none") == 0 || strcmp(visible, "") == 0))
        return "; NVIDIA_VISIBLE_DEVICES gives this container no GPU";
    if (capabilities && !strstr(capabilities, "all") && !strstr(capabilities, "compute"))
        return "; NVIDIA_DRIVER_CAPABILITIES lacks compute,utility";
    return "";
}

void doctor_driver_missing(const struct rule *rule, const struct host_evidence *ev,
                           struct finding_list *out)
{
    if (evidence_is(&ev->asks_gpus, 0))
        return;
    if (!ev->asks_gpus.is_known || !ev->has_libcuda.is_known) {
        rule_unknown(rule, ev, out, "whether GPUs are asked for, or libcuda.so.1 is there");
        return;
    }
    int64_t driver = ev->cuda_driver.value, runtime = ev->cuda_runtime.value;
    if (!ev->has_libcuda.value)
        rule_found(rule, ev, out, "GPUs are asked for, and libcuda.so.1 cannot be loaded%s",
                   container_reason(ev));
    else if (evidence_is(&ev->cuda_driver, 0))
        rule_found(rule, ev, out, "the driver gives no CUDA version%s", container_reason(ev));
    else if ((ev->cuda_driver.is_known && ev->cuda_runtime.is_known
              && driver / 1000 < runtime / 1000)
             || evidence_is(&ev->cuda_code, CUDA_INSUFFICIENT_DRIVER))
        rule_found(rule, ev, out,
                   "the driver knows CUDA %lld.%lld, the program needs %lld.%lld",
                   (long long)(driver / 1000), (long long)(driver % 1000 / 10),
                   (long long)(runtime / 1000), (long long)(runtime % 1000 / 10));
    else if (!ev->cuda_driver.is_known && !evidence_is(&ev->nvml, 0))
        rule_unknown(rule, ev, out,
                     "whether the driver works: neither the worker nor NVML "
                     "answers");
}

void doctor_driver_mismatch(const struct rule *rule, const struct host_evidence *ev,
                            struct finding_list *out)
{
    bool has_both = ev->kernel_driver && ev->libcuda_version;
    if (has_both && strcmp(ev->kernel_driver, ev->libcuda_version) != 0)
        rule_found(rule, ev, out, "the kernel runs driver %s, the libraries are of %s",
                   ev->kernel_driver, ev->libcuda_version);
    else if (evidence_is(&ev->nvml, NVML_VERSION_MISMATCH))
        rule_found(rule, ev, out,
                   "NVML and the kernel's driver are of different versions (18)");
    else if (!has_both && !ev->nvml.is_known)
        rule_unknown(rule, ev, out, "the versions of the driver's parts");
}

void doctor_nvml_unknown(const struct rule *rule, const struct host_evidence *ev,
                         struct finding_list *out)
{
    if (evidence_is(&ev->nvml, NVML_UNKNOWN))
        rule_found(rule, ev, out, "NVML cannot be initialised (999, unknown error)");
    else if (evidence_is(&ev->nvidiactl_errno, EPERM)
             || evidence_is(&ev->nvidiactl_errno, EACCES))
        rule_found(rule, ev, out, "/dev/nvidiactl is there and may not be opened: %s",
                   strerror((int)ev->nvidiactl_errno.value));
    else if (!ev->nvml.is_known)
        rule_unknown(rule, ev, out, "the answer of NVML");
}

/* ---- which GPUs there are ---- */

/* A part of the machine's GPUs, on purpose. */
static bool is_given_some(const struct host_evidence *ev)
{
    const char *visible = evidence_setting(ev, "NVIDIA_VISIBLE_DEVICES");
    return visible && strcmp(visible, "all") != 0;
}

static void judge_bus(const struct rule *rule, const struct host_evidence *ev,
                      struct finding_list *out)
{
    size_t ndriven = 0;
    for (size_t i = 0; i < ev->buses.n; i++)
        ndriven += evidence_is(&evidence_bus_at(ev, i)->has_driver, 1);
    for (size_t i = 0; ndriven && i < ev->buses.n; i++) {
        const struct evidence_bus *bus = evidence_bus_at(ev, i);
        if (evidence_is(&bus->has_driver, 0))
            rule_found(rule, ev, out, "%zu of %zu GPUs: %s is on the bus, not in the driver",
                       ndriven, ev->buses.n, bus->pci ? bus->pci : "one");
    }
}

void doctor_gpu_lost(const struct rule *rule, const struct host_evidence *ev,
                     struct finding_list *out)
{
    if (!ev->gpus.is_known && !ev->buses.is_known) {
        rule_unknown(rule, ev, out, "the GPUs: neither NVML nor the PCI bus tells");
        return;
    }
    for (size_t i = 0; i < ev->gpus.n; i++) {
        const struct evidence_gpu *gpu = evidence_gpu_at(ev, i);
        if (evidence_is(&gpu->lost, 1))
            rule_found(rule, ev, out, "GPU %lld (%s) is lost to NVML",
                       (long long)gpu->index.value, gpu->pci ? gpu->pci : "address unknown");
    }
    if (!is_given_some(ev))
        judge_bus(rule, ev, out);
    if (ev->expect_gpus.is_known && ev->gpus.is_known
        && ev->expect_gpus.value > (int64_t)ev->gpus.n)
        rule_found(rule, ev, out, "%zu of %lld GPUs are there (--expect-gpus)", ev->gpus.n,
                   (long long)ev->expect_gpus.value);
}

void doctor_gpu_hidden(const struct rule *rule, const struct host_evidence *ev,
                       struct finding_list *out)
{
    if (rule_is_without_gpus(rule, ev, out) || evidence_is(&ev->ranks, 1))
        return;
    for (size_t i = 0; i < ev->gpus.n; i++) {
        const struct evidence_gpu *gpu = evidence_gpu_at(ev, i);
        if (gpu->node_errno.is_known && gpu->node_errno.value)
            rule_found(rule, ev, out, "/dev/nvidia%lld cannot be opened: %s",
                       (long long)gpu->minor.value, strerror((int)gpu->node_errno.value));
    }
    size_t ndriven = 0;
    for (size_t i = 0; i < ev->buses.n; i++)
        ndriven += evidence_is(&evidence_bus_at(ev, i)->has_driver, 1);
    if (ndriven > ev->gpus.n)
        rule_found(rule, ev, out, "the driver has %zu GPUs, this process may use %zu", ndriven,
                   ev->gpus.n);
}

/* ---- their health and use ---- */

void doctor_gpu_ecc(const struct rule *rule, const struct host_evidence *ev,
                    struct finding_list *out)
{
    if (rule_is_without_gpus(rule, ev, out))
        return;
    bool is_told = false;
    for (size_t i = 0; i < ev->gpus.n; i++) {
        const struct evidence_gpu *gpu = evidence_gpu_at(ev, i);
        long long index = gpu->index.value;
        is_told |=
            gpu->ecc.is_known || gpu->remap_failed.is_known || evidence_is(&gpu->lost, 1);
        if (evidence_is(&gpu->remap_failed, 1))
            finding_set_fix(
                rule_found(rule, ev, out, "GPU %lld: remapping a row has failed", index),
                "replace GPU %s", gpu->uuid ? gpu->uuid : "");
        else if (evidence_is(&gpu->remap_pending, 1))
            rule_found(rule, ev, out, "GPU %lld: a row waits for a reset to be remapped",
                       index);
        else if (gpu->ecc.is_known && gpu->ecc.value > 0)
            rule_found(rule, ev, out, "GPU %lld: %lld uncorrectable ECC errors", index,
                       (long long)gpu->ecc.value);
    }
    if (!is_told)
        rule_unknown(rule, ev, out, "ECC errors: NVML does not tell");
}

void doctor_gpu_order(const struct rule *rule, const struct host_evidence *ev,
                      struct finding_list *out)
{
    if (rule_is_without_gpus(rule, ev, out))
        return;
    if (!ev->settings.is_known) {
        rule_unknown(rule, ev, out, "CUDA_DEVICE_ORDER");
        return;
    }
    const char *order = evidence_setting(ev, "CUDA_DEVICE_ORDER");
    const char *first = evidence_gpu_at(ev, 0)->name;
    for (size_t i = 1; i < ev->gpus.n && !(order && strcmp(order, "PCI_BUS_ID") == 0); i++) {
        const char *name = evidence_gpu_at(ev, i)->name;
        if (!first || !name || strcmp(first, name) == 0)
            continue;
        rule_found(rule, ev, out,
                   "GPUs of several models (%s, %s), and CUDA_DEVICE_ORDER is %s", first, name,
                   order ? order : "not set");
        return;
    }
}

void doctor_gpu_exclusive(const struct rule *rule, const struct host_evidence *ev,
                          struct finding_list *out)
{
    if (rule_is_without_gpus(rule, ev, out))
        return;
    for (size_t i = 0; i < ev->gpus.n; i++) {
        const struct evidence_gpu *gpu = evidence_gpu_at(ev, i);
        long long index = gpu->index.value;
        if (evidence_is(&gpu->mode, MODE_PROHIBITED)) {
            finding_set_fix(
                rule_found(rule, ev, out, "GPU %lld: its compute mode is PROHIBITED", index),
                "nvidia-smi -i %lld -c DEFAULT", index);
        } else if (evidence_is(&gpu->mode, MODE_EXCLUSIVE) && gpu->processes.value > 0) {
            finding_set_fix(
                rule_found(
                    rule, ev, out,
                    "GPU %lld: its compute mode is EXCLUSIVE_PROCESS, and process %s has it",
                    index, gpu->pids ? gpu->pids : "another"),
                "kill %s, or nvidia-smi -i %lld -c DEFAULT", gpu->pids ? gpu->pids : "it",
                index);
        }
    }
}

static bool is_chosen(const struct host_evidence *ev, const struct evidence_gpu *gpu)
{
    for (size_t i = 0; gpu->uuid && i < ev->places.n; i++) {
        const char *uuid = evidence_place_at(ev, i)->uuid;
        if (uuid && strcmp(uuid, gpu->uuid) == 0)
            return true;
    }
    return !ev->places.n;
}

void doctor_gpu_memory(const struct rule *rule, const struct host_evidence *ev,
                       struct finding_list *out)
{
    if (rule_is_without_gpus(rule, ev, out))
        return;
    if (!ev->bytes.is_known) {
        rule_unknown(rule, ev, out, "how much memory is needed");
        return;
    }
    int64_t need = 2 * ev->bytes.value + (INT64_C(1) << 30);
    for (size_t i = 0; i < ev->gpus.n; i++) {
        const struct evidence_gpu *gpu = evidence_gpu_at(ev, i);
        if (!is_chosen(ev, gpu) || !gpu->memory_free.is_known || gpu->memory_free.value >= need)
            continue;
        struct buf text;
        buf_init(&text, 0);
        rule_bytes(gpu->memory_free.value, &text);
        buf_adds(&text, " free, a test needs ");
        rule_bytes(need, &text);
        if (gpu->pids)
            buf_addf(&text, "; process %s uses it", gpu->pids);
        rule_found(rule, ev, out, "GPU %lld has %s", (long long)gpu->index.value,
                   buf_str(&text));
        buf_fini(&text);
    }
}

void doctor_gpu_mig(const struct rule *rule, const struct host_evidence *ev,
                    struct finding_list *out)
{
    if (rule_is_without_gpus(rule, ev, out))
        return;
    if (!ev->ranks.is_known) {
        rule_unknown(rule, ev, out, "the number of ranks");
        return;
    }
    for (size_t i = 0; i < ev->gpus.n && ev->ranks.value > 1; i++) {
        const struct evidence_gpu *gpu = evidence_gpu_at(ev, i);
        if (is_chosen(ev, gpu) && evidence_is(&gpu->mig, 1))
            rule_found(rule, ev, out, "MIG is on at GPU %lld, and there are %lld ranks",
                       (long long)gpu->index.value, (long long)ev->ranks.value);
    }
}

/* ---- which rank has which ---- */

void doctor_gpu_duplicate(const struct rule *rule, const struct host_evidence *ev,
                          struct finding_list *out)
{
    if (!ev->places.is_known)
        rule_unknown(rule, ev, out, "which rank would get which GPU");
    for (size_t i = 1; i < ev->places.n; i++) {
        const struct evidence_place *b = evidence_place_at(ev, i);
        for (size_t k = 0; b->uuid && k < i; k++) {
            const struct evidence_place *a = evidence_place_at(ev, k);
            if (!a->uuid || strcmp(a->uuid, b->uuid) != 0)
                continue;
            rule_found(rule, ev, out, "ranks %lld and %lld both use %s",
                       (long long)a->rank.value, (long long)b->rank.value, b->uuid);
            break;
        }
    }
}

void doctor_gpu_ordinal(const struct rule *rule, const struct host_evidence *ev,
                        struct finding_list *out)
{
    if (!ev->places.is_known)
        rule_unknown(rule, ev, out, "which rank would get which GPU");
    for (size_t i = 0; i < ev->places.n; i++) {
        const struct evidence_place *p = evidence_place_at(ev, i);
        if (p->ordinal.is_known && p->visible.is_known && p->ordinal.value >= p->visible.value)
            rule_found(rule, ev, out, "rank %lld would use device %lld and sees %lld",
                       (long long)p->rank.value, (long long)p->ordinal.value,
                       (long long)p->visible.value);
    }
}
