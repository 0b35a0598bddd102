/* metrics_families.h - the families that have one sample of the job, or of each node, rank or
 * GPU: name, type, unit, value and help, a row each. Pure. How they become text, and the
 * families with labels of their own, are metrics_render's.
 */
#ifndef MUSTER_LAUNCHER_CORE_METRICS_FAMILIES_H
#define MUSTER_LAUNCHER_CORE_METRICS_FAMILIES_H

#include "launcher/core/metrics_render.h"
#include "launcher/core/metrics_text.h"

struct metrics_family {
    const char *name, *help;
    enum metrics_type type;
    enum metrics_unit unit;
    struct maybe_u64 (*value)(const struct metrics_look *look, size_t i);
};

struct metrics_table {
    const struct metrics_family *rows;
    size_t n;
};

struct metrics_table metrics_of_job(void);   /* i means nothing */
struct metrics_table metrics_of_nodes(void); /* i: place in look->job->nodes */
struct metrics_table metrics_of_ranks(void); /* i: rank */
struct metrics_table metrics_of_gpus(void);  /* i: rank, whose GPU it is */

#endif
