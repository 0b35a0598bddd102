#include "launcher/core/job_leave.h"

#include "launcher/core/job_ending.h"
#include "launcher/core/job_join.h"
#include "launcher/core/job_mpi.h"
#include "launcher/core/job_sample.h"
#include "launcher/core/job_spare.h"
#include "launcher/core/note.h"

static void lose_ranks(struct job *j, const struct member *n)
{
    for (uint32_t i = 0; j->ranks && i < n->order.nworkers; i++) {
        struct job_rank *rank = job_find_rank(j, n, i);
        if (!rank->pid || rank->has_ended)
            continue;
        rank->is_lost = true;
        j->nalive--;
    }
}

/* A node is gone, or will not come. In JOIN another one may still come in its place, unless it
 * is muster that starts them. */
void job_leave_lose(struct job *j, struct member *n, const struct err *err, uint64_t now_ms,
                    struct effects *fx)
{
    uint32_t node = members_rank(&j->nodes, n);
    bool was_over = n->status == MEMBER_REAPED;
    if (n->status == MEMBER_LOST)
        return;
    if (n->link != LINK_NONE)
        effects_add(fx, FX_DROP_NODE)->u.drop_node.node = n->link;
    if (was_over
        && (j->state == JOB_RUN || j->state == JOB_LOOK || j->state == JOB_STOP
            || j->state == JOB_FLUSH)) {
        n->status = MEMBER_LOST; /* it had nothing left to do */
        return;
    }
    lose_ranks(j, n);
    struct err e = *err;
    if (n->host) /* else the error names it */
        err_wrap(&e, "node %u (%s)", node, n->host);
    if (j->state == JOB_JOIN || j->state == JOB_START || j->state == JOB_RUN
        || j->state == JOB_PAUSE) {
        if (j->verdict.kind == VERDICT_OK)
            j->verdict.node = node;
        n->status = MEMBER_LOST;
        survey_told(&j->survey, node, NULL);
        job_sample_left(j, n, now_ms);
        j->nreaped += !was_over;
        job_ending_with(j, VERDICT_NODE_LOST, 0, &e, now_ms, fx);
        if (j->state == JOB_STOP) /* ranks hear of their fence after the signal */
            job_mpi_leave(j, n, now_ms, fx);
        return;
    }
    job_ending_node_over(j, n, MEMBER_LOST, now_ms, fx);
}

void job_leave_link(struct job *j, uint32_t link, const struct err *err, uint64_t now_ms,
                    struct effects *fx)
{
    struct member *n = members_find(&j->nodes, link);
    job_spare_lost(j, link, fx);
    if (!n) /* it had not said hello, or was a spare */
        return;
    if (j->state != JOB_JOIN || options_has_hosts(j->opt)) {
        job_leave_lose(j, n, err, now_ms, fx);
        return;
    }
    note_add(fx, NOTE_NODE_LEFT)->text = err->text;
    effects_add(fx, FX_DROP_NODE)->u.drop_node.node = link;
    members_leave(&j->nodes, n);
    if (job_spare_take(j, now_ms))
        job_join_came(j, now_ms, fx);
}

void job_leave_place(struct job *j, uint64_t place, const struct err *err, uint64_t now_ms,
                     struct effects *fx)
{
    if (j->state != JOB_JOIN || place >= j->nodes.n
        || j->nodes.list[place].status != MEMBER_AWAITED)
        return;
    const char *host = awaited_host(&j->awaited, (uint32_t)place);
    struct err e = *err;
    if (host)
        err_wrap(&e, "node %u (%s)", (uint32_t)place, host);
    job_leave_lose(j, &j->nodes.list[place], &e, now_ms, fx);
}

bool job_leave_is_silent(const struct job *j, uint64_t last_heard_ms, uint64_t now_ms)
{
    return !j->is_deaf && now_ms - last_heard_ms > j->beat_ms * j->opt->beats_missed;
}

void job_leave_check_beats(struct job *j, uint64_t now_ms, struct effects *fx)
{
    j->next_beat_check_ms = now_ms + j->beat_ms;
    job_spare_check_beats(j, now_ms, fx);
    for (uint32_t i = 0; i < j->nodes.n && j->state != JOB_DONE; i++) {
        struct member *n = &j->nodes.list[i];
        if (n->link == LINK_NONE || n->status == MEMBER_LOST)
            continue;
        job_send(j, fx, n, FRAME_BEAT);
        if (!job_leave_is_silent(j, n->last_heard_ms, now_ms))
            continue;
        struct err e;
        err_set(&e, ERR_NODE_LOST, "no sign of life for %.1f s",
                (double)(now_ms - n->last_heard_ms) / 1000);
        job_leave_link(j, n->link, &e, now_ms, fx);
    }
}
