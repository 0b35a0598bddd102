/* top_view.h - what `muster top` shows: two looks at a job, one after the other, become a row a
 * rank, and the rank that differs from the rest is named. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_TOP_VIEW_H
#define MUSTER_LAUNCHER_CORE_TOP_VIEW_H

#include "launcher/core/control.h"
#include "launcher/core/gpu_sample.h"

/* What a worker's processes have used. */
struct top_usage {
    struct maybe_u64 cpu_ms; /* of processor time so far */
    struct maybe_u64 rss;    /* bytes of memory */
};

/* One look. Owned by whoever took it. */
struct top_look {
    uint64_t at_ms;
    struct control_status status;
    struct top_usage *usages; /* status.nranks of them */
    struct gpu_sample *gpus;
    size_t ngpus;
};

struct top_row {
    const struct control_rank *rank;
    const struct gpu_sample *gpu;  /* NULL = none, or not known here */
    struct maybe_u64 cpu;          /* percent of one processor between the looks */
    struct maybe_u64 rss;          /* bytes */
    struct maybe_u64 steps_per_ks; /* steps in a thousand seconds, between the looks */
    bool is_odd;
};

struct top_view {
    const struct control_status *status; /* of the later look */
    struct top_row *rows;                /* by rank */
    size_t nrows;
    struct buf odd;  /* how the odd rank differs; empty if none does, or none can be told */
    struct buf note; /* what is not shown, and why; empty = nothing */
};

/* Both looks are borrowed as long as the view is used. Rates need the same rank in the same
 * generation in both. gpu_why: why there is nothing about GPUs, NULL = there is. */
void top_view_init(struct top_view *v, const struct top_look *before,
                   const struct top_look *now, const char *gpu_why);
void top_view_fini(struct top_view *v);

/* Appends at most height lines (0 = any number) of at most width columns: two about the job,
 * one of names, one a rank. Columns that find no room are left out, the least important first.
 */
void top_view_format(const struct top_view *v, unsigned width, unsigned height,
                     struct buf *out);

/* Appends it as JSON, schema muster.top/1. */
void top_view_json(const struct top_view *v, struct buf *out);

#endif
