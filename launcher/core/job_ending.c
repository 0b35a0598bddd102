#include "launcher/core/job_ending.h"

#include <signal.h>

#include "launcher/core/job_look.h"
#include "launcher/core/job_mpi.h"
#include "launcher/core/job_sample.h"
#include "launcher/core/job_refuse.h"
#include "launcher/core/job_spare.h"
#include "launcher/core/note.h"

/* ---- stopping ---- */

static void finish_generation(struct job *j, uint64_t now_ms, struct effects *fx);

/* Workers get notice of the end where muster was asked for it politely. */
static struct notice notice_of(const struct job *j, int signo, uint64_t grace_ms)
{
    bool is_asked = j->verdict.kind == VERDICT_SIGNAL && j->verdict.signo == SIGTERM
                    && signo == SIGTERM && grace_ms;
    return is_asked ? j->notice : (struct notice){0};
}

void job_ending_limit_deafness(struct job *j, uint64_t wait_ms, uint64_t now_ms)
{
    if (j->is_deaf && j->is_user_end && j->state == JOB_STOP)
        j->deaf_limit_ms = job_least(j->deaf_limit_ms, now_ms + (j->has_dropped ? 0 : wait_ms));
}

void job_ending_drop_output(struct job *j, struct effects *fx)
{
    j->deaf_limit_ms = UINT64_MAX;
    if (!j->has_dropped)
        note_add(fx, NOTE_OUTPUT_LOST);
    j->has_dropped = true;
    effects_add(fx, FX_DROP_OUTPUT);
}

/* Who is alive and waits for a reader of its output is waited for, unless the user wants out:
 * only then there is a deadline. A node that went silent is found by its beats. */
void job_ending_send_stop(struct job *j, struct effects *fx, int signo, uint64_t grace_ms,
                          uint64_t now_ms)
{
    struct notice notice = notice_of(j, signo, grace_ms);
    if (j->is_user_end)
        j->state_deadline_ms = now_ms + notice.ms + grace_ms + JOB_STOP_SLACK_MS;
    job_ending_limit_deafness(j, grace_ms ? JOB_DEAF_MS : 0, now_ms);
    for (uint32_t i = 0; i < j->nodes.n; i++) {
        const struct member *n = &j->nodes.list[i];
        if (n->status == MEMBER_AWAITED || n->status == MEMBER_REAPED
            || n->status == MEMBER_LOST)
            continue;
        struct frame *frame = job_send(j, fx, n, FRAME_STOP);
        frame->u.stop.signo = signo;
        frame->u.stop.grace_ms = grace_ms;
        frame->u.stop.notice = notice;
        frame->u.stop.is_final = j->is_user_end;
    }
}

void job_ending_stop(struct job *j, int signo, uint64_t now_ms, struct effects *fx)
{
    bool is_before = j->state == JOB_JOIN || !j->has_orders; /* nobody runs anything */
    j->stop_signo =
        j->state == JOB_LOOK && !j->nalive ? 0 : signo; /* nobody is left to get it */
    job_move(j, JOB_STOP);
    j->stop_at_ms = now_ms;
    note_add(fx, NOTE_STOPPING)->number = signo;
    struct notice notice = notice_of(j, signo, j->opt->grace_ms);
    if (notice.ms) {
        struct note *note = note_add(fx, NOTE_PREEMPTED);
        note->number = notice.signo;
        note->rank = (uint32_t)(notice.ms / 1000);
    }
    effects_add(fx, FX_STORE_GATE);
    if (!is_before)
        job_ending_send_stop(j, fx, signo, j->opt->grace_ms, now_ms);
    for (uint32_t i = 0; i < j->nodes.n; i++) {
        enum member_status *status = &j->nodes.list[i].status;
        if (*status != MEMBER_AWAITED && !(is_before && *status == MEMBER_JOINED))
            continue;
        *status = MEMBER_REAPED; /* it has nothing to reap */
        j->nreaped++;
    }
    if (j->nreaped == j->nodes.n)
        finish_generation(j, now_ms, fx);
}

int job_ending_signal(int signo)
{
    return signo == SIGPIPE ? SIGTERM : signo;
}

void job_ending_with(struct job *j, enum verdict_kind kind, int signo, const struct err *err,
                     uint64_t now_ms, struct effects *fx)
{
    job_refuse_settle(j, now_ms, fx);
    if (j->verdict.kind == VERDICT_OK) {
        j->verdict.kind = kind;
        j->verdict.signo = signo;
        j->verdict.after_ms = now_ms - j->generation_at_ms;
        if (err)
            j->verdict.err = *err;
    }
    if (j->state == JOB_JOIN || j->state == JOB_START || j->state == JOB_RUN
        || j->state == JOB_LOOK)
        job_ending_stop(j, kind == VERDICT_SIGNAL ? job_ending_signal(signo) : SIGTERM, now_ms,
                        fx);
    else if (j->state == JOB_PAUSE) /* nobody runs */
        job_ending_finish(j, fx);
}

/* ---- what comes after a generation ---- */

static bool has_lost(const struct job *j)
{
    for (uint32_t i = 0; i < j->nodes.n; i++)
        if (j->nodes.list[i].status == MEMBER_LOST)
            return true;
    return false;
}

/* Whether the next attempt is due, and when. */
static bool may_restart(struct job *j, uint64_t *delay_ms, struct effects *fx)
{
    const struct verdict *v = &j->verdict;
    bool is_theirs = v->kind == VERDICT_WORKER || v->kind == VERDICT_HANG
                     || (v->kind == VERDICT_NODE_LOST && v->err.code == ERR_NODE_LOST);
    if (!is_theirs || j->is_user_end)
        return false;
    if (options_has_hosts(j->opt) && has_lost(j)) /* nobody comes in its place */
        return false;
    struct note *note;
    switch (
        restart_decide(&j->restart, j->opt, j->generation, &v->end, v->after_ms, delay_ms)) {
    case RESTART_YES:
        return true;
    case RESTART_SPENT:
        return false;
    case RESTART_CODE:
        if (v->end.kind == END_EXEC)
            return false;
        note = note_add(fx, v->end.code == RESTART_NEVER_CODE ? NOTE_NO_RESTART_CODE
                                                              : NOTE_NO_RESTART_LISTED);
        note->rank = v->rank;
        note->number = v->end.code;
        return false;
    case RESTART_CRASHES:
        note = note_add(fx, NOTE_CRASH_LOOP);
        note->rank = v->rank;
        note->number = j->restart.ncrashes;
        return false;
    }
    return false;
}

/* The next generation has other nodes: places are free, because nodes were lost or never all
 * came. A fixed number of nodes waits for another one in a lost one's place; one that may
 * change goes on with those that are left, if they are enough. */
static void change_nodes(struct job *j, uint64_t now_ms, struct effects *fx)
{
    members_reopen(&j->nodes);
    job_spare_take(j, now_ms);
    for (uint32_t i = 0; i < j->nodes.n; i++)
        if (j->nodes.list[i].status != MEMBER_AWAITED)
            j->nodes.list[i].status = MEMBER_JOINED;
    j->must_plan = true;
    j->nreaped = 0;
    if (j->nodes.njoined >= j->opt->nnodes_min) {
        members_close(&j->nodes);
        job_move(j, JOB_START);
        return;
    }
    job_move(j, JOB_JOIN);
    j->join_limit_ms = now_ms + j->opt->join_timeout_ms;
    j->last_call_ms = UINT64_MAX;
    j->state_deadline_ms = now_ms + JOB_JOIN_NOTE_MS;
    note_add(fx, NOTE_NODE_AWAITED)->number = j->nodes.n - j->nodes.njoined;
}

void job_ending_restart(struct job *j, uint64_t now_ms, struct effects *fx)
{
    j->generation++;
    j->has_orders = false;
    if (has_lost(j) || (j->spares.n && j->nodes.n < j->nodes.capacity))
        change_nodes(j, now_ms, fx);
    else
        job_move(j, JOB_START);
    struct note *note = note_add(fx, NOTE_GENERATION);
    note->number = j->generation + 1;
    note->rank = j->opt->max_restarts + 1;
    effects_add(fx, FX_STORE_RESET)->u.store_reset.generation = j->generation;
}

static void wait_to_restart(struct job *j, uint64_t delay_ms, uint64_t now_ms,
                            struct effects *fx)
{
    job_move(j, JOB_PAUSE);
    j->state_deadline_ms = now_ms + delay_ms;
    note_add(fx, NOTE_RESTART_WAIT)->number = (int64_t)delay_ms;
}

void job_ending_finish(struct job *j, struct effects *fx)
{
    bool is_gate_closed =
        j->state == JOB_STOP || j->state == JOB_PAUSE || j->state == JOB_FLUSH;
    if (!is_gate_closed)
        effects_add(fx, FX_STORE_GATE);
    if (j->is_blocked && !j->is_user_end) {
        job_move(j, JOB_FLUSH);
        return;
    }
    job_move(j, JOB_DONE);
    for (uint32_t i = 0; i < j->nodes.n; i++)
        if (j->nodes.list[i].link != LINK_NONE && j->nodes.list[i].status != MEMBER_LOST)
            job_send(j, fx, &j->nodes.list[i], FRAME_BYE)->u.bye.status =
                verdict_exit_status(&j->verdict);
    job_spare_send_home(j, fx);
    effects_add(fx, FX_DONE);
}

static void finish_generation(struct job *j, uint64_t now_ms, struct effects *fx)
{
    j->gone_after_ms = j->stop_signo ? now_ms - j->stop_at_ms : 0;
    uint64_t delay_ms;
    if (!may_restart(j, &delay_ms, fx)) {
        job_ending_finish(j, fx);
        return;
    }
    verdict_fini(&j->verdict); /* what ends the job now is another thing */
    if (delay_ms)
        wait_to_restart(j, delay_ms, now_ms, fx);
    else
        job_ending_restart(j, now_ms, fx);
}

void job_ending_give_up_output(struct job *j, struct effects *fx)
{
    note_add(fx, NOTE_OUTPUT_LOST);
    job_ending_finish(j, fx);
}

void job_ending_node_over(struct job *j, struct member *n, enum member_status status,
                          uint64_t now_ms, struct effects *fx)
{
    if (n->status == MEMBER_REAPED || n->status == MEMBER_LOST)
        return;
    n->status = status;
    j->nreaped++;
    survey_told(&j->survey, members_rank(&j->nodes, n), NULL);
    job_sample_left(j, n, now_ms);
    job_look_check(j, now_ms, fx);
    if (j->nreaped < j->nodes.n) {
        job_mpi_leave(j, n, now_ms, fx);
        return;
    }
    if (j->state == JOB_LOOK) /* nobody is left to be looked at */
        job_ending_stop(j, SIGTERM, now_ms, fx);
    else if (j->state == JOB_RUN || j->state == JOB_STOP)
        finish_generation(j, now_ms, fx);
}
