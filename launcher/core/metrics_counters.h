/* metrics_counters.h - counters of ranks that only grow. Pure.
 *
 * What /proc tells of a worker is the time of its processes that live now: it drops when one
 * of them ends. A counter may not (Prometheus takes that for a restart), so that only what is
 * added between two looks is counted.
 */
#ifndef MUSTER_LAUNCHER_CORE_METRICS_COUNTERS_H
#define MUSTER_LAUNCHER_CORE_METRICS_COUNTERS_H

#include "launcher/core/metrics_render.h"

struct metrics_counters {
    struct rank_counters *ranks; /* n of them, by rank */
    struct seen_cpu *seen;       /* likewise */
    size_t n;
};

/* Zero-initialised by the owner. */
void metrics_counters_fini(struct metrics_counters *c);

/* There are n ranks from now on; what was counted of those stays. */
void metrics_counters_resize(struct metrics_counters *c, size_t n);

/* A look at a rank: cpu_ms of the processes of its worker, which has this process id. */
void metrics_counters_cpu(struct metrics_counters *c, size_t rank, uint32_t pid,
                          struct maybe_u64 cpu_ms);

#endif
