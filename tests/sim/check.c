#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "tests/sim/world.h"

void world_broken(struct world *w, const char *fmt, ...)
{
    if (w->result->broken[0])
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(w->result->broken, sizeof w->result->broken, fmt, args);
    va_end(args);
}

void check_cause(struct world *w, const struct cause *cause)
{
    if (w->is_done)
        return;
    array_grow(w->causes, w->ncauses, w->causes_cap);
    w->causes[w->ncauses++] = *cause;
}

void check_spawn(struct world *w, uint32_t node)
{
    if (w->nodes[node].stop_generation == w->nodes[node].generation)
        world_broken(w, "node %u: a worker was started after the stop", node);
}

static bool has_failed_node(const struct world *w, uint32_t node)
{
    for (size_t i = 0; i < w->ncauses; i++)
        if (w->causes[i].kind == VERDICT_NODE_LOST && w->causes[i].node == node)
            return true;
    return false;
}

static bool end_eq(const struct worker_end *a, const struct worker_end *b)
{
    return a->kind == b->kind && a->code == b->code;
}

/* Whether this thing that went wrong is what the verdict says. */
static bool is_named(const struct world *w, const struct cause *c)
{
    const struct verdict *v = job_verdict(w->job);
    if (c->kind != v->kind)
        return false;
    char number[16];
    switch (c->kind) {
    case VERDICT_WORKER:
        return c->rank == v->rank && c->node == v->node && end_eq(&c->end, &v->end)
               && c->generation == job_generation(w->job);
    case VERDICT_NODE_LOST:
        return c->node == v->node;
    case VERDICT_SIGNAL:
        return c->signo == v->signo;
    case VERDICT_ERROR:
        snprintf(number, sizeof number, "<%u>", c->node);
        return strstr(v->err.text, number) != NULL;
    case VERDICT_TIME_LIMIT:
        return w->now_ms >= w->config->timeout_ms;
    case VERDICT_HANG: /* the odd one of the look, and the one without a heartbeat */
        return c->generation == job_generation(w->job)
               && (v->hang == HANG_SILENCE || (c->rank == v->rank && c->node == v->node))
               && (!v->odd_rank.is_known || v->odd_rank.value == c->rank);
    case VERDICT_OK:
        return false;
    }
    return false;
}

/* Whether a job may end well although this happened. */
static bool is_harmless(const struct world *w, const struct cause *c)
{
    if (c->kind == VERDICT_WORKER || c->kind == VERDICT_HANG)
        return c->generation != job_generation(w->job);
    return c->kind == VERDICT_NODE_LOST
           && (c->is_maybe || w->nodes[c->node].reaped_heard == job_generation(w->job));
}

static void check_verdict(struct world *w)
{
    const struct verdict *v = job_verdict(w->job);
    int status = verdict_exit_status(v);
    if ((v->kind == VERDICT_OK) != (status == 0))
        world_broken(w, "verdict %d has status %d", (int)v->kind, status);
    bool is_explained = v->kind == VERDICT_OK;
    for (size_t i = 0; i < w->ncauses; i++) {
        is_explained = is_explained || is_named(w, &w->causes[i]);
        if (v->kind == VERDICT_OK && !is_harmless(w, &w->causes[i]))
            world_broken(w, "all is well, they say, but cause %d of node %u was there",
                         (int)w->causes[i].kind, w->causes[i].node);
    }
    if (!is_explained)
        world_broken(w, "verdict %d (rank %u, node %u, %s) is not what happened", (int)v->kind,
                     v->rank, v->node, v->err.text);
}

static void check_alive(struct world *w, uint32_t node, const char *when)
{
    const struct sim_node *n = &w->nodes[node];
    for (uint32_t i = 0; !n->is_dead && i < w->config->workers; i++) {
        const struct proc *p = &n->procs[i];
        if (p->is_alive && !p->is_unkillable)
            world_broken(w, "node %u: local rank %u is alive %s", node, i, when);
        if (p->was_spawned && !p->is_reaped)
            world_broken(w, "node %u: local rank %u was not reaped %s", node, i, when);
        if (p->child == CHILD_POLITE || p->child == CHILD_TOUGH)
            world_broken(w, "node %u: a child of local rank %u is alive %s", node, i, when);
    }
}

void check_node_over(struct world *w, uint32_t node)
{
    check_alive(w, node, "although its node has ended");
}

/* Frames at the head stay below 7 + 2W a node and generation, and one more a signal, two a
 * fence; bytes below 1 KiB + 128 W. A limit or SIGQUIT adds two rounds of looking at every
 * rank. Beats come on top: one a node each two seconds. */
static void check_load(struct world *w)
{
    const struct sim_config *c = w->config;
    uint64_t generations = job_generation(w->job) + 1;
    uint64_t nsignals = c->timeout_ms ? 1 : 0;
    for (size_t i = 0; i < c->nfaults; i++)
        nsignals += c->faults[i].kind == SIM_SIGNAL    ? 1
                    : c->faults[i].kind == SIM_SUSPEND ? 2
                                                       : 0;
    bool may_look = c->timeout_ms || c->heartbeat_ms || c->silence_ms;
    uint64_t look = may_look ? 8 + 4 * c->workers : 0;
    if (w->result->frames > c->nodes
                                * (generations * (7 + 2 * c->workers + look + fence_frames(w))
                                   + nsignals * (1 + look)))
        world_broken(w, "%llu frames at the head", (unsigned long long)w->result->frames);
    if (w->result->bytes
        > c->nodes * (generations + nsignals) * (1024 + (may_look ? 384 : 128) * c->workers))
        world_broken(w, "%llu bytes at the head", (unsigned long long)w->result->bytes);
    /* one each way, and a last one before each suspension */
    if (w->beats > (uint64_t)c->nodes * (2 * (w->now_ms / 2000 + 1) + nsignals))
        world_broken(w, "%llu beats", (unsigned long long)w->beats);
}

void check_done(struct world *w)
{
    check_verdict(w);
    for (uint32_t i = 0; i < w->config->nodes; i++)
        if (!has_failed_node(w, i))
            check_alive(w, i, "at the end of the job");
    check_load(w);
    fence_check(w);
}

void check_end(struct world *w)
{
    if (!w->is_done)
        world_broken(w, "the job never ends");
    for (uint32_t i = 0; i < w->config->nodes; i++) {
        const struct sim_node *n = &w->nodes[i];
        if (n->is_up && !n->is_dead && !n->is_over)
            world_broken(w, "node %u never ends", i);
        check_alive(w, i, "for ever");
    }
}
