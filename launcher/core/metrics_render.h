/* metrics_render.h - the figures of a job as Prometheus reads them. Pure. Which there are is
 * metrics_families.h's, what each means stands in docs/metrics.md.
 */
#ifndef MUSTER_LAUNCHER_CORE_METRICS_RENDER_H
#define MUSTER_LAUNCHER_CORE_METRICS_RENDER_H

#include "launcher/core/job_metrics.h"
#include "launcher/core/top_view.h"
#include "rendezvous/tcpstore_wire.h"

enum { METRICS_STDOUT, METRICS_STDERR, METRICS_STREAM_COUNT };

/* What is counted of a rank over all generations. */
struct rank_counters {
    struct maybe_u64 cpu_ms;
    struct maybe_u64 output_bytes[METRICS_STREAM_COUNT]; /* not known = not seen here */
};

/* Of the rendezvous store; counters over all generations. */
struct store_metrics {
    uint64_t connections, keys, bytes;
    uint64_t accepted, refused;
    uint64_t requests[WIRE_QUERY_COUNT];
};

/* All borrowed. */
struct metrics_look {
    const struct top_view *view;
    const struct job_metrics *job;
    const struct rank_counters *counters; /* by rank, as many as the view has rows */
    struct store_metrics store;
    const char *version;       /* of muster */
    uint64_t now_ms, began_ms; /* the monotonic clock now, and when muster began */
    uint64_t unix_offset_ms;   /* Unix time less that clock, in ms, as of the beginning */
};

/* Appends every family that has a sample. */
void metrics_render(const struct metrics_look *look, struct buf *out);

#endif
