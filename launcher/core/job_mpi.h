/* job_mpi.h - what the head decides for MPI programs over several nodes: whether all nodes play
 * the same process manager, who is where, and what becomes of their fences.
 *
 * A part of the head machine: called by its other files, on the state of job_state.h. The
 * fences are mpi_gather.h's; what a node does with the answer, io/mpi_host.h's.
 */
#ifndef MUSTER_LAUNCHER_CORE_JOB_MPI_H
#define MUSTER_LAUNCHER_CORE_JOB_MPI_H

#include "launcher/core/job_state.h"

/* All are ready: whether their programs want the same of MPI. 0, or -1 with ERR_USAGE. */
int job_mpi_agree(const struct job *j, struct err *e);

/* A generation is about to start, in this order of nodes. */
void job_mpi_begin(struct job *j);

/* What FRAME_START carries; NULL where there is no MPI. Owned by j, until the next begin. */
const struct mpi_layout *job_mpi_layout(const struct job *j);

/* A node's ranks have come to a fence. Whatever becomes of it; now_ms is the time of the event.
 */
void job_mpi_gather(struct job *j, const struct member *n, const struct gather *piece,
                    uint64_t now_ms, struct effects *fx);

/* A node has ended or is lost: nobody is to wait for it any more. */
void job_mpi_leave(struct job *j, const struct member *n, uint64_t now_ms, struct effects *fx);

#endif
