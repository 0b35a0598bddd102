#include "launcher/core/job_look.h"

#include <signal.h>

#include "base/mem.h"
#include "launcher/core/job_ending.h"
#include "launcher/core/note.h"

static void survey_ask(struct job *j, bool may_abort, uint64_t now_ms, struct effects *fx)
{
    survey_begin(&j->survey, may_abort, now_ms);
    for (uint32_t i = 0; i < j->nodes.n; i++) {
        if (j->nodes.list[i].status != MEMBER_RUNNING)
            continue;
        survey_await(&j->survey, i);
        job_send(j, fx, &j->nodes.list[i], FRAME_STACKS)->u.stacks.may_abort = may_abort;
    }
    job_look_check(j, now_ms, fx);
}

/* A survey that is under way (SIGQUIT) is as good as a new one. */
void job_look_begin(struct job *j, uint64_t now_ms, struct effects *fx)
{
    job_move(j, JOB_LOOK);
    if (!j->survey.is_running)
        survey_ask(j, false, now_ms, fx);
}

static bool is_unexplained(const struct job *j)
{
    return (j->verdict.kind == VERDICT_HANG || j->verdict.kind == VERDICT_TIME_LIMIT)
           && !j->verdict.differs;
}

/* What the survey has found goes into the verdict of a job that ends by it, else it is said. */
static void survey_conclude(struct job *j, struct effects *fx)
{
    struct maybe_u64 rank;
    buf_reset(&j->line);
    stack_compare(j->survey.ranks, j->survey.nranks, &rank, &j->line);
    if (is_unexplained(j)) {
        j->verdict.differs = j->line.len ? mem_strdup(buf_str(&j->line)) : NULL;
        j->verdict.odd_rank = rank;
        j->verdict.stacks = mem_strdup(j->survey.file);
    } else if (j->line.len) {
        note_add(fx, NOTE_SEEN)->text = buf_str(&j->line);
    }
}

void job_look_check(struct job *j, uint64_t now_ms, struct effects *fx)
{
    if (!survey_is_over(&j->survey, now_ms))
        return;
    if (j->state == JOB_LOOK && !j->survey.may_abort) {
        survey_ask(j, true, now_ms, fx);
        return;
    }
    survey_conclude(j, fx);
    if (j->state == JOB_LOOK)
        job_ending_stop(j, SIGTERM, now_ms, fx);
}

void job_look_quit(struct job *j, uint64_t now_ms, struct effects *fx)
{
    if (j->state != JOB_RUN && j->state != JOB_STOP) {
        if (j->state != JOB_LOOK)
            note_add(fx, NOTE_NOTHING_RUNS);
        return;
    }
    if (!j->survey.is_running)
        survey_ask(j, false, now_ms, fx);
}

/* ---- hangs ---- */

static bool are_all_silent(const struct job *j)
{
    for (uint32_t i = 0; i < j->nodes.n; i++)
        if (j->nodes.list[i].status == MEMBER_RUNNING && !j->nodes.list[i].is_silent)
            return false;
    return true;
}

void job_look_hung(struct job *j, struct member *n, const struct hang *hang, uint64_t now_ms,
                   struct effects *fx)
{
    struct job_rank *rank = job_find_rank(j, n, hang->local_rank);
    if (hang->kind != HANG_HEARTBEAT)
        n->is_silent = hang->kind == HANG_SILENCE;
    if (j->state != JOB_RUN || j->verdict.kind != VERDICT_OK || hang->kind == HANG_NONE
        || (hang->kind == HANG_SILENCE && !are_all_silent(j))
        || (hang->kind == HANG_HEARTBEAT && (!rank || rank->has_ended)))
        return;
    j->verdict.kind = VERDICT_HANG;
    j->verdict.hang = hang->kind;
    j->verdict.quiet_ms = hang->quiet_ms;
    j->verdict.after_ms = now_ms - j->generation_at_ms;
    if (hang->kind == HANG_HEARTBEAT) {
        j->verdict.rank = n->order.first_rank + hang->local_rank;
        j->verdict.local_rank = hang->local_rank;
        j->verdict.node = members_rank(&j->nodes, n);
        j->verdict.pid = rank->pid;
        j->verdict.host = mem_strdup(n->host);
    }
    job_look_begin(j, now_ms, fx);
}
