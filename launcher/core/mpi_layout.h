/* mpi_layout.h - where the ranks of an MPI job are: node by node, in blocks of consecutive
 * ranks. A plain value; what a process manager has to tell its clients. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_MPI_LAYOUT_H
#define MUSTER_LAUNCHER_CORE_MPI_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct mpi_node {
    const char *host;
    uint32_t first_rank, nranks;
};

struct mpi_layout {
    const struct mpi_node *nodes; /* by node rank; first_rank ascends without a gap */
    uint32_t nnodes, world_size;
};

/* Whether the ranks of every node follow those of the one before it, world_size in all. */
bool mpi_layout_is_whole(const struct mpi_layout *layout);

/* Appends MPICH's text form, the value of PMI_process_mapping: "(vector,(0,2,4))" is ranks in
 * blocks of 4 on nodes 0 and 1. Equal neighbours share a block. */
void mpi_layout_mapping(const struct mpi_layout *layout, struct buf *out);

/* Appends a node's ranks as "4,5,6". */
void mpi_layout_ranks(const struct mpi_node *node, struct buf *out);

#endif
