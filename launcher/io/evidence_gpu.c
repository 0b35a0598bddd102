#include "launcher/io/evidence_gather.h" /* of which this is the part about GPUs */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/io/nvml.h"
#include "launcher/io/probe_links.h"
#include "launcher/io/root_file.h"

/* ---- what the inventory knows ---- */

static int64_t mode_value(enum compute_mode mode)
{
    switch (mode) {
    case COMPUTE_DEFAULT:
        return NVML_MODE_DEFAULT;
    case COMPUTE_PROHIBITED:
        return NVML_MODE_PROHIBITED;
    case COMPUTE_EXCLUSIVE_PROCESS:
        return NVML_MODE_EXCLUSIVE_PROCESS;
    }
    return NVML_MODE_DEFAULT;
}

static void add_pids(const struct device *d, struct evidence_gpu *gpu)
{
    struct buf pids;
    buf_init(&pids, 0);
    for (int i = 0; i < d->npids; i++)
        buf_addf(&pids, "%s%u", i ? " " : "", (unsigned)d->pids[i]);
    if (pids.len)
        evidence_set_text(&gpu->pids, buf_str(&pids));
    buf_fini(&pids);
}

static void add_gpu(const char *root, const struct device *d, bool has_state,
                    struct host_evidence *ev)
{
    struct evidence_gpu *gpu = evidence_gpu_add(ev);
    evidence_set(&gpu->index, d->index);
    evidence_set(&gpu->lost, d->lost);
    if (d->uuid[0])
        evidence_set_text(&gpu->uuid, d->uuid);
    if (d->pci[0])
        evidence_set_text(&gpu->pci, d->pci);
    if (d->name[0])
        evidence_set_text(&gpu->name, d->name);
    if (d->minor >= 0) {
        char *node = mem_printf("/dev/nvidia%d", d->minor);
        int why = root_open_errno(root, node);
        evidence_set(&gpu->minor, d->minor);
        evidence_set(&gpu->node_errno,
                     why == ENOENT && !root_exists(root, "/dev/nvidiactl") ? 0 : why);
        free(node);
    }
    if (!has_state)
        return;
    evidence_set(&gpu->mode, mode_value(d->mode));
    evidence_set(&gpu->mig, d->mig_enabled);
    if (d->nprocs >= 0)
        evidence_set(&gpu->processes, d->nprocs);
    if (d->mem_total)
        evidence_set(&gpu->memory_free, (int64_t)d->mem_free);
    add_pids(d, gpu);
}

/* ---- what only NVML knows ---- */

/* A GPU that cannot have such errors has none. */
static void ask_health(const struct nvml *n, struct nvml_handle *h, struct evidence_gpu *gpu)
{
    uint64_t errors = 0;
    uint32_t corrected, uncorrected, pending = 0, failed = 0;
    int rc = n->ecc ? n->ecc(h, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE, &errors) : -1;
    if (rc == NVML_OK || rc == NVML_NOT_SUPPORTED)
        evidence_set(&gpu->ecc, (int64_t)errors);
    rc = n->remapped ? n->remapped(h, &corrected, &uncorrected, &pending, &failed) : -1;
    if (rc == NVML_OK || rc == NVML_NOT_SUPPORTED) {
        evidence_set(&gpu->remap_pending, pending != 0);
        evidence_set(&gpu->remap_failed, failed != 0);
    }
}

static void ask_links(const struct nvml *n, struct nvml_handle *h, struct evidence_gpu *gpu)
{
    struct buf down;
    int64_t active = 0;
    int on, rc = NVML_NOT_SUPPORTED;
    buf_init(&down, 0);
    for (uint32_t i = 0; n->link && i < NVML_LINKS_MAX; i++) {
        int answer = n->link(h, i, &on);
        if (answer != NVML_OK)
            break; /* no more links than those */
        rc = NVML_OK;
        active += on != 0;
        if (!on)
            buf_addf(&down, "%s%u", down.len ? " " : "", (unsigned)i);
    }
    if (n->link)
        evidence_set(&gpu->links, active);
    if (rc == NVML_OK && down.len)
        evidence_set_text(&gpu->links_down, buf_str(&down));
    buf_fini(&down);
}

static void ask_fabric(const struct nvml *n, struct nvml_handle *h, struct evidence_gpu *gpu)
{
    struct nvml_fabric fabric = {.state = 0};
    static const unsigned char none[sizeof fabric.cluster];
    int rc = n->fabric ? n->fabric(h, &fabric) : NVML_NOT_SUPPORTED;
    if (rc != NVML_OK && rc != NVML_NOT_SUPPORTED)
        return;
    evidence_set(&gpu->fabric_state, fabric.state);
    evidence_set(&gpu->fabric_status, fabric.status);
    if (memcmp(fabric.cluster, none, sizeof none) == 0)
        return;
    struct buf text;
    buf_init(&text, 0);
    for (size_t i = 0; i < sizeof fabric.cluster; i++)
        buf_addf(&text, "%02x", fabric.cluster[i]);
    buf_addf(&text, "/%u", (unsigned)fabric.clique);
    evidence_set_text(&gpu->fabric_clique, buf_str(&text));
    buf_fini(&text);
}

static void ask_pair(const struct nvml *n, struct nvml_handle *a, struct nvml_handle *b,
                     struct evidence_pair *pair)
{
    int status;
    if (n->p2p && n->p2p(a, b, NVML_P2P_READ, &status) == NVML_OK)
        evidence_set(&pair->p2p, status);
}

static void ask_pairs(const struct nvml *n, struct host_evidence *ev)
{
    struct nvml_handle *a, *b;
    ev->pairs.is_known = true;
    for (size_t i = 0; i < ev->gpus.n; i++)
        for (size_t k = i + 1; k < ev->gpus.n; k++) {
            int64_t x = evidence_gpu_at(ev, i)->index.value;
            int64_t y = evidence_gpu_at(ev, k)->index.value;
            if (n->handle((uint32_t)x, &a) != NVML_OK || n->handle((uint32_t)y, &b) != NVML_OK)
                continue;
            struct evidence_pair *pair = evidence_pair_add(ev);
            evidence_set(&pair->a, x);
            evidence_set(&pair->b, y);
            ask_pair(n, a, b, pair);
        }
}

static size_t place_of(const struct inventory *inv, int64_t index)
{
    size_t i = 0;
    while (inv->devices[i].index != index)
        i++;
    return i;
}

/* ev's GPUs are those of inv, in order; its pairs are of them. */
static void ask_far_ends(const char *path, const struct inventory *inv,
                         struct host_evidence *ev)
{
    struct expect_facts links;
    struct err e;
    if (probe_links(path, "/proc/cpuinfo", inv, &links, &e) != 0)
        return;
    for (size_t i = 0; i < links.n; i++)
        evidence_set(&evidence_gpu_at(ev, i)->switch_links, links.gpus[i].switch_links);
    for (size_t i = 0; i < ev->pairs.n; i++) {
        struct evidence_pair *pair = evidence_pair_at(ev, i);
        size_t a = place_of(inv, pair->a.value), b = place_of(inv, pair->b.value);
        evidence_set(&pair->links, links.to[a * links.n + b]);
    }
    expect_facts_fini(&links);
}

static void ask_nvml(const char *path, struct host_evidence *ev)
{
    struct nvml n;
    struct err e;
    int rc;
    bool is_open = nvml_open(path, &n, &rc, &e) == 0;
    evidence_set(&ev->nvml, rc);
    if (!is_open)
        return;
    for (size_t i = 0; i < ev->gpus.n; i++) {
        struct evidence_gpu *gpu = evidence_gpu_at(ev, i);
        struct nvml_handle *h;
        if (n.handle((uint32_t)gpu->index.value, &h) != NVML_OK)
            continue;
        ask_health(&n, h, gpu);
        ask_links(&n, h, gpu);
        ask_fabric(&n, h, gpu);
    }
    ask_pairs(&n, ev);
    nvml_close(&n);
}

/* ---- the driver's files ---- */

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build ..." */
static void read_kernel_module(const char *root, struct host_evidence *ev)
{
    char *line = root_line(root, "/proc/driver/nvidia/version");
    struct str rest = str_from(line), word;
    if (line)
        evidence_set(&ev->is_open_module, strstr(line, "Open Kernel Module") != NULL);
    while (!ev->kernel_driver && str_split(&rest, ' ', &word))
        if (word.n && *word.p >= '0' && *word.p <= '9' && memchr(word.p, '.', word.n)) {
            char *version = mem_printf("%.*s", STR_ARG(word));
            evidence_set_text(&ev->kernel_driver, version);
            free(version);
        }
    free(line);
}

/* libcuda.so.1 is a link to libcuda.so.580.82.07. */
static void read_libcuda(const char *root, struct host_evidence *ev)
{
    char *path = root_library(root, "libcuda.so.1");
    evidence_set(&ev->has_libcuda, path != NULL);
    if (!path)
        return;
    char *full = mem_printf("%s%s", root, path), *real = realpath(full, NULL);
    const char *version = real ? strstr(real, "libcuda.so.") : NULL;
    if (version && strchr(version + 11, '.'))
        evidence_set_text(&ev->libcuda_version, version + 11);
    free(real);
    free(full);
    free(path);
}

static void on_channel(void *ctx, const char *name)
{
    const struct evidence_request *r = ((void **)ctx)[0];
    struct host_evidence *ev = ((void **)ctx)[1];
    char *path = mem_printf("/dev/nvidia-caps-imex-channels/%s", name);
    struct evidence_channel *channel = evidence_channel_add(ev);
    evidence_set_text(&channel->name, name);
    evidence_set(&channel->code, root_open_errno(r->root, path));
    free(path);
}

void evidence_gather_gpus(const struct evidence_request *r, struct host_evidence *ev)
{
    const struct inventory *inv = r->facts->inventory;
    const char *path = getenv("MUSTER_NVML_PATH");
    ev->gpus.is_known = inv != NULL;
    for (int i = 0; inv && i < inv->ndevices; i++)
        add_gpu(r->root, &inv->devices[i], r->source != PROBE_PROC, ev);
    if (r->source == PROBE_NO_GPU || r->source == PROBE_FAKE)
        evidence_set(&ev->nvml, -1);
    else if (!r->is_nvml_late)
        ask_nvml(path && *path ? path : NULL, ev);
    if (inv && evidence_is(&ev->nvml, NVML_OK))
        ask_far_ends(path && *path ? path : NULL, inv, ev);
    if (root_exists(r->root, "/dev/nvidiactl"))
        evidence_set(&ev->nvidiactl_errno, root_open_errno(r->root, "/dev/nvidiactl"));
    read_kernel_module(r->root, ev);
    read_libcuda(r->root, ev);
    const void *ctx[] = {r, ev};
    ev->channels.is_known = true;
    root_each(r->root, "/dev/nvidia-caps-imex-channels", on_channel, (void *)(uintptr_t)ctx);
}
