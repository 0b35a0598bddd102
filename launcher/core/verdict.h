/* verdict.h - what ended the job: the first failure of the whole job, never a victim of our own
 * stop.
 *
 * A value. job.c records what happened in the order in which it heard of it; the first thing
 * recorded stays.
 */
#ifndef MUSTER_LAUNCHER_CORE_VERDICT_H
#define MUSTER_LAUNCHER_CORE_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "launcher/core/event.h"

enum verdict_kind {
    VERDICT_OK,     /* nothing failed (so far) */
    VERDICT_WORKER, /* a worker failed */
    VERDICT_SIGNAL, /* muster was told to end by a signal */
    VERDICT_ERROR,  /* before the start, or muster's own failure */
    VERDICT_TIME_LIMIT,
    VERDICT_NODE_LOST,
    VERDICT_HANG, /* a heartbeat or any output was due and did not come */
};

struct verdict {
    enum verdict_kind kind;
    int signo;                            /* VERDICT_SIGNAL */
    uint32_t rank, local_rank, node, pid; /* VERDICT_WORKER, and VERDICT_HANG of a heartbeat;
                                             node also of VERDICT_NODE_LOST */
    struct worker_end end;
    uint64_t after_ms;          /* since the start of the generation */
    char *host, *gpu;           /* owned; NULL = unknown */
    char *tail, *error, *cause; /* its evidence (event.h); likewise */
    struct err err;             /* VERDICT_ERROR, VERDICT_NODE_LOST */
    enum hang_kind hang;        /* VERDICT_HANG: which limit */
    uint64_t quiet_ms;          /* likewise: since the last sign of life, or output */
    char *differs;              /* VERDICT_HANG, VERDICT_TIME_LIMIT: what stack_compare says */
    struct maybe_u64 odd_rank;  /* likewise: the one that differs */
    char *stacks;               /* likewise: the file with the stacks; NULL = none */
};

/* Frees its texts; it is VERDICT_OK then. */
void verdict_fini(struct verdict *v);

/* 0, the worker's own code, 128+N for a signal, 124 for a time limit, 126/127 for a program
 * that cannot be executed or is not there, or the error's status (base/err.h). Never 0 but for
 * VERDICT_OK. */
int verdict_exit_status(const struct verdict *v);

#endif
