/* mpi_gather.h - what the nodes of an MPI job give each other at a fence or barrier, as the
 * head sees it: who has come, when all have, and who waits in vain.
 *
 * A meeting is known by its operation and lasts from the first node that comes to the answer to
 * all; then the same operation may come again. Nodes are node ranks. Bounded, because what it
 * holds comes from outside. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_MPI_GATHER_H
#define MUSTER_LAUNCHER_CORE_MPI_GATHER_H

#include "launcher/core/event.h"

enum {
    MPI_GATHER_BYTES_MAX = 15 << 20,  /* of all pieces of a meeting: they travel in one frame */
    MPI_GATHER_NAME_MAX = 64 * 1024,  /* bytes of an operation's name */
    MPI_GATHER_OPEN_MAX = 256,        /* meetings that wait for somebody */
    MPI_GATHER_TOTAL_MAX = 128 << 20, /* bytes of their pieces */
};

struct mpi_gather;

struct mpi_gather *mpi_gather_new(void);
void mpi_gather_free(struct mpi_gather *g); /* NULL is fine */

/* A generation of nnodes nodes begins: all meetings of the one before are forgotten, without an
 * answer. */
void mpi_gather_begin(struct mpi_gather *g, uint32_t nnodes);

/* An answer and who is to have it. Valid until mpi_gather_settle or mpi_gather_begin. */
struct mpi_answer {
    const uint32_t *nodes;
    uint32_t nnodes;
    struct gathered gathered;
    uint32_t missing; /* of is_lost: a node that will not come */
};

/* A node has come, with its piece, which is copied. 1: *answer is due; 0: others are awaited.
 * -1 with ERR_PROTOCOL (it may not take part, or not so) or ERR_LIMIT (a bound is passed):
 * *answer is due to those that wait, and says that nothing will come. */
int mpi_gather_take(struct mpi_gather *g, uint32_t node, const struct gather *piece,
                    struct mpi_answer *answer, struct err *e);

/* A node has ended or is lost: it comes to no meeting any more. To be called until it returns
 * false; each time it returns true, *answer is due to those that wait for that node. */
bool mpi_gather_leave(struct mpi_gather *g, uint32_t node, struct mpi_answer *answer);

/* All answers given so far have been sent. */
void mpi_gather_settle(struct mpi_gather *g);

#endif
