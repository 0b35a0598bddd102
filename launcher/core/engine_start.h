/* engine_start.h - the ways in which the nodes of a job can be started, and their names on the
 * command line. Which one it is decides engine_detect.h.
 */
#ifndef MUSTER_LAUNCHER_CORE_ENGINE_START_H
#define MUSTER_LAUNCHER_CORE_ENGINE_START_H

#include "base/str.h"

/* X(name, spelling; NULL: nobody asks for it) */
#define ENGINE_STARTS(X)                                                                       \
    X(AUTO, "auto")                                                                            \
    X(LOCAL, NULL) /* one node, in this process */                                             \
    X(SSH, "ssh")                                                                              \
    X(SLURM, "slurm")                                                                          \
    X(MPI, "mpi")                                                                              \
    X(MANUAL, "manual") /* by others, one by one */

#define X(name, spelling) START_##name,
enum engine_start { ENGINE_STARTS(X) START_COUNT };
#undef X

/* 0, or -1: no such way. */
int engine_start_parse(struct str s, enum engine_start *out);

/* "slurm"; "local" too, which cannot be asked for. */
const char *engine_start_name(enum engine_start launch);

#endif
