#include "tests/sim/world.h"

enum { KILL = 9, CONT = 18, STOP = 19, USR1 = 10, USR2 = 12 }; /* Linux */

static const struct sim_fault *find_fault(const struct world *w, enum sim_fault_kind kind,
                                          uint32_t node, uint32_t local_rank)
{
    for (size_t i = 0; i < w->config->nfaults; i++) {
        const struct sim_fault *f = &w->config->faults[i];
        if (f->kind == kind && f->node == node && f->local_rank == local_rank
            && f->generation == w->nodes[node].generation)
            return f;
    }
    return NULL;
}

static void blame_worker(struct world *w, uint32_t node, uint32_t local_rank,
                         const struct worker_end *end)
{
    const struct cause cause = {.kind = VERDICT_WORKER,
                                .node = node,
                                .rank = node * w->config->workers + local_rank,
                                .generation = w->nodes[node].generation,
                                .end = *end};
    if (worker_end_is_failure(end))
        check_cause(w, &cause);
}

static void post_end_of_streams(struct world *w, uint32_t node, uint32_t local_rank)
{
    struct sim_node *n = &w->nodes[node];
    struct proc *p = &n->procs[local_rank];
    if (!p->has_pipes || p->is_alive || p->child != CHILD_NONE || n->is_blocked)
        return;
    p->has_pipes = false;
    struct event ev = {.type = EV_STREAMS_ENDED};
    ev.u.streams_ended.local_rank = local_rank;
    world_post(w, node, world_random(w, 3), &ev, n->generation);
}

static uint32_t count_left(const struct world *w, uint32_t node)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < w->config->workers; i++) {
        const struct proc *p = &w->nodes[node].procs[i];
        left += p->is_alive ? 1 : 0;
        left += p->child == CHILD_POLITE || p->child == CHILD_TOUGH ? 1 : 0;
    }
    return left;
}

static void post_swept(struct world *w, uint32_t node, uint32_t left)
{
    struct event ev = {.type = EV_SWEPT};
    ev.u.swept.left = left;
    world_post(w, node, 0, &ev, HEAP_ANY);
}

static void dies(struct world *w, uint32_t node, uint32_t local_rank,
                 const struct worker_end *end)
{
    struct sim_node *n = &w->nodes[node];
    struct proc *p = &n->procs[local_rank];
    if (!p->is_alive)
        return;
    p->is_alive = false;
    struct event ev = {.type = EV_EXITED};
    ev.u.exited.local_rank = local_rank;
    ev.u.exited.end = *end;
    ev.u.exited.evidence.tail = worker_end_is_failure(end) ? "the last words" : NULL;
    bool streams_first = world_random(w, 2);
    if (streams_first)
        post_end_of_streams(w, node, local_rank);
    world_post(w, node, world_random(w, 3), &ev, n->generation);
    if (!streams_first)
        post_end_of_streams(w, node, local_rank);
    if (n->is_sweeping)
        post_swept(w, node, count_left(w, node));
}

static void plan_end(struct world *w, uint32_t node, uint32_t local_rank, uint64_t delay_ms,
                     const struct worker_end *end)
{
    const struct item item = {.kind = ITEM_PROC_END,
                              .target = node,
                              .local = local_rank,
                              .generation = w->nodes[node].generation,
                              .end = *end};
    heap_push(&w->heap, w->now_ms + delay_ms, &item);
}

static void post_spawn_failed(struct world *w, uint32_t node, uint32_t local_rank, int sys)
{
    struct event ev = {.type = EV_SPAWN_FAILED};
    ev.u.spawn_failed.local_rank = local_rank;
    ev.u.spawn_failed.sys = sys;
    world_post(w, node, 0, &ev, w->nodes[node].generation);
    blame_worker(w, node, local_rank, &(struct worker_end){END_EXEC, sys, false});
}

/* What the worker does with its life, unless somebody ends it. */
static void plan_life(struct world *w, uint32_t node, uint32_t local_rank)
{
    const struct sim_fault *f;
    if (find_fault(w, SIM_HANG, node, local_rank)) {
        const struct cause cause = {.kind = VERDICT_HANG,
                                    .node = node,
                                    .rank = node * w->config->workers + local_rank,
                                    .generation = w->nodes[node].generation};
        check_cause(w, &cause);
        return;
    }
    if ((f = find_fault(w, SIM_EXIT, node, local_rank)) != NULL)
        plan_end(w, node, local_rank, f->at_ms,
                 &(struct worker_end){END_EXIT, (int)f->arg, false});
    else if ((f = find_fault(w, SIM_CRASH, node, local_rank)) != NULL)
        plan_end(w, node, local_rank, f->at_ms,
                 &(struct worker_end){END_SIGNAL, (int)f->arg, true});
    else
        plan_end(w, node, local_rank, w->config->run_ms + world_random(w, 200),
                 &(struct worker_end){END_EXIT, 0, false});
}

/* ---- signs of life ---- */

enum { SIGN_MS = 1000, ABRT = 6 };

static void plan_sign(struct world *w, uint32_t node, uint32_t local_rank)
{
    const struct item item = {.kind = ITEM_SIGN,
                              .target = node,
                              .local = local_rank,
                              .generation = w->nodes[node].generation};
    if (w->config->heartbeat_ms || w->config->silence_ms)
        heap_push(&w->heap, w->now_ms + SIGN_MS, &item);
}

static void post_looked(struct world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    struct event ev = {.type = EV_LOOKED};
    for (uint32_t i = 0; i < w->config->workers; i++)
        if (n->procs[i].output_ms > ev.u.looked.output_at_ms)
            ev.u.looked.output_at_ms = n->procs[i].output_ms;
    ev.u.looked.output_at_ms += ev.u.looked.output_at_ms ? n->offset_ms : 0;
    world_post(w, node, 0, &ev, n->generation);
}

/* A step of the training: one line, one heartbeat. */
void process_sign(struct world *w, uint32_t node, uint32_t local_rank)
{
    struct sim_node *n = &w->nodes[node];
    struct proc *p = &n->procs[local_rank];
    if (!p->is_alive)
        return;
    plan_sign(w, node, local_rank);
    if (p->is_stopped || (p->step && w->now_ms >= p->hang_ms))
        return;
    struct event ev = {.type = EV_NOTIFY};
    ev.u.notify.local_rank = local_rank;
    ev.u.notify.sign.is_alive = true;
    ev.u.notify.sign.step = (struct maybe_u64){true, ++p->step};
    world_post(w, node, world_random(w, 20), &ev, n->generation);
    p->output_ms = w->now_ms;
    if (n->tells_output)
        post_looked(w, node);
    n->tells_output = false;
}

void process_look(struct world *w, uint32_t node)
{
    w->nodes[node].tells_output = true;
    post_looked(w, node);
}

/* All who live show where they are; at an ending some die of that. */
void process_stacks(struct world *w, uint32_t node, bool may_abort)
{
    struct sim_node *n = &w->nodes[node];
    uint64_t delay_ms = world_random(w, 3000);
    for (uint32_t i = 0; i < w->config->workers; i++) {
        struct event ev = {.type = EV_STACK};
        if (!n->procs[i].is_alive)
            continue;
        ev.u.stack.local_rank = i;
        ev.u.stack.where = w->now_ms >= n->procs[i].hang_ms ? "spin" : "all_reduce";
        world_post(w, node, delay_ms, &ev, n->generation);
        if (may_abort && world_random(w, 2) && !n->procs[i].is_unkillable)
            dies(w, node, i, &(struct worker_end){END_SIGNAL, ABRT, false});
    }
    const struct event end = {.type = EV_STACKED};
    world_post(w, node, delay_ms, &end, HEAP_ANY);
}

void process_spawn(struct world *w, uint32_t node, uint32_t local_rank)
{
    struct proc *p = &w->nodes[node].procs[local_rank];
    const struct sim_fault *f;
    check_spawn(w, node);
    if ((f = find_fault(w, SIM_FORK, node, local_rank)) != NULL) {
        post_spawn_failed(w, node, local_rank, (int)f->arg);
        return;
    }
    *p = (struct proc){.was_spawned = true, .is_alive = true, .has_pipes = true};
    struct event ev = {.type = EV_SPAWNED};
    ev.u.spawned.local_rank = local_rank;
    ev.u.spawned.pid = 1000 + node * w->config->workers + local_rank;
    world_post(w, node, 0, &ev, w->nodes[node].generation);
    if ((f = find_fault(w, SIM_EXEC, node, local_rank)) != NULL) {
        post_spawn_failed(w, node, local_rank, (int)f->arg);
        dies(w, node, local_rank, &(struct worker_end){END_EXIT, 127, false});
        return;
    }
    p->is_deaf = find_fault(w, SIM_DEAF, node, local_rank) != NULL;
    p->is_unkillable = find_fault(w, SIM_UNKILLABLE, node, local_rank) != NULL;
    if ((f = find_fault(w, SIM_SLOW_EXIT, node, local_rank)) != NULL)
        p->exit_delay_ms = (uint32_t)f->arg;
    if (find_fault(w, SIM_CHILD, node, local_rank))
        p->child = CHILD_POLITE;
    if (find_fault(w, SIM_CHILD_DEAF, node, local_rank))
        p->child = CHILD_TOUGH;
    if (find_fault(w, SIM_CHILD_GHOST, node, local_rank))
        p->child = CHILD_OUT_OF_REACH;
    p->hang_ms = UINT64_MAX;
    if ((f = find_fault(w, SIM_HANG, node, local_rank)) != NULL)
        p->hang_ms = w->now_ms + f->arg;
    plan_sign(w, node, local_rank);
    plan_life(w, node, local_rank);
}

void process_natural_end(struct world *w, uint32_t node, uint32_t local_rank,
                         const struct worker_end *end)
{
    struct proc *p = &w->nodes[node].procs[local_rank];
    if (!p->is_alive)
        return;
    if (p->is_stopped) {
        p->has_end = true;
        p->end = *end;
        return;
    }
    if (end->kind != END_SIGNAL || end->core) /* else it follows a signal of ours */
        blame_worker(w, node, local_rank, end);
    dies(w, node, local_rank, end);
}

/* The worker itself; its child has left the group. */
void process_kill(struct world *w, uint32_t node, uint32_t local_rank, int signo)
{
    struct proc *p = &w->nodes[node].procs[local_rank];
    if (!p->is_alive || signo == USR1 || signo == USR2)
        return;
    const struct worker_end end = {END_SIGNAL, signo, false};
    if (signo == STOP) {
        p->is_stopped = true;
    } else if (signo == CONT) {
        p->is_stopped = false;
        if (p->has_end)
            plan_end(w, node, local_rank, world_random(w, 3), &p->end);
        p->has_end = false;
    } else if (signo == KILL && !p->is_unkillable) {
        dies(w, node, local_rank, &end);
    } else if (signo != KILL && !p->is_deaf && !p->is_unkillable) {
        if (p->is_stopped) {
            p->has_end = true;
            p->end = end;
        } else {
            plan_end(w, node, local_rank, p->exit_delay_ms + world_random(w, 20), &end);
        }
    }
}

void process_sweep(struct world *w, uint32_t node, int signo)
{
    struct sim_node *n = &w->nodes[node];
    n->is_sweeping = true;
    post_swept(w, node, count_left(w, node));
    for (uint32_t i = 0; signo && i < w->config->workers; i++) {
        struct proc *p = &n->procs[i];
        process_kill(w, node, i, signo);
        bool child_dies =
            p->child == CHILD_POLITE || (p->child == CHILD_TOUGH && signo == KILL);
        if (!child_dies)
            continue;
        p->child = CHILD_NONE;
        post_end_of_streams(w, node, i);
        post_swept(w, node, count_left(w, node));
    }
}

void process_close_streams(struct world *w, uint32_t node, uint32_t local_rank)
{
    w->nodes[node].procs[local_rank].has_pipes = false;
}

void process_reap(struct world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    n->is_sweeping = false;
    for (uint32_t i = 0; i < w->config->workers; i++) {
        struct proc *p = &n->procs[i];
        if (p->is_reaped)
            world_broken(w, "node %u: local rank %u was reaped twice", node, i);
        if (p->is_alive && !p->is_unkillable)
            world_broken(w, "node %u: local rank %u was left alive", node, i);
        p->is_reaped = true;
    }
}

void process_block(struct world *w, uint32_t node, bool is_blocked)
{
    struct sim_node *n = &w->nodes[node];
    if (n->is_blocked == is_blocked)
        return;
    n->is_blocked = is_blocked;
    const struct event ev = {.type = is_blocked ? EV_OUTPUT_BLOCKED : EV_OUTPUT_FLOWING};
    world_post(w, node, 0, &ev, HEAP_ANY);
    for (uint32_t i = 0; n->procs && i < w->config->workers; i++)
        post_end_of_streams(w, node, i);
}
