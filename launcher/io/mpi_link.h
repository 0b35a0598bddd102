/* mpi_link.h - the way from an MPI service to those of the other nodes: struct mpi_peers made
 * of events and effects of the node machine.
 *
 * Keeps what waits for an answer, and what queued events point to. Decides nothing.
 */
#ifndef MUSTER_LAUNCHER_IO_MPI_LINK_H
#define MUSTER_LAUNCHER_IO_MPI_LINK_H

#include "launcher/core/event.h"
#include "launcher/io/mpi_service.h"

struct mpi_link;

/* ask: the ranks of this node have come; *piece is valid until mpi_link_settle after the
 * answer, or after the end of the generation. */
typedef void mpi_link_ask(void *ctx, const struct gather *piece);

struct mpi_link *mpi_link_new(mpi_link_ask *ask, void *ctx);
/* NULL is fine. No event that points here may be queued. */
void mpi_link_free(struct mpi_link *l);

/* For the service; owned by l. */
const struct mpi_peers *mpi_link_peers(const struct mpi_link *l);

/* An answer for this node. One that nobody waits for is passed over. */
void mpi_link_gathered(struct mpi_link *l, const struct gathered *gathered);

/* All queues are empty. */
void mpi_link_settle(struct mpi_link *l);

#endif
