#include "launcher/core/job_metrics.h"

#include <stdlib.h>

#include "base/mem.h"
#include "launcher/core/job_state.h"

static const char *const state_words[] = {
    [MEMBER_AWAITED] = "awaited", [MEMBER_JOINED] = "joined", [MEMBER_READY] = "ready",
    [MEMBER_RUNNING] = "running", [MEMBER_REAPED] = "ended",  [MEMBER_LOST] = "lost",
};

static struct node_metrics look_at_node(const struct job *j, const struct member *n,
                                        uint64_t now_ms)
{
    bool is_up = n->status != MEMBER_AWAITED && n->status != MEMBER_LOST;
    bool is_heard = is_up && j->beat_ms && n->link != 0;
    return (struct node_metrics){
        .host = n->host,
        .state = state_words[n->status],
        .is_up = is_up,
        .quiet_ms = {is_heard, is_heard ? now_ms - n->last_heard_ms : 0},
    };
}

static struct maybe_u64 status_of(const struct job_rank *rank)
{
    const struct verdict end = {.kind = VERDICT_WORKER, .end = rank->end};
    if (!rank->has_ended || rank->is_lost || rank->end.kind == END_UNKNOWN)
        return (struct maybe_u64){0};
    return (struct maybe_u64){true, (uint64_t)verdict_exit_status(&end)};
}

void job_metrics_look(const struct job *j, uint64_t now_ms, struct job_metrics *out)
{
    char *const *program = j->opt->program;
    *out = (struct job_metrics){
        .program = program ? program[0] : "",
        .generation_at_ms = {j->generation_at_ms != 0, j->generation_at_ms},
        .nodes = mem_alloc(j->nodes.n, sizeof *out->nodes),
        .nnodes = j->nodes.n,
        .statuses = mem_alloc(j->nranks, sizeof *out->statuses),
        .nranks = j->nranks,
    };
    for (uint32_t i = 0; i < j->nodes.n; i++)
        out->nodes[i] = look_at_node(j, &j->nodes.list[i], now_ms);
    for (uint32_t i = 0; i < j->nranks; i++)
        out->statuses[i] = status_of(&j->ranks[i]);
}

void job_metrics_fini(struct job_metrics *m)
{
    free(m->nodes);
    free(m->statuses);
    *m = (struct job_metrics){0};
}
