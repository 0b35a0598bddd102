/* bench.h - all that was asked for: every collective, type, operation and size, then pairs.
 *
 * Owns the order, the phases and what rank 0 makes of the ranks' reports. How one size is
 * measured is measure.h, how pairs are is pairs.h. Knows no library.
 */
#ifndef MUSTER_WORKER_BENCH_H
#define MUSTER_WORKER_BENCH_H

#include "worker/backend.h"
#include "worker/env.h"
#include "worker/options.h"
#include "worker/phase.h"
#include "worker/result.h"

struct bench {
    const struct env *env;
    const struct options *options;
    struct backend *backend;
    struct phases *phases;
    struct result *result; /* filled on rank 0 */
    uint64_t max_bytes;    /* of one buffer, the same on all ranks; a multiple of 16 */
    bool is_host;
    void (*print)(const struct buf *text); /* rank 0: finished lines; NULL = silent */
    uint64_t own_wrong;                    /* elements and bytes that this rank found wrong */
    int step;                              /* points of PHASE_bench so far */
};

/* Bytes of a buffer that the tests asked for can use. */
uint64_t bench_bytes(const struct options *o, bool is_host);

/* Whether this group can do what was asked for. -1: ERR_USAGE. */
int bench_criticise(const struct options *o, uint32_t nranks, struct err *e);

/* Whether sizes are left to test where a buffer has at most so many bytes. -1: ERR_USAGE. */
int bench_check_sizes(const struct options *o, bool is_host, uint64_t max_bytes, struct err *e);

/* All ranks together. 0 or a status; 0 also with wrong data, which the result shows. */
int bench_run(struct bench *b, struct err *e);

/* Takes len bytes of every rank to rank 0, which calls `take`, and lets all go on. */
int bench_exchange(struct bench *b, struct point at, const void *said, size_t len,
                   void (*take)(struct bench *b, void *ctx, const struct buf *all), void *ctx,
                   struct err *e);

#endif
