#include "launcher/core/node_mpi.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/mpi_gather.h"
#include "launcher/core/node_stop.h"
#include "launcher/core/note.h"

static bool is_of_order(const struct mpi_layout *layout, const struct order *o)
{
    return layout->nnodes == o->nnodes && o->node_rank < o->nnodes
           && layout->world_size == o->world_size && mpi_layout_is_whole(layout)
           && layout->nodes[o->node_rank].first_rank == o->first_rank
           && layout->nodes[o->node_rank].nranks == o->nworkers;
}

void node_mpi_start(const struct node *n, const struct mpi_layout *layout, struct effects *fx)
{
    if (layout && is_of_order(layout, &n->plan->order))
        effects_add(fx, FX_WORLD)->u.world.layout = layout;
}

static bool fits(const struct gather *piece, struct effects *fx)
{
    if (piece->data.n <= MPI_GATHER_BYTES_MAX
        && strlen(piece->operation) <= MPI_GATHER_NAME_MAX)
        return true;
    struct note *note = note_add(fx, NOTE_GATHER_LIMIT);
    note->number = (int64_t)piece->data.n;
    note->rank = MPI_GATHER_BYTES_MAX;
    return false;
}

static void tell_lost(const char *operation, struct effects *fx)
{
    effects_add(fx, FX_GATHERED)->u.gathered =
        (struct gathered){.operation = operation, .is_lost = true};
}

void node_mpi_gather(struct node *n, const struct gather *piece, struct effects *fx)
{
    if (n->is_leaving || !fits(piece, fx)) {
        tell_lost(piece->operation, fx);
        return;
    }
    array_grow(n->meetings, n->nmeetings, n->cap_meetings);
    n->meetings[n->nmeetings++] = mem_strdup(piece->operation);
    node_send(n, fx, FRAME_GATHER)->u.gather = *piece;
}

void node_mpi_aborted(const struct node *n, uint32_t local_rank, struct effects *fx)
{
    if (n->workers[local_rank].state == WORKER_ALIVE)
        node_stop_worker(fx, local_rank, SIGKILL);
}

static void end_meeting(struct node *n, const char *operation)
{
    for (size_t i = 0; i < n->nmeetings; i++)
        if (strcmp(n->meetings[i], operation) == 0) {
            free(n->meetings[i]);
            n->meetings[i] = n->meetings[--n->nmeetings];
            return;
        }
}

void node_mpi_gathered(struct node *n, const struct gathered *gathered, struct effects *fx)
{
    if (n->is_leaving) /* who waits has been told already */
        return;
    end_meeting(n, gathered->operation);
    effects_add(fx, FX_GATHERED)->u.gathered = *gathered;
}

void node_mpi_lost(const struct node *n, struct effects *fx)
{
    for (size_t i = 0; i < n->nmeetings; i++)
        tell_lost(n->meetings[i], fx);
}

void node_mpi_forget(struct node *n)
{
    for (size_t i = 0; i < n->nmeetings; i++)
        free(n->meetings[i]);
    n->nmeetings = 0;
}
