/* launch.h - the ways in which the nodes of a job can be started, and their names on the
 * command line. Which one it is decides engine_detect.h.
 */
#ifndef MUSTER_LAUNCHER_CORE_LAUNCH_H
#define MUSTER_LAUNCHER_CORE_LAUNCH_H

#include "base/str.h"

/* X(name, spelling; NULL: nobody asks for it) */
#define LAUNCHES(X)                                                                            \
    X(AUTO, "auto")                                                                            \
    X(LOCAL, NULL) /* one node, in this process */                                             \
    X(SSH, "ssh")                                                                              \
    X(SLURM, "slurm")                                                                          \
    X(MPI, "mpi")                                                                              \
    X(MANUAL, "manual") /* by others, one by one */

#define X(name, spelling) LAUNCH_##name,
enum launch { LAUNCHES(X) LAUNCH_COUNT };
#undef X

/* 0, or -1: no such way. */
int launch_parse(struct str s, enum launch *out);

/* "slurm"; "local" too, which cannot be asked for. */
const char *launch_name(enum launch launch);

#endif
