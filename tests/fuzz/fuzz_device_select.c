/* device_select: any request, environment and inventory. Beyond not crashing: a refusal is one
 * line of class and text, and what each rank is told leads CUDA to the very unit it was given.
 *
 * Input: 6 bytes (inventory, states, n, shares, modes, flags), then CUDA_VISIBLE_DEVICES,
 * CUDA_DEVICE_ORDER, --gpus and --gpu-require, each ended by NUL; the byte 1 alone = not given.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/device_select.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 6, GPUS = 4 };

struct head {
    unsigned inventory, states, n, shares, modes, flags;
};

static void make_device(struct device *d, int i, const struct head *h)
{
    static const char *const uuids[GPUS] = {
        "GPU-1f0a55c3-0000-4000-8000-00000000000a", "GPU-1f9b10d2-0000-4000-8000-00000000000b",
        "GPU-7c22aa01-0000-4000-8000-00000000000c", "GPU-e5d4bb02-0000-4000-8000-00000000000d"};
    static const char *const pci[GPUS] = {"00000000:17:00.0", "00000000:CA:00.0",
                                          "00000000:65:00.0", "00010000:03:00.0"};
    *d = (struct device){.index = i, .minor = GPUS - i, .numa = i / 2, .cc_major = 9};
    snprintf(d->uuid, sizeof d->uuid, "%s", uuids[i]);
    snprintf(d->pci, sizeof d->pci, "%s", pci[i]);
    snprintf(d->name, sizeof d->name, "GPU %d", h->inventory & 4 ? i % 2 : 0);
    d->mem_total = d->mem_free = (uint64_t)(i + 1) << 34;
    d->lost = h->states >> i & 1;
    d->nprocs = h->states >> (i + 4) & 1;
    if (i == 2)
        d->mode = (enum compute_mode)(h->states % 3);
    d->mig_enabled = h->inventory & 8 && i == 1;
    for (int m = 0; d->mig_enabled && m < 2; m++) {
        struct mig *mig = &d->mig[d->nmig++];
        *mig = (struct mig){.slot = m, .gi = 7 + m};
        snprintf(mig->uuid, sizeof mig->uuid, "MIG-%d0000000-0000-5000-8000-000000000000",
                 m + 1);
    }
}

static void make_inventory(const struct head *h, struct inventory *inv)
{
    *inv =
        (struct inventory){.devices = mem_alloc(GPUS, sizeof *inv->devices),
                           .ndevices = (int)(h->inventory & 3) + (h->inventory & 16 ? 1 : 0)};
    for (int i = 0; i < inv->ndevices; i++)
        make_device(&inv->devices[i], i, h);
}

/* Takes the next text off the input; a copy of its own, so that overreads are seen. */
static char *take_text(const uint8_t **p, size_t *n)
{
    size_t len = strnlen((const char *)*p, *n);
    char *text = NULL;
    if (!(len == 1 && **p == 1) && *n) {
        text = mem_alloc(len + 1, 1);
        memcpy(text, *p, len);
    }
    len = len < *n ? len + 1 : len;
    *p += len;
    *n -= len;
    return text;
}

/* What the worker will see, as CUDA reads it, holds the unit at the place it was told. */
static void check_rank(const struct device_choice *c, const struct inventory *inv, int r,
                       const struct request *req, bool mps)
{
    const struct rank_device *rd = &c->ranks[r];
    struct ambient amb = {rd->cvd, rd->order, mps};
    struct gpu_fault f = {0};
    struct visible seen;
    assert(!strchr(rd->cvd, ' '));
    assert(ambient_enumerate(&amb, inv, &seen, &f) == 0);
    assert(!seen.tail && !seen.sloppy.p);
    if (rd->dev >= 0) {
        assert(rd->first_unit >= 0 && rd->first_unit < c->nunits);
        for (int i = 0; i < c->gpus_per_proc; i++)
            assert(gpu_unit_eq(seen.units[rd->dev + i], c->units[rd->first_unit + i]));
        assert(seen.nunits
               == (req->binding == BINDING_SHARED || req->binding == BINDING_ROTATED
                       ? c->nunits
                       : c->gpus_per_proc));
    }
    visible_fini(&seen);
}

static void check(const struct request *req, const struct ambient *amb,
                  const struct inventory *inv)
{
    struct device_choice c;
    struct err e;
    if (device_resolve(req, amb, inv, &c, &e) != 0) {
        assert(c.error > GPU_OK && c.error < GPU_ERROR_COUNT && e.code == ERR_GPU_REQUEST);
        assert(e.text[0] && !strpbrk(e.text, "\n\r\t\x1b"));
        assert(!c.ranks && !c.units && !c.strings);
        return;
    }
    assert(c.nranks > 0 && (!req->n || c.nranks == req->n));
    for (int i = 0; i < c.nnotes; i++)
        assert(c.notes[i].text[0] && !strpbrk(c.notes[i].text, "\n\r\t\x1b"));
    for (int r = 0; r < c.nranks; r++) {
        struct buf fact;
        buf_init(&fact, 0);
        device_choice_fact(&c, inv, r, GPU_FACT_UUID, &fact);
        buf_fini(&fact);
        if (inv && c.ranks[r].cvd)
            check_rank(&c, inv, r, req, amb->mps);
    }
    device_choice_fini(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD || size > 4096)
        return 0;
    struct head h = {data[0], data[1], data[2], data[3], data[4], data[5]};
    const uint8_t *p = data + HEAD;
    size_t left = size - HEAD;
    char *cvd = take_text(&p, &left), *order = take_text(&p, &left);
    char *gpus = take_text(&p, &left), *require = take_text(&p, &left);
    struct inventory inv;
    struct gpu_spec spec = {0};
    struct require need;
    struct request req = {.n = h.n == 255 ? -1 : (int)(h.n % 40),
                          .procs_per_gpu = (int)(h.shares & 15),
                          .gpus_per_proc = (int)(h.shares >> 4),
                          .binding = (enum binding)(h.modes % BINDING_COUNT),
                          .dist = (enum dist)(h.modes / 8 % DIST_COUNT),
                          .format = (enum gpu_format)(h.modes / 32 % GPU_FORMAT_COUNT),
                          .ignore_visible = h.flags & 1,
                          .strict_env = h.flags & 2,
                          .skip_unhealthy = h.flags & 4,
                          .slots = h.flags & 16};
    struct ambient amb = {cvd, order, h.flags & 8};
    make_inventory(&h, &inv);
    const char *probe[] = {inv.ndevices > 1 ? inv.devices[1].uuid : "GPU-", "GPU-none",
                           inv.ndevices > 0 ? inv.devices[0].uuid : "GPU-"};
    if (h.flags & 32) {
        inv.probe = probe;
        inv.nprobe = 3;
    }
    bool ok = !gpus || gpu_spec_parse(gpus, &spec, NULL) == 0;
    ok = ok && (!require || gpu_require_parse(require, &need, NULL) == 0);
    req.spec = gpus ? &spec : NULL;
    req.require = require ? &need : NULL;
    if (ok)
        check(&req, &amb, h.inventory & 32 ? NULL : &inv);
    gpu_spec_fini(&spec);
    inventory_fini(&inv);
    free(cvd);
    free(order);
    free(gpus);
    free(require);
    return 0;
}
