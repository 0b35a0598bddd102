#include "launcher/core/job.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "launcher/core/job_ending.h"
#include "launcher/core/job_join.h"
#include "launcher/core/job_leave.h"
#include "launcher/core/job_look.h"
#include "launcher/core/job_mpi.h"
#include "launcher/core/job_refuse.h"
#include "launcher/core/job_sample.h"
#include "launcher/core/job_signal.h"
#include "launcher/core/job_spare.h"
#include "launcher/core/job_state.h"
#include "launcher/core/note.h"

/*         all HELLO           all READY
 *   JOIN -----------> START -----------> RUN ---.
 *    |                  |                 |     | a hang, the time limit
 *    |                  |                 |     '---> LOOK
 *    | refused, lost,   | refused, lost,  | a failure,  | all have told their stacks
 *    | a signal         | a signal        | a signal    |
 *    '------------------'--------.--------'-------------'
 *                                v
 *                              STOP
 *                                | every node REAPED or lost
 *              .-----------------'-----------------.
 *              | a restart is left                 | none is left
 *              v                                   v
 *   (PAUSE ->) START, or JOIN              (FLUSH ->) DONE
 *
 * JOIN, after a lost node: another one is awaited in its
 * place, unless a spare can take it. Who comes after JOIN is a spare.
 * PAUSE: the wait before a restart; a signal, a limit or a lost node in it leads to DONE.
 * FLUSH: what other nodes' workers have printed waits for a reader.
 * Without a STOP end RUN, when all are REAPED and nothing failed, and the START of a plan only.
 */
#define TO(state) (1u << JOB_##state)
static const unsigned allowed[] = {
    [JOB_JOIN] = TO(START) | TO(STOP),
    [JOB_START] = TO(RUN) | TO(STOP) | TO(FLUSH) | TO(DONE),
    [JOB_RUN] = TO(LOOK) | TO(STOP) | TO(FLUSH) | TO(DONE),
    [JOB_LOOK] = TO(STOP),
    [JOB_STOP] = TO(JOIN) | TO(START) | TO(PAUSE) | TO(FLUSH) | TO(DONE),
    [JOB_PAUSE] = TO(JOIN) | TO(START) | TO(FLUSH) | TO(DONE),
    [JOB_FLUSH] = TO(DONE),
    [JOB_DONE] = 0,
};
static_assert(sizeof allowed / sizeof allowed[0] == JOB_STATE_COUNT, "one row a state");

enum { ASLEEP_MS = 2000 }; /* a tick this late: we did not run, and news is still waiting */

void job_move(struct job *j, enum job_state next)
{
    assert(allowed[j->state] & 1u << next);
    j->state = next;
    j->state_deadline_ms = UINT64_MAX;
}

struct job *job_new(const struct options *opt, uint32_t nnodes, uint64_t beat_ms)
{
    struct job *j = mem_alloc(1, sizeof *j);
    j->opt = opt;
    members_init(&j->nodes, nnodes);
    j->last_call_ms = UINT64_MAX;
    j->beat_ms = beat_ms;
    j->next_beat_check_ms = j->time_limit_at_ms = j->state_deadline_ms = UINT64_MAX;
    j->join_limit_ms = j->survey.deadline_ms = j->deaf_limit_ms = UINT64_MAX;
    j->samples.deadline_ms = UINT64_MAX;
    notice_parse(opt->preempt_signal, &j->notice);
    j->mpi.gather = mpi_gather_new();
    buf_init(&j->line, 0);
    return j;
}

void job_free(struct job *j)
{
    if (!j)
        return;
    members_fini(&j->nodes);
    spares_fini(&j->spares);
    start_faults_fini(&j->refusals);
    awaited_fini(&j->awaited);
    job_forget_ranks(j);
    free(j->addr);
    survey_fini(&j->survey);
    samples_fini(&j->samples);
    free(j->starts);
    mpi_gather_free(j->mpi.gather);
    free(j->mpi.nodes);
    buf_fini(&j->line);
    verdict_fini(&j->verdict);
    free(j);
}

void job_forget_ranks(struct job *j)
{
    for (uint32_t i = 0; i < j->nranks; i++)
        free(j->ranks[i].host);
    free(j->ranks);
    j->ranks = NULL;
    j->nranks = 0;
}

uint64_t job_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t job_deadline(const struct job *j)
{
    if (j->state == JOB_DONE)
        return UINT64_MAX;
    uint64_t due_ms =
        job_least(job_least(j->next_beat_check_ms, j->time_limit_at_ms), j->deaf_limit_ms);
    due_ms = job_least(due_ms, start_faults_due_ms(&j->refusals));
    due_ms = job_least(due_ms, j->samples.deadline_ms);
    return job_least(job_least(due_ms, j->state_deadline_ms), j->survey.deadline_ms);
}

bool job_done(const struct job *j)
{
    return j->state == JOB_DONE;
}

const struct verdict *job_verdict(const struct job *j)
{
    return &j->verdict;
}

const struct seen *job_seen(const struct job *j)
{
    return j->survey.ranks;
}

const struct job_rank *job_ranks(const struct job *j, uint32_t *n)
{
    *n = j->nranks;
    return j->ranks;
}

const struct job_rank *job_rank_behind(const struct job *j, uint32_t link, uint32_t local_rank,
                                       uint32_t *rank)
{
    const struct member *n = members_find(&j->nodes, link);
    if (!n || !j->ranks || local_rank >= n->order.nworkers)
        return NULL;
    *rank = n->order.first_rank + local_rank;
    return &j->ranks[*rank];
}

uint32_t job_generation(const struct job *j)
{
    return j->generation;
}

bool job_has_node_at(const struct job *j, const char *host)
{
    return members_has_reach(&j->nodes, host);
}

int job_stop_signal(const struct job *j, uint64_t *gone_after_ms)
{
    *gone_after_ms = j->gone_after_ms;
    return j->stop_signo;
}

struct frame *job_send_link(struct job *j, struct effects *fx, uint32_t link,
                            enum frame_type type)
{
    struct effect *effect = effects_add(fx, FX_SEND);
    effect->u.send.node = link;
    effect->u.send.frame.type = type;
    effect->u.send.frame.generation = j->generation;
    return &effect->u.send.frame;
}

struct frame *job_send(struct job *j, struct effects *fx, const struct member *n,
                       enum frame_type type)
{
    return job_send_link(j, fx, n->link, type);
}

struct job_rank *job_find_rank(struct job *j, const struct member *n, uint32_t local_rank)
{
    const struct order *o = &n->order;
    return local_rank < o->nworkers ? &j->ranks[o->first_rank + local_rank] : NULL;
}

/* ---- workers ---- */

static void blame(struct job *j, const struct member *n, const struct frame *frame,
                  uint64_t now_ms)
{
    j->verdict = (struct verdict){
        .kind = VERDICT_WORKER,
        .rank = n->order.first_rank + frame->u.exited.local_rank,
        .local_rank = frame->u.exited.local_rank,
        .node = members_rank(&j->nodes, n),
        .pid = frame->u.exited.pid,
        .end = frame->u.exited.end,
        .after_ms = now_ms - j->generation_at_ms,
        .host = mem_strdup(n->host),
        .gpu = mem_strdup(frame->u.exited.gpu),
        .tail = mem_strdup(frame->u.exited.evidence.tail),
        .error = mem_strdup(frame->u.exited.evidence.error),
        .cause = mem_strdup(frame->u.exited.evidence.cause),
    };
}

static void on_exited(struct job *j, const struct member *n, const struct frame *frame,
                      uint64_t now_ms, struct effects *fx)
{
    struct job_rank *rank = job_find_rank(j, n, frame->u.exited.local_rank);
    if (!rank || rank->has_ended)
        return;
    rank->has_ended = true;
    rank->was_stopped = j->state == JOB_STOP || j->state == JOB_LOOK;
    rank->end = frame->u.exited.end;
    rank->after_ms = now_ms - j->generation_at_ms;
    j->nalive -= rank->pid != 0;
    if (j->state != JOB_RUN || !worker_end_is_failure(&rank->end))
        return;
    if (j->verdict.kind == VERDICT_OK)
        blame(j, n, frame, now_ms);
    job_ending_stop(j, SIGTERM, now_ms, fx);
}

static void on_started(struct job *j, const struct member *n, const struct frame *frame)
{
    struct job_rank *rank = job_find_rank(j, n, frame->u.started.local_rank);
    if (!rank || rank->has_ended || rank->pid)
        return;
    rank->pid = frame->u.started.pid;
    j->nalive++;
    job_sample_started(j, n->order.first_rank + frame->u.started.local_rank);
}

/* ---- frames and events ---- */

static void on_frame(struct job *j, uint32_t link, const struct frame *frame, uint64_t now_ms,
                     struct effects *fx)
{
    struct member *n = members_find(&j->nodes, link);
    if (frame->type == FRAME_HELLO) {
        job_join_hello(j, link, frame, now_ms, fx);
        return;
    }
    if (frame->type == FRAME_REFUSED) {
        job_refuse_take(j, link, frame, now_ms, fx);
        return;
    }
    struct spare *spare = n ? NULL : spares_find(&j->spares, link);
    if (spare)
        job_spare_frame(j, spare, frame, now_ms, fx);
    if (!n || n->status == MEMBER_LOST)
        return;
    n->last_heard_ms = now_ms;
    bool is_current = frame->generation == j->generation;
    switch (frame->type) {
    case FRAME_READY:
        if (is_current)
            job_join_ready(j, n, frame->u.ready.mpi, now_ms, fx);
        return;
    case FRAME_STARTED:
        if (is_current)
            on_started(j, n, frame);
        return;
    case FRAME_EXITED:
        if (is_current)
            on_exited(j, n, frame, now_ms, fx);
        return;
    case FRAME_REAPED:
        if (is_current)
            job_ending_node_over(j, n, MEMBER_REAPED, now_ms, fx);
        return;
    case FRAME_INTERRUPT:
        job_signal_take(j, frame->u.signal.signo, now_ms, fx);
        return;
    case FRAME_HUNG:
        if (is_current)
            job_look_hung(j, n, &frame->u.hung, now_ms, fx);
        return;
    case FRAME_STACK:
        if (is_current && frame->u.stack.local_rank < n->order.nworkers)
            survey_take(&j->survey, n->order.first_rank + frame->u.stack.local_rank,
                        &frame->u.stack.facts);
        return;
    case FRAME_STACKED:
        if (is_current) {
            survey_told(&j->survey, members_rank(&j->nodes, n), frame->u.stacked.file);
            job_look_check(j, now_ms, fx);
        }
        return;
    case FRAME_SAMPLED:
        if (is_current)
            job_sample_take(j, n, frame->u.sampled.text, now_ms);
        return;
    case FRAME_GATHER:
        if (is_current)
            job_mpi_gather(j, n, &frame->u.gather, now_ms, fx);
        return;
    case FRAME_BEAT:
    case FRAME_HELLO:
    case FRAME_REFUSED:
        return; /* answered above */
    case FRAME_STACKS:
    case FRAME_SAMPLE:
    case FRAME_PLAN:
    case FRAME_START:
    case FRAME_SIGNAL:
    case FRAME_STOP:
    case FRAME_BYE:
    case FRAME_GATHERED:
    case FRAME_WANTED:
    case FRAME_TYPE_COUNT:
        return; /* these go down */
    }
}

static void on_boot(struct job *j, const struct event *ev)
{
    j->addr = mem_strdup(ev->u.boot.addr);
    j->port = ev->u.boot.port;
    j->generation_at_ms = ev->now_ms;
    j->state_deadline_ms = ev->now_ms + JOB_JOIN_FIRST_MS;
    j->join_limit_ms = ev->now_ms + j->opt->join_timeout_ms;
    if (j->opt->timeout_ms)
        j->time_limit_at_ms = ev->now_ms + j->opt->timeout_ms;
    if (j->beat_ms)
        j->next_beat_check_ms = ev->now_ms + j->beat_ms;
}

static void on_state_deadline(struct job *j, uint64_t now_ms, struct effects *fx)
{
    j->state_deadline_ms = UINT64_MAX;
    if (j->state == JOB_JOIN) {
        job_join_deadline(j, now_ms, fx);
        return;
    }
    if (j->state == JOB_PAUSE)
        job_ending_restart(j, now_ms, fx);
    if (j->state != JOB_STOP)
        return;
    struct err e;
    err_set(&e, ERR_NODE_LOST, "did not say that its workers are gone");
    for (uint32_t i = 0; i < j->nodes.n && j->state == JOB_STOP; i++)
        if (j->nodes.list[i].status != MEMBER_REAPED)
            job_leave_lose(j, &j->nodes.list[i], &e, now_ms, fx);
}

static void hear_from_now(struct job *j, uint64_t now_ms)
{
    for (uint32_t i = 0; i < j->nodes.n; i++)
        j->nodes.list[i].last_heard_ms = now_ms;
    spares_hear_all(&j->spares, now_ms);
}

/* We did not run for a while (suspended, a frozen machine): nobody is judged by what they could
 * not tell us meanwhile. */
static void after_sleep(struct job *j, uint64_t now_ms)
{
    hear_from_now(j, now_ms);
    if (j->state == JOB_STOP && now_ms >= j->state_deadline_ms)
        j->state_deadline_ms = now_ms + JOB_STOP_SLACK_MS;
}

static void on_time_limit(struct job *j, uint64_t now_ms, struct effects *fx)
{
    j->time_limit_at_ms = UINT64_MAX;
    j->is_user_end = true;
    if (j->state == JOB_FLUSH)
        job_ending_give_up_output(j, fx);
    else if (j->state == JOB_STOP)
        job_ending_send_stop(j, fx, SIGTERM, j->opt->grace_ms, now_ms);
    else if (j->state == JOB_RUN && j->verdict.kind == VERDICT_OK) {
        j->verdict.kind = VERDICT_TIME_LIMIT;
        j->verdict.after_ms = now_ms - j->generation_at_ms;
        job_look_begin(j, now_ms, fx);
    } else if (j->state != JOB_LOOK) {
        job_ending_with(j, VERDICT_TIME_LIMIT, 0, NULL, now_ms, fx);
    }
}

/* The links are not read, or are read again: what waits in them is news of long ago. */
static void on_paused(struct job *j, bool is_paused, uint64_t now_ms)
{
    j->is_deaf = is_paused;
    j->deaf_limit_ms = UINT64_MAX;
    hear_from_now(j, now_ms);
    job_ending_limit_deafness(j, JOB_DEAF_MS, now_ms);
}

static void on_tick(struct job *j, uint64_t now_ms, struct effects *fx)
{
    uint64_t due_ms = job_deadline(j);
    if (now_ms < due_ms)
        return;
    if (now_ms - due_ms > ASLEEP_MS)
        after_sleep(j, now_ms);
    if (now_ms >= j->next_beat_check_ms)
        job_leave_check_beats(j, now_ms, fx);
    job_refuse_check(j, now_ms, fx);
    if (now_ms >= j->time_limit_at_ms)
        on_time_limit(j, now_ms, fx);
    if (now_ms >= j->deaf_limit_ms)
        job_ending_drop_output(j, fx);
    if (now_ms >= j->state_deadline_ms)
        on_state_deadline(j, now_ms, fx);
    job_look_check(j, now_ms, fx);
    job_sample_check(j, now_ms);
}

static void on_flowing(struct job *j, bool is_blocked, struct effects *fx)
{
    j->is_blocked = is_blocked;
    if (!is_blocked && j->state == JOB_FLUSH)
        job_ending_finish(j, fx);
}

void job_step(struct job *j, const struct event *ev, struct effects *out)
{
    mpi_gather_settle(j->mpi.gather);
    if (j->state == JOB_DONE)
        return;
    switch (ev->type) {
    case EV_BOOT:
        on_boot(j, ev);
        return;
    case EV_TICK:
        on_tick(j, ev->now_ms, out);
        return;
    case EV_FRAME:
        on_frame(j, ev->u.frame.node, &ev->u.frame.frame, ev->now_ms, out);
        return;
    case EV_SIGNAL:
        job_signal_take(j, ev->u.signal.signo, ev->now_ms, out);
        if (ev->u.signal.is_at_once)
            job_signal_at_once(j, ev->now_ms, out);
        return;
    case EV_SAMPLE:
        job_sample_ask(j, ev->now_ms, out);
        return;
    case EV_STORE_READY:
        job_join_store_ready(j, ev->u.store_ready.generation, ev->now_ms, out);
        return;
    case EV_NODE_LOST:
        job_leave_link(j, ev->u.node_lost.node, ev->u.node_lost.err, ev->now_ms, out);
        if (ev->u.node_lost.place.is_known)
            job_leave_place(j, ev->u.node_lost.place.value, ev->u.node_lost.err, ev->now_ms,
                            out);
        return;
    case EV_NODE_FAILED:
        if (job_refuse_is_pending(j)) /* which came first, and will be the verdict */
            note_add(out, NOTE_ALSO_REFUSED)->text = ev->u.node_failed.err->text;
        if (ev->u.node_failed.node < j->nodes.n)
            job_leave_lose(j, &j->nodes.list[ev->u.node_failed.node], ev->u.node_failed.err,
                           ev->now_ms, out);
        return;
    case EV_NODE_STATE:
        awaited_set(&j->awaited, j->nodes.n, ev->u.node_state.node, ev->u.node_state.host,
                    ev->u.node_state.state);
        return;
    case EV_OUTPUT_BLOCKED:
    case EV_OUTPUT_FLOWING:
        on_flowing(j, ev->type == EV_OUTPUT_BLOCKED, out);
        return;
    case EV_LINKS_PAUSED:
    case EV_LINKS_RESUMED:
        on_paused(j, ev->type == EV_LINKS_PAUSED, ev->now_ms);
        return;
    case EV_LINK_LOST:
    case EV_PREPARED:
    case EV_PREPARE_FAILED:
    case EV_SPAWNED:
    case EV_SPAWN_FAILED:
    case EV_EXITED:
    case EV_STREAMS_ENDED:
    case EV_SWEPT:
    case EV_NOTIFY:
    case EV_LOOKED:
    case EV_STACK:
    case EV_STACKED:
    case EV_SAMPLED:
    case EV_GATHER:
    case EV_ABORTED:
    case EVENT_TYPE_COUNT:
        return; /* a node's */
    }
}
