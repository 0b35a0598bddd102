/* bisect.h - which feature of NCCL is to blame: after a failure the same test runs again in
 * fresh processes, each time with one feature switched off, until one run passes.
 *
 * Owns the list of arms, their order and the words about what was found. Runs nothing. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_BISECT_H
#define MUSTER_LAUNCHER_CORE_BISECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* X(setting, what it switches off): the likeliest first. */
#define BISECT_ARMS(X)                                                                         \
    X("NCCL_P2P_DISABLE=1", "direct access between GPUs")                                      \
    X("NCCL_SHM_DISABLE=1", "shared memory between processes")                                 \
    X("NCCL_NVLS_ENABLE=0", "NVLink SHARP")                                                    \
    X("NCCL_CUMEM_ENABLE=0", "CUDA's virtual memory for buffers")                              \
    X("NCCL_CUMEM_HOST_ENABLE=0", "CUDA's virtual memory on the host")                         \
    X("NCCL_IB_DISABLE=1", "InfiniBand and RoCE")                                              \
    X("NCCL_NET=Socket", "every network but sockets")

enum {
#define X(setting, off) +1
    BISECT_ARM_COUNT = 0 BISECT_ARMS(X)
#undef X
};

struct bisect {
    size_t next;                    /* the arm to be run */
    int statuses[BISECT_ARM_COUNT]; /* how those before it ended */
    int culprit;                    /* the arm that passed; -1 = none so far */
    bool is_over;
};

/* Whether a failure with this exit status of the job is one that an arm may cure: data, time,
 * NCCL, CUDA or a death; not usage, a missing backend, a preflight or the user's own end. */
bool bisect_is_for(int status);

void bisect_init(struct bisect *b);

/* The setting of the next run, "NAME=value"; NULL: it is over. */
const char *bisect_next(const struct bisect *b);

/* How that run ended: 0 = it passed. A run that the user ended ends the search. */
void bisect_ended(struct bisect *b, int status);

/* Appends the finding, one line: which arm passed, or that none did. */
void bisect_format(const struct bisect *b, struct buf *out);

#endif
