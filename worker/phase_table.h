/* phase_table.h - the phases that every rank of a job goes through, in order, with deadlines.
 *
 * Names are part of the store's keys and of the command line. Pure data.
 */
#ifndef MUSTER_WORKER_PHASE_TABLE_H
#define MUSTER_WORKER_PHASE_TABLE_H

#include "base/str.h"

/* X(name, deadline in s, in s per 1000 ranks, reached when) */
#define PHASE_TABLE(X)                                                                         \
    X(started, 60, 0, "environment read, store connected")                                     \
    X(cuda_ok, 60, 0, "device set and its UUID agrees")                                        \
    X(uid_seen, 15, 0, "the id of the communicator read")                                      \
    X(reach, 10, 0, "a TCP connection to the owner of the id made")                            \
    X(init_enter, 15, 0, "about to make the communicator")                                     \
    X(init_done, 120, 50, "communicator and buffers made")                                     \
    X(warm, 120, 0, "first connections and warm-up done")                                      \
    X(bench, 30, 0, "a size timed and checked")                                                \
    X(verify, 60, 0, "the results of all ranks compared")                                      \
    X(bye, 30, 0, "communicator closed")

enum phase {
#define X(name, seconds, per_1000, when) PHASE_##name,
    PHASE_TABLE(X)
#undef X
        PHASE_COUNT
};

/* As keys and messages name it. Static text. */
const char *phase_name(enum phase phase);

/* The phase that s names; -1 = there is none. */
int phase_find(struct str s);

#endif
