/* mpi.h - which process manager's side an MPI program needs played, and what the end of one of
 * its ranks means.
 *
 * Two protocols exist: PMIx (Open MPI) and PMI-1 (MPICH and its relatives). Pure: the program
 * comes in as the bytes of its file, what a rank has said to its server as a state.
 */
#ifndef MUSTER_LAUNCHER_CORE_MPI_H
#define MUSTER_LAUNCHER_CORE_MPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "launcher/core/event.h"
#include "launcher/core/mpi_mode.h"

/* What a shared library of this name wants: MPI_MODE_PMIX, _PMI, or _NONE if it is no MPI. */
enum mpi_mode mpi_mode_of_library(struct str soname);

/* The same of a program, by the libraries that its file names itself (DT_NEEDED of an ELF file
 * of this machine's kind); *library is the one that decided, within image. MPI_MODE_NONE also
 * for a file that is no such program: a script, an interpreter that loads MPI later. */
enum mpi_mode mpi_mode_of_program(const void *image, size_t size, struct str *library);

/* Whether the file of an MPI library needs PMIx's: an MPICH that was built for PMIx, as Ubuntu
 * 24.04's is, does not know PMI-1. */
bool mpi_library_needs_pmix(const void *image, size_t size);

/* What a rank has told its server. */
enum mpi_state {
    MPI_STATE_OUTSIDE, /* it has not called MPI_Init */
    MPI_STATE_INSIDE,  /* MPI_Init, and no MPI_Finalize yet */
    MPI_STATE_FINALIZED,
    MPI_STATE_ABORTED /* MPI_Abort */
};

/* Corrects the end of a worker by what MPI knows of it: after MPI_Abort(code) it ended with
 * that code, however its process came to die, and never with 0; an exit with 0 between MPI_Init
 * and MPI_Finalize is exit 1, because the others would wait for it for ever. Appends why, if
 * end was changed or there is more to say than a status. */
void mpi_judge_end(enum mpi_state state, int abort_code, struct worker_end *end,
                   struct buf *why);

#endif
