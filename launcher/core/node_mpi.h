/* node_mpi.h - MPI ranks of this node and those of others: what a start tells of them, and how
 * their fences go to the head and come back.
 *
 * A part of the node machine: called by its other files, on the state of node_state.h.
 * Everywhere fx is appended to.
 */
#ifndef MUSTER_LAUNCHER_CORE_NODE_MPI_H
#define MUSTER_LAUNCHER_CORE_NODE_MPI_H

#include "launcher/core/node_state.h"

/* Before the workers: layout as the head has it, NULL = no MPI. One that contradicts this
 * node's order is left out, and its workers then cannot start. */
void node_mpi_start(const struct node *n, const struct mpi_layout *layout, struct effects *fx);

/* The ranks of this node have come to a fence. What cannot reach the head is answered at once:
 * nothing will come. */
void node_mpi_gather(struct node *n, const struct gather *piece, struct effects *fx);

/* A rank that has called MPI_Abort waits for its end. */
void node_mpi_aborted(const struct node *n, uint32_t local_rank, struct effects *fx);

/* The answer has come. */
void node_mpi_gathered(struct node *n, const struct gathered *gathered, struct effects *fx);

/* There is no way to the head any more: who still waits for other nodes is told that nothing
 * will come. What fx then borrows is valid until node_mpi_forget. */
void node_mpi_lost(const struct node *n, struct effects *fx);

/* A generation ends, and with it what its ranks have waited for. */
void node_mpi_forget(struct node *n);

#endif
