/* bench.h - times and checks the all-reduce of every size, by the method of nccl-tests.
 *
 * Owns the order of a measurement (README.md, "Method"): what is poisoned, filled, timed and
 * compared when. The launch loop calls the backend and nothing else. Knows no library.
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
    void (*print)(const struct buf *line); /* rank 0: a finished line; NULL = silent */
    uint64_t own_wrong;                    /* elements and bytes that this rank found wrong */
};

/* All ranks together. 0 or a status; 0 also with wrong data, which the result shows. */
int bench_run(struct bench *b, struct err *e);

#endif
