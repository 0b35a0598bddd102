/* mpi_mode.h - which process manager's side a job wants played for MPI: the values of --mpi,
 * and what a node has found its program to want. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_MPI_MODE_H
#define MUSTER_LAUNCHER_CORE_MPI_MODE_H

#include "base/str.h"

/* X(name, spelling) */
#define MPI_MODES(X)                                                                           \
    X(NONE, "none")                                                                            \
    X(AUTO, "auto") /* as the program's libraries say */                                       \
    X(PMIX, "pmix")                                                                            \
    X(PMI, "pmi")

#define X(name, spelling) MPI_MODE_##name,
enum mpi_mode { MPI_MODES(X) MPI_MODE_COUNT };
#undef X

/* The spelling of a value, and back (0 or -1). */
const char *mpi_mode_name(enum mpi_mode mode);
int mpi_mode_parse(struct str s, enum mpi_mode *out);

#endif
