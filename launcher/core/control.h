/* control.h - what is said over a job's control socket: a request of one line, an answer of
 * lines, both text. Pure; owns the form only. What a request leads to decides job_control.h.
 *
 *   muster/1 VERB                       the request, a row of CONTROL_VERBS
 *   muster/1 ok | muster/1 error WHY    the first line of the answer
 *   KEY WORDS                           facts of the job; an unknown key is skipped
 *   rank R NODE LOCAL PID STATE INDEX UUID STEP QUIET_MS HOST   one a rank; - is not known
 *   starts R N                          how often rank R was started in this job
 *   sample R NUMBERS                    what rank R and its GPU were doing, as
 * rank_sample_format at R WORDS                          what rank R was seen doing when its
 * stacks were taken end                                 without it the answer was cut off
 *
 * The number is the version: 2 would be a form that a reader of 1 cannot understand. Keys are
 * only ever added.
 */
#ifndef MUSTER_LAUNCHER_CORE_CONTROL_H
#define MUSTER_LAUNCHER_CORE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "launcher/core/event.h"
#include "launcher/core/log_paths.h"
#include "launcher/core/rank_sample.h"

/* X(name, word) */
#define CONTROL_VERBS(X)                                                                       \
    X(STATUS, "status")                                                                        \
    X(SAMPLE, "sample") /* status, once every node was asked what its ranks do */              \
    X(STOP, "stop")                                                                            \
    X(KILL, "kill")                                                                            \
    X(STACK, "stack")

enum control_verb {
#define X(name, word) CONTROL_##name,
    CONTROL_VERBS(X)
#undef X
        CONTROL_VERB_COUNT
};

enum { CONTROL_REQUEST_MAX = 128 }; /* bytes of a request, with its newline */

/* X(name, word): where a rank is. */
#define RANK_STATES(X)                                                                         \
    X(WAITING, "waiting") /* not started yet in this generation */                             \
    X(RUNNING, "running")                                                                      \
    X(DONE, "done") /* ended well */                                                           \
    X(FAILED, "failed")                                                                        \
    X(STOPPED, "stopped") /* ended after the stop of the group had begun */                    \
    X(LOST, "lost")       /* with its node */

enum rank_state {
#define X(name, word) RANK_##name,
    RANK_STATES(X)
#undef X
        RANK_STATE_COUNT
};

/* Texts are owned. */
struct control_rank {
    uint32_t node, local_rank, pid;
    uint32_t starts; /* how often this rank was started in this job; restarts are one less */
    enum rank_state state;
    char *host;
    char *gpu_index, *gpu_uuid;      /* NULL = no GPU, or its node has not said which */
    char *where;                     /* NULL = not seen */
    struct maybe_u64 step, quiet_ms; /* the last STEP; since the last sign of life */
    struct rank_sample sample;       /* empty where nobody asked, or its node did not answer */
};

/* A job as it says of itself: the one snapshot that `muster ps`, `muster top` and whoever else
 * shows a job read. The answer to CONTROL_SAMPLE has the samples of all ranks of all nodes.
 * Texts are owned; NULL = none. */
struct control_status {
    char *job_id, *program, *state;
    uint32_t pid, generation, max_restarts, nnodes;
    uint64_t uptime_ms;
    struct maybe_u64 here; /* the node of the head's own process; not known = it is none */
    enum log_layout layout;
    char *log_dir;    /* the files of this generation, of the ranks of the head's own node */
    char *log_root;   /* of --log-dir, where the head runs no worker: files are on the nodes */
    char *stacks;     /* the file that the last stacks were written to */
    char *sample_why; /* why figures are missing on a node that answers; its host is named */
    char *metrics;    /* where they are served, of --metrics */
    struct control_rank *ranks; /* by rank */
    size_t nranks;
};

const char *rank_state_word(enum rank_state state);

/* How many of the ranks run. */
uint32_t control_running(const struct control_status *s);

/* Appends the line with its end. */
void control_request_format(enum control_verb verb, struct buf *out);

/* line: without its end. 0, or -1 with ERR_PROTOCOL: another version, or no such verb. */
int control_request_parse(struct str line, enum control_verb *verb, struct err *e);

/* Appends a whole answer. Control characters in texts become blanks. */
void control_status_format(const struct control_status *s, struct buf *out);

/* Appends the answer to what cannot be had. */
void control_refusal_format(const char *why, struct buf *out);

/* Any bytes. 0 and *out is the caller's, to be ended with control_status_fini; or -1 with
 * ERR_PROTOCOL, for a refusal with its words. */
int control_status_parse(struct str text, struct control_status *out, struct err *e);

void control_status_fini(struct control_status *s);

#endif
