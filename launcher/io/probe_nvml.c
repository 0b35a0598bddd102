#include "launcher/io/probe_nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/io/nvml.h"
#include "launcher/io/probe_proc.h"

/* ---- one GPU ---- */

/* Whether an answer means that the GPU is gone, whatever was asked. */
static bool is_lost(int rc)
{
    return rc == NVML_GPU_LOST || rc == NVML_RESET_REQUIRED;
}

static void read_identity(const struct nvml *n, struct nvml_handle *h, struct device *d)
{
    struct nvml_pci pci;
    uint32_t minor;
    int rc = n->uuid(h, d->uuid, sizeof d->uuid);
    if (rc != NVML_OK)
        d->uuid[0] = '\0';
    d->lost |= is_lost(rc);
    rc = n->pci(h, &pci);
    if (rc == NVML_OK)
        snprintf(d->pci, sizeof d->pci, "%08X:%02X:%02X.0", pci.domain, pci.bus & 0xff,
                 pci.device & 0xff);
    d->lost |= is_lost(rc);
    if (!n->name || n->name(h, d->name, sizeof d->name) != NVML_OK)
        d->name[0] = '\0';
    if (n->minor && n->minor(h, &minor) == NVML_OK)
        d->minor = (int)minor;
    if (!n->capability || n->capability(h, &d->cc_major, &d->cc_minor) != NVML_OK)
        d->cc_major = d->cc_minor = 0;
    d->numa = d->pci[0] ? probe_pci_numa("/sys", d->pci) : -1;
}

/* Version 2 counts what the driver reserves apart, so its `free` can really be had. */
static void read_memory(const struct nvml *n, struct nvml_handle *h, uint64_t *total,
                        uint64_t *mem_free)
{
    struct nvml_memory_v2 v2 = {.version = NVML_MEMORY_V2};
    struct nvml_memory v1;
    if (n->memory_v2 && n->memory_v2(h, &v2) == NVML_OK) {
        *total = v2.total;
        *mem_free = v2.free;
    } else if (n->memory && n->memory(h, &v1) == NVML_OK) {
        *total = v1.total;
        *mem_free = v1.free;
    }
}

/* With too little room NVML says how many there are, and no pid. */
static void read_processes(const struct nvml *n, struct nvml_handle *h, struct device *d)
{
    enum { ROOM = 64 };
    struct nvml_process list[ROOM];
    uint32_t count = ROOM;
    if (!n->processes)
        return;
    int rc = n->processes(h, &count, list);
    if (rc != NVML_OK && rc != NVML_TOO_SMALL)
        return;
    d->nprocs = (int)count;
    for (; rc == NVML_OK && d->npids < (int)count && d->npids < DEVICE_PIDS_MAX; d->npids++)
        d->pids[d->npids] = list[d->npids].pid;
}

static void read_state(const struct nvml *n, struct nvml_handle *h, struct device *d)
{
    int mode = NVML_MODE_DEFAULT;
    if (n->mode && is_lost(n->mode(h, &mode)))
        d->lost = true;
    if (mode == NVML_MODE_PROHIBITED)
        d->mode = COMPUTE_PROHIBITED;
    else if (mode == NVML_MODE_EXCLUSIVE_PROCESS)
        d->mode = COMPUTE_EXCLUSIVE_PROCESS;
    read_memory(n, h, &d->mem_total, &d->mem_free);
    read_processes(n, h, d);
}

static void read_load(const struct nvml *n, struct nvml_handle *h, struct device *d)
{
    struct nvml_utilization util;
    if (n->utilization && n->utilization(h, &util) == NVML_OK)
        d->util = (int)util.gpu;
}

static void read_instance(const struct nvml *n, struct nvml_handle *h, int slot, struct mig *m)
{
    uint32_t gi = 0, ci = 0;
    uint64_t mem_free;
    *m = (struct mig){.slot = slot};
    if (n->uuid(h, m->uuid, sizeof m->uuid) != NVML_OK)
        m->uuid[0] = '\0';
    if (n->gpu_instance && n->gpu_instance(h, &gi) == NVML_OK)
        m->gi = (int)gi;
    if (n->compute_instance && n->compute_instance(h, &ci) == NVML_OK)
        m->ci = (int)ci;
    read_memory(n, h, &m->mem_total, &mem_free);
}

static void read_mig(const struct nvml *n, struct nvml_handle *h, struct device *d)
{
    uint32_t now = 0, pending, count = 0;
    if (!n->mig_mode || n->mig_mode(h, &now, &pending) != NVML_OK || !now)
        return;
    d->mig_enabled = true;
    if (!n->mig_count || !n->mig_handle || n->mig_count(h, &count) != NVML_OK)
        return;
    for (uint32_t i = 0; i < count && d->nmig < DEVICE_MIG_MAX; i++) {
        struct nvml_handle *mig;
        if (n->mig_handle(h, i, &mig) == NVML_OK) /* 6: an empty slot */
            read_instance(n, mig, (int)i, &d->mig[d->nmig++]);
    }
}

/* ---- all of them ---- */

/* False if this one is not to be listed. */
static bool read_device(const struct nvml *n, uint32_t index, bool with_load, struct device *d)
{
    struct nvml_handle *h;
    *d =
        (struct device){.index = (int)index, .minor = -1, .numa = -1, .util = -1, .nprocs = -1};
    int rc = n->handle(index, &h);
    if (rc == NVML_OK) {
        read_identity(n, h, d);
        read_state(n, h, d);
        if (with_load)
            read_load(n, h, d);
        read_mig(n, h, d);
        return true;
    }
    log_warn("nvml", "GPU %u: NVML gives %d (%s)", (unsigned)index, rc, n->error_string(rc));
    d->lost = rc != NVML_NO_PERMISSION && rc != NVML_OS_BLOCKED;
    return d->lost;
}

static int enumerate(const struct nvml *n, bool with_load, struct inventory *out, struct err *e)
{
    uint32_t count = 0;
    int rc = n->count(&count);
    if (rc != NVML_OK)
        return nvml_fail(n, "nvmlDeviceGetCount_v2", rc, e);
    if (count > NVML_GPUS_MAX)
        return err_set(e, ERR_UNAVAILABLE, "NVML: it counts %u GPUs", (unsigned)count);
    *out = (struct inventory){.devices = mem_alloc(count, sizeof *out->devices)};
    for (uint32_t i = 0; i < count; i++)
        if (read_device(n, i, with_load, &out->devices[out->ndevices]))
            out->ndevices++;
    return 0;
}

int probe_nvml(const char *path, bool with_load, struct inventory *out, struct err *e)
{
    struct nvml n;
    int rc;
    if (nvml_open(path, &n, &rc, e) != 0)
        return -1;
    rc = enumerate(&n, with_load, out, e);
    nvml_close(&n);
    return rc;
}
