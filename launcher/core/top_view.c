#include "launcher/core/top_view.h"

#include <stdlib.h>

#include "base/mem.h"
#include "launcher/core/top_odd.h"

/* How much more it is than it was, in units per 1000 s; not known unless both are. */
static struct maybe_u64 rate(struct maybe_u64 was, struct maybe_u64 is, uint64_t ms)
{
    if (!was.is_known || !is.is_known || is.value < was.value || !ms)
        return (struct maybe_u64){0};
    return (struct maybe_u64){true, (is.value - was.value) * 1000000 / ms};
}

static struct maybe_u64 bytes_per_s(struct maybe_u64 was, struct maybe_u64 is, uint64_t ms)
{
    struct maybe_u64 n = rate(was, is, ms);
    n.value /= 1000;
    return n;
}

/* 0 = not known. */
static uint64_t between(struct maybe_u64 was, struct maybe_u64 is)
{
    return was.is_known && is.is_known && is.value > was.value ? is.value - was.value : 0;
}

static void fill_rates(const struct control_rank *was, const struct control_rank *is,
                       struct top_row *row)
{
    const struct rank_sample *a = &was->sample, *b = &is->sample;
    uint64_t gpu_ms = between(a->gpu.at_ms, b->gpu.at_ms);
    row->steps_per_ks = rate(was->step, is->step, between(a->asked_ms, b->asked_ms));
    row->cpu = rate(a->cpu_ms, b->cpu_ms, between(a->at_ms, b->at_ms));
    row->cpu.value /= 10000; /* ms a ks: 10000 are one percent */
    row->nvlink.tx = bytes_per_s(a->gpu.nvlink_tx, b->gpu.nvlink_tx, gpu_ms);
    row->nvlink.rx = bytes_per_s(a->gpu.nvlink_rx, b->gpu.nvlink_rx, gpu_ms);
}

static void fill(const struct control_status *before, const struct control_status *now,
                 size_t i, struct top_row *row)
{
    const struct control_rank *rank = &now->ranks[i];
    bool is_same = before->generation == now->generation && i < before->nranks
                   && before->ranks[i].pid == rank->pid;
    *row = (struct top_row){
        .rank = rank,
        .pcie = {rank->sample.gpu.pcie_tx_rate, rank->sample.gpu.pcie_rx_rate},
        .is_unknown = rank->state == RANK_RUNNING && !rank->sample.asked_ms.is_known,
    };
    if (is_same)
        fill_rates(&before->ranks[i], rank, row);
}

/* The nodes that have not answered; ranks stand by node. */
static void add_silent(struct top_view *v)
{
    const struct control_rank *last = NULL;
    unsigned nnodes = 0;
    for (size_t i = 0; i < v->nrows; i++) {
        const struct control_rank *rank = v->rows[i].rank;
        if (!v->rows[i].is_unknown || (last && last->node == rank->node))
            continue;
        if (!nnodes++)
            buf_addf(&v->note, "node %s", rank->host);
        last = rank;
    }
    if (nnodes > 1)
        buf_addf(&v->note, " and %u more", nnodes - 1);
    if (nnodes)
        buf_adds(&v->note, ": no answer in time, what the ranks do there is not known");
}

void top_view_init(struct top_view *v, const struct control_status *before,
                   const struct control_status *now)
{
    *v = (struct top_view){.status = now, .nrows = now->nranks};
    v->rows = mem_alloc(v->nrows, sizeof *v->rows);
    buf_init(&v->odd, 0);
    buf_init(&v->note, 0);
    for (size_t i = 0; i < v->nrows; i++)
        fill(before, now, i, &v->rows[i]);
    top_odd(v->rows, v->nrows, &v->odd);
    add_silent(v);
    if (now->sample_why)
        buf_addf(&v->note, "%sfigures are missing: %s", v->note.len ? "; " : "",
                 now->sample_why);
}

void top_view_fini(struct top_view *v)
{
    free(v->rows);
    buf_fini(&v->odd);
    buf_fini(&v->note);
}
