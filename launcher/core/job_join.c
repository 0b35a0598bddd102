#include "launcher/core/job_join.h"

#include <stdlib.h>

#include "base/mem.h"
#include "launcher/core/job_ending.h"
#include "launcher/core/job_leave.h"
#include "launcher/core/job_mpi.h"
#include "launcher/core/job_refuse.h"
#include "launcher/core/job_spare.h"
#include "launcher/core/note.h"
#include "launcher/core/plan.h"

/* ---- orders ---- */

static void name_ranks(struct job *j, uint32_t node)
{
    const struct member *n = &j->nodes.list[node];
    for (uint32_t i = 0; i < n->order.nworkers; i++) {
        j->ranks[n->order.first_rank + i].local_rank = i;
        j->ranks[n->order.first_rank + i].node = node;
        j->ranks[n->order.first_rank + i].host = mem_strdup(n->host);
    }
}

static void start_generation(struct job *j, struct effects *fx)
{
    j->nready = j->nreaped = j->nalive = 0;
    j->has_orders = true;
    j->stop_signo = 0;
    job_forget_ranks(j);
    j->nranks = j->nodes.list[0].order.world_size;
    j->ranks = mem_alloc(j->nranks, sizeof *j->ranks);
    survey_reset(&j->survey, j->nodes.n, j->nranks);
    samples_reset(&j->samples, j->nodes.n, j->nranks);
    for (uint32_t i = 0; i < j->nodes.n; i++) {
        struct member *n = &j->nodes.list[i];
        name_ranks(j, i);
        n->is_silent = false;
        n->status = MEMBER_JOINED;
        n->order.generation = j->generation;
        job_send(j, fx, n, FRAME_PLAN)->u.plan.order = &n->order;
    }
}

/* Where a node's workers find the store: under the address that all nodes reached the head by,
 * else each under its own; workers in the head's process where it listens. */
static const char *master_addr(const struct job *j, const struct member *n)
{
    const char *common =
        j->opt->local_addr ? j->addr : members_common_address(&j->nodes); /* as the user says */
    if (common)
        return common;
    return n->via && *n->via ? n->via : j->addr;
}

static int give_orders(struct job *j, uint64_t now_ms, struct effects *fx)
{
    j->must_plan = false;
    members_settle(&j->nodes);
    struct order *orders = mem_alloc(j->nodes.n, sizeof *orders);
    for (uint32_t i = 0; i < j->nodes.n; i++)
        orders[i] = (struct order){.job_id = j->opt->job_id,
                                   .max_restarts = j->opt->max_restarts,
                                   .nworkers = j->nodes.list[i].slots,
                                   .master_addr = master_addr(j, &j->nodes.list[i]),
                                   .master_port = j->port};
    struct err e;
    int rc = plan_build(orders, j->nodes.n, &e);
    for (uint32_t i = 0; i < j->nodes.n && rc == 0; i++)
        j->nodes.list[i].order = orders[i];
    free(orders);
    if (rc < 0)
        job_ending_with(j, VERDICT_ERROR, 0, &e, now_ms, fx);
    return rc;
}

/* All have joined. */
static void plan(struct job *j, uint64_t now_ms, struct effects *fx)
{
    if (give_orders(j, now_ms, fx) < 0)
        return;
    job_move(j, JOB_START);
    start_generation(j, fx);
}

void job_join_store_ready(struct job *j, uint32_t generation, uint64_t now_ms,
                          struct effects *fx)
{
    if (j->state == JOB_START && !j->has_orders && generation == j->generation
        && (!j->must_plan || give_orders(j, now_ms, fx) == 0))
        start_generation(j, fx);
}

/* ---- joining ---- */

void job_join_send_away(struct job *j, uint32_t link, const struct err *e, struct effects *fx)
{
    j->sent_away = *e;
    struct frame *frame = job_send_link(j, fx, link, FRAME_REFUSED);
    frame->u.refused.err = &j->sent_away;
    frame->u.refused.node_rank = NODE_RANK_ANY;
    effects_add(fx, FX_DROP_NODE)->u.drop_node.node = link;
}

void job_join_hello(struct job *j, uint32_t link, const struct frame *frame, uint64_t now_ms,
                    struct effects *fx)
{
    struct err e;
    if (members_find(&j->nodes, link) || spares_find(&j->spares, link))
        return;
    bool is_open = j->state == JOB_JOIN;
    int rc = is_open ? members_join(&j->nodes, link, frame, now_ms, &e)
                     : job_spare_park(j, link, frame, now_ms, fx, &e);
    if (rc < 0) {
        job_join_send_away(j, link, &e, fx);
        note_add(fx, NOTE_NODE_REFUSED)->text = j->sent_away.text;
    }
    if (rc == 0 && is_open)
        job_join_came(j, now_ms, fx);
}

void job_join_came(struct job *j, uint64_t now_ms, struct effects *fx)
{
    if (job_refuse_is_pending(j)) {
        job_refuse_check(j, now_ms, fx);
    } else if (members_complete(&j->nodes)) {
        plan(j, now_ms, fx);
    } else if (j->nodes.njoined >= j->opt->nnodes_min && j->last_call_ms == UINT64_MAX) {
        j->last_call_ms = now_ms + j->opt->last_call_ms;
        j->state_deadline_ms = job_least(j->state_deadline_ms, j->last_call_ms);
        struct note *note = note_add(fx, NOTE_LAST_CALL);
        note->number = j->nodes.njoined;
        note->rank = (uint32_t)(j->opt->last_call_ms / 1000);
    }
}

void job_join_deadline(struct job *j, uint64_t now_ms, struct effects *fx)
{
    if (now_ms >= j->last_call_ms && j->nodes.njoined >= j->opt->nnodes_min) {
        members_close(&j->nodes);
        plan(j, now_ms, fx);
        return;
    }
    if (now_ms >= j->last_call_ms) /* some have left again: it is made anew */
        j->last_call_ms = UINT64_MAX;
    buf_reset(&j->line);
    awaited_format(&j->awaited, &j->nodes, &j->line);
    if (now_ms < j->join_limit_ms) {
        struct note *note = note_add(fx, NOTE_NODE_LATE);
        note->number = j->nodes.n - j->nodes.njoined;
        note->rank = j->nodes.n;
        note->text = buf_str(&j->line);
        j->state_deadline_ms =
            job_least(job_least(now_ms + JOB_JOIN_NOTE_MS, j->join_limit_ms), j->last_call_ms);
        return;
    }
    uint32_t node = 0;
    while (j->nodes.list[node].status != MEMBER_AWAITED)
        node++;
    struct err e;
    err_set(&e, ERR_UNAVAILABLE,
            "node %u did not join within %d s; %u of %u nodes are missing%s", node,
            (int)(j->opt->join_timeout_ms / 1000), j->nodes.n - j->nodes.njoined, j->nodes.n,
            buf_str(&j->line));
    job_leave_lose(j, &j->nodes.list[node], &e, now_ms, fx);
}

/* ---- ready ---- */

static void run(struct job *j, uint64_t now_ms, struct effects *fx)
{
    job_move(j, JOB_RUN);
    j->generation_at_ms = now_ms;
    job_mpi_begin(j);
    for (uint32_t i = 0; i < j->nodes.n; i++) {
        j->nodes.list[i].status = MEMBER_RUNNING;
        job_send(j, fx, &j->nodes.list[i], FRAME_START)->u.start.layout = job_mpi_layout(j);
    }
}

void job_join_ready(struct job *j, struct member *n, enum mpi_mode mpi, uint64_t now_ms,
                    struct effects *fx)
{
    struct err e;
    if (j->state != JOB_START || !j->has_orders || n->status != MEMBER_JOINED)
        return;
    n->status = MEMBER_READY;
    n->mpi = mpi;
    j->nready++;
    job_refuse_check(j, now_ms, fx);
    if (j->nready < j->nodes.n || j->state != JOB_START)
        return;
    if (job_mpi_agree(j, &e) < 0)
        job_ending_with(j, VERDICT_ERROR, 0, &e, now_ms, fx);
    else if (j->opt->is_plan)
        job_ending_finish(j, fx);
    else
        run(j, now_ms, fx);
}
