#include "launcher/core/device_pick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Why a GPU may not be taken: writes a few words and returns true. */
static bool is_rejected(const struct device *d, struct gpu_unit u, const struct require *r,
                        char *why, size_t size)
{
    why[0] = '\0';
    if (d->lost)
        snprintf(why, size, "lost");
    else if (d->mig_enabled || u.mig >= 0)
        snprintf(why, size, "MIG");
    else if (d->mode == COMPUTE_PROHIBITED)
        snprintf(why, size, "PROHIBITED");
    else if (d->mode == COMPUTE_EXCLUSIVE_PROCESS && d->nprocs > 0)
        snprintf(why, size, "EXCLUSIVE_PROCESS and in use");
    else if (r && r->free_gib >= 0 && !d->mem_total)
        snprintf(why, size, "free memory unknown");
    else if (r && r->free_gib >= 0 && d->mem_free < (uint64_t)r->free_gib << 30)
        snprintf(why, size, "%.1fG free, not free>=%dG", (double)(d->mem_free >> 20) / 1024,
                 (int)r->free_gib);
    else if (r && r->util >= 0 && (d->util < 0 || d->util > r->util))
        snprintf(why, size, "util %d, not util<=%d", d->util, r->util);
    else if (r && r->procs >= 0 && d->nprocs != r->procs)
        snprintf(why, size, "%d processes, not procs=%d", d->nprocs, r->procs);
    return why[0] != '\0';
}

static int compare_use(const struct device *a, const struct device *b)
{
    if (a->nprocs != b->nprocs)
        return a->nprocs < b->nprocs ? -1 : 1;
    if (a->util != b->util)
        return a->util < b->util ? -1 : 1;
    if (a->mem_free != b->mem_free)
        return a->mem_free > b->mem_free ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Whether fewer than n of the candidates are used less than candidate i. */
static bool is_among_best(const struct inventory *inv, const struct unit_list *c, int i, int n)
{
    int better = 0;
    for (int j = 0; j < c->n; j++)
        if (j != i
            && compare_use(&inv->devices[c->units[j].device], &inv->devices[c->units[i].device])
                   < 0)
            better++;
    return better < n;
}

static bool is_removed(const struct unit_list *removed, struct gpu_unit u)
{
    for (int i = 0; i < removed->n; i++)
        if (gpu_unit_eq(removed->units[i], u))
            return true;
    return false;
}

static int wanted(const struct request *req, const struct gpu_item *it, int candidates)
{
    if (it->first >= 0)
        return it->first;
    int p = req->procs_per_gpu, g = req->gpus_per_proc;
    return req->n > 0 ? (req->n + p - 1) / p * g : candidates;
}

int device_pick_auto(struct pick *p, const struct gpu_item *it, const struct unit_list *removed,
                     struct unit_list *out)
{
    struct unit_list candidates = {0};
    struct buf reasons;
    char why[64];
    buf_init(&reasons, 0);
    int item = (int)(it - p->req->spec->items);
    for (int i = 0; i < p->seen->nunits; i++) {
        struct gpu_unit u = p->seen->units[i];
        const struct device *d = &p->inv->devices[u.device];
        if (is_removed(removed, u))
            continue;
        if (is_rejected(d, u, p->req->require, why, sizeof why))
            buf_addf(&reasons, "%sGPU %d: %s", reasons.len ? "; " : "", d->index, why);
        else
            unit_list_add(&candidates, u, item);
    }
    int n = wanted(p->req, it, candidates.n), rc = 0;
    if (candidates.n < n || (candidates.n == 0 && it->first != 0))
        rc = gpu_fail(p->f, GPU_E_INSUFFICIENT,
                      "--gpus %s: %d of %d visible GPUs may be taken, %d wanted; ask for fewer "
                      "or for less%s%s",
                      it->text, candidates.n, p->seen->nunits, n, reasons.len ? ". " : "",
                      buf_str(&reasons));
    for (int i = 0; rc == 0 && i < candidates.n; i++) {
        if (!is_among_best(p->inv, &candidates, i, n))
            continue;
        unit_list_add(out, candidates.units[i], item);
        p->busy |= p->inv->devices[candidates.units[i].device].nprocs > 0;
    }
    unit_list_fini(&candidates);
    buf_fini(&reasons);
    return rc;
}
