/* top_view.h - what `muster top` shows: two looks at a job, one after the other, become a row a
 * rank, and the rank that differs from the rest is named. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_TOP_VIEW_H
#define MUSTER_LAUNCHER_CORE_TOP_VIEW_H

#include "launcher/core/control.h"

/* Both ways of a link, bytes a second. */
struct top_traffic {
    struct maybe_u64 tx, rx;
};

struct top_row {
    const struct control_rank *rank;
    struct maybe_u64 cpu;          /* percent of one processor between the looks */
    struct maybe_u64 steps_per_ks; /* steps in a thousand seconds, between the looks */
    struct top_traffic nvlink;     /* of its GPU, likewise */
    struct top_traffic pcie;       /* of its GPU, at the later look */
    bool is_odd;
    bool is_unknown; /* it runs, and its node has not said in time what it is doing */
};

struct top_view {
    const struct control_status *status; /* of the later look */
    struct top_row *rows;                /* by rank */
    size_t nrows;
    bool has_colour; /* for top_view_format: false by top_view_init */
    struct buf odd;  /* how the odd rank differs; empty if none does, or none can be told */
    struct buf note; /* what is not shown, and why; empty = nothing */
};

/* Two answers to CONTROL_SAMPLE, borrowed as long as the view is used. Rates need the same rank
 * in the same generation in both, and are over the time between its own two samples. */
void top_view_init(struct top_view *v, const struct control_status *before,
                   const struct control_status *now);
void top_view_fini(struct top_view *v);

/* Appends at most height lines (0 = any number) of at most width columns: two about the job,
 * one of names, one a rank. Columns that find no room are left out, the least important first.
 * With colour the names are bold, and what differs stands out. */
void top_view_format(const struct top_view *v, unsigned width, unsigned height,
                     struct buf *out);

/* Appends it as JSON, schema muster.top/1. */
void top_view_json(const struct top_view *v, struct buf *out);

#endif
