/* The fences of MPI ranks, of which a node sees only that all of its own have come. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/sim/world.h"

enum { FENCES = 3 };

static const char *const names[FENCES] = {"first", "second", "third"};

static void come(struct world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    struct event ev = {.type = EV_GATHER};
    ev.u.gather = (struct gather){.operation = names[n->fence],
                                  .nodes = w->fence_nodes,
                                  .nnodes = w->config->nodes,
                                  .data = {w->fence_data, 1}};
    n->is_in_fence = true;
    world_post(w, node, world_random(w, 40), &ev, n->generation);
}

void fence_init(struct world *w)
{
    uint32_t n = w->config->nodes;
    w->fence_nodes = mem_alloc(n, sizeof *w->fence_nodes);
    w->fence_data = mem_alloc(n, 1);
    memset(w->fence_data, 'x', n);
    for (uint32_t i = 0; i < n; i++)
        w->fence_nodes[i] = i;
}

void fence_fini(struct world *w)
{
    free(w->fence_nodes);
    free(w->fence_data);
}

uint64_t fence_frames(const struct world *w)
{
    return w->config->is_mpi ? 2 * FENCES : 0;
}

void fence_begin(struct world *w, uint32_t node, const struct mpi_layout *layout)
{
    if (!w->config->is_mpi || layout->nnodes != w->config->nodes)
        world_broken(w, "node %u: a layout of %u nodes", node, layout->nnodes);
    w->nodes[node].fence = 0;
    w->nodes[node].has_come = false;
    come(w, node);
}

void fence_keep(struct world *w, struct gathered *gathered)
{
    size_t i = 0;
    while (i < FENCES - 1 && strcmp(names[i], gathered->operation) != 0)
        i++;
    gathered->operation = names[i];
    gathered->data.p = w->fence_data;
}

void fence_answer(struct world *w, uint32_t node, const struct gathered *gathered)
{
    struct sim_node *n = &w->nodes[node];
    if (!n->is_in_fence || strcmp(gathered->operation, names[n->fence]) != 0)
        world_broken(w, "node %u: an answer that it does not wait for", node);
    if (gathered->is_lost && !w->ncauses)
        world_broken(w, "node %u: a fence is lost, and nothing has happened", node);
    if (!gathered->is_lost && gathered->data.n != w->config->nodes)
        world_broken(w, "node %u: a fence of %zu nodes", node, gathered->data.n);
    n->is_in_fence = n->has_come = false;
    if (!gathered->is_lost && ++n->fence < FENCES)
        come(w, node);
}

void fence_seen(struct world *w, uint32_t node, enum event_type type)
{
    struct sim_node *n = &w->nodes[node];
    if (type == EV_LINK_LOST && n->has_come && !n->is_reaped)
        world_broken(w, "node %u: its link is lost, and its fence waits on", node);
}

void fence_check(struct world *w)
{
    bool is_well = w->config->is_mpi && job_verdict(w->job)->kind == VERDICT_OK;
    for (uint32_t i = 0; is_well && i < w->config->nodes; i++)
        if (w->nodes[i].fence != FENCES)
            world_broken(w, "node %u has passed %u fences", i, w->nodes[i].fence);
}
