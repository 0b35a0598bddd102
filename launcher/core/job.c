#include "launcher/core/job.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "launcher/core/members.h"
#include "launcher/core/note.h"
#include "launcher/core/notice.h"
#include "launcher/core/plan.h"
#include "launcher/core/restart.h"
#include "launcher/core/spares.h"
#include "launcher/core/survey.h"

/*            all HELLO           all READY            a failure, a signal
 *   JOIN ---------------> START -----------> RUN ---------------------------> STOP ---> DONE
 *     |                   ^  |'----- a plan only: all READY ----------------------------^
 *     |                   ^  |                |   all REAPED, nothing failed     |       ^
 *     | refused           |  | refused        '----------------------------------|-------|
 *     '-------------------|--'------------------------------------------------>  |       |
 *                         |                 LOOK: a hang, the time limit; all nodes  |    |
 *                         |                 have told their stacks ----------------> |    |
 *                         '-------------- a restart is left ---------------------|       |
 *                         '-------------- its wait is over ---- PAUSE <----------'       |
 *                                                 every node REAPED or lost, no restart -|
 *                                                  PAUSE: a signal, a limit, a lost node -'
 * After a lost node STOP and PAUSE may lead back to JOIN: another one is awaited in its place,
 * unless a spare can take it. Who comes after JOIN is a spare.
 * FLUSH, before DONE: what other nodes' workers have printed waits for a reader.
 */
enum job_state {
    JOB_JOIN,
    JOB_START,
    JOB_RUN,
    JOB_LOOK,
    JOB_STOP,
    JOB_PAUSE,
    JOB_FLUSH,
    JOB_DONE,
    JOB_STATE_COUNT
};

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

enum {
    JOIN_NOTE_MS = 10000,  /* say who is awaited */
    STOP_SLACK_MS = 20000, /* beyond the grace, until a user who wants out gets out */
    DEAF_MS = 4000,        /* output that nobody reads is lost this long after a user's stop */
    ASLEEP_MS = 2000,      /* a tick this late: we did not run, and news is still waiting */
    SIGNAL_INT = 2,        /* Linux */
    SIGNAL_QUIT = 3,
    SIGNAL_USR1 = 10,
    SIGNAL_USR2 = 12,
    SIGNAL_PIPE = 13,
    SIGNAL_TERM = 15,
    SIGNAL_CONT = 18,
    SIGNAL_STOP = 19,
    SIGNAL_TSTP = 20,
};

struct job {
    const struct options *opt;
    enum job_state state;
    uint32_t generation;
    struct members nodes;
    struct spares spares;
    uint32_t nready, nreaped; /* reaped: also lost */
    struct job_rank *ranks;
    uint32_t nranks, nalive;
    char *addr;
    uint16_t port;
    uint64_t beat_ms, next_beat_check_ms, time_limit_at_ms, state_deadline_ms, join_limit_ms;
    uint64_t last_call_ms; /* when those that have joined are enough; UINT64_MAX = not yet */
    bool must_plan;        /* before the next generation: its nodes are not those of the last */
    uint64_t generation_at_ms, stop_at_ms, gone_after_ms;
    int stop_signo;   /* what the workers were sent */
    int ninterrupts;  /* SIGINT so far */
    bool is_blocked;  /* what other nodes' workers print waits for a reader */
    bool is_deaf;     /* so much of it that nothing is read from nodes for now */
    bool has_dropped; /* some was lost because the user wanted out */
    uint64_t deaf_limit_ms;
    bool is_user_end;     /* a signal or a time limit: no restart */
    struct notice notice; /* of --preempt-signal */
    struct survey survey;
    struct buf line; /* what the survey has found, referenced by notes */
    struct restart restart;
    struct verdict verdict;
    struct err sent_away; /* why a node was, referenced by its frame */
};

static void move(struct job *j, enum job_state next)
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
    notice_parse(opt->preempt_signal, &j->notice);
    buf_init(&j->line, 0);
    return j;
}

void job_free(struct job *j)
{
    if (!j)
        return;
    members_fini(&j->nodes);
    spares_fini(&j->spares);
    free(j->ranks);
    free(j->addr);
    survey_fini(&j->survey);
    buf_fini(&j->line);
    verdict_fini(&j->verdict);
    free(j);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t job_deadline(const struct job *j)
{
    if (j->state == JOB_DONE)
        return UINT64_MAX;
    uint64_t due_ms =
        least(least(j->next_beat_check_ms, j->time_limit_at_ms), j->deaf_limit_ms);
    return least(least(due_ms, j->state_deadline_ms), j->survey.deadline_ms);
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

uint32_t job_generation(const struct job *j)
{
    return j->generation;
}

int job_stop_signal(const struct job *j, uint64_t *gone_after_ms)
{
    *gone_after_ms = j->gone_after_ms;
    return j->stop_signo;
}

static struct frame *send_link(struct job *j, struct effects *fx, uint32_t link,
                               enum frame_type type)
{
    struct effect *effect = effects_add(fx, FX_SEND);
    effect->u.send.node = link;
    effect->u.send.frame.type = type;
    effect->u.send.frame.generation = j->generation;
    return &effect->u.send.frame;
}

static struct frame *send(struct job *j, struct effects *fx, const struct member *n,
                          enum frame_type type)
{
    return send_link(j, fx, n->link, type);
}

/* ---- stopping ---- */

/* Workers get notice of the end where muster was asked for it politely. */
static struct notice notice_of(const struct job *j, int signo, uint64_t grace_ms)
{
    bool is_asked = j->verdict.kind == VERDICT_SIGNAL && j->verdict.signo == SIGNAL_TERM
                    && signo == SIGNAL_TERM && grace_ms;
    return is_asked ? j->notice : (struct notice){0};
}

/* A node whose link is not read cannot say that its workers are gone. When the user wants out,
 * that comes before the output that stands in the way. */
static void limit_deafness(struct job *j, uint64_t wait_ms, uint64_t now_ms)
{
    if (j->is_deaf && j->is_user_end && j->state == JOB_STOP)
        j->deaf_limit_ms = least(j->deaf_limit_ms, now_ms + (j->has_dropped ? 0 : wait_ms));
}

/* Who is alive and waits for a reader of its output is waited for, unless the user wants out:
 * only then there is a deadline. A node that went silent is found by its beats. */
static void send_stop(struct job *j, struct effects *fx, int signo, uint64_t grace_ms,
                      uint64_t now_ms)
{
    struct notice notice = notice_of(j, signo, grace_ms);
    if (j->is_user_end)
        j->state_deadline_ms = now_ms + notice.ms + grace_ms + STOP_SLACK_MS;
    limit_deafness(j, grace_ms ? DEAF_MS : 0, now_ms);
    for (uint32_t i = 0; i < j->nodes.n; i++) {
        const struct member *n = &j->nodes.list[i];
        if (n->status == MEMBER_AWAITED || n->status == MEMBER_REAPED
            || n->status == MEMBER_LOST)
            continue;
        struct frame *frame = send(j, fx, n, FRAME_STOP);
        frame->u.stop.signo = signo;
        frame->u.stop.grace_ms = grace_ms;
        frame->u.stop.notice = notice;
        frame->u.stop.is_final = j->is_user_end;
    }
}

static void finish_generation(struct job *j, uint64_t now_ms, struct effects *fx);
static void finish(struct job *j, struct effects *fx);

static void stop(struct job *j, int signo, uint64_t now_ms, struct effects *fx)
{
    j->stop_signo =
        j->state == JOB_LOOK && !j->nalive ? 0 : signo; /* nobody is left to get it */
    bool is_before = j->state == JOB_JOIN;              /* nobody runs anything */
    move(j, JOB_STOP);
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
        send_stop(j, fx, signo, j->opt->grace_ms, now_ms);
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

/* What workers get when muster got signo; its SIGPIPE is not theirs. */
static int stop_signal(int signo)
{
    return signo == SIGNAL_PIPE ? SIGNAL_TERM : signo;
}

/* A reason to end that is no worker's: recorded unless something came first. */
static void end_with(struct job *j, enum verdict_kind kind, int signo, const struct err *err,
                     uint64_t now_ms, struct effects *fx)
{
    if (j->verdict.kind == VERDICT_OK) {
        j->verdict.kind = kind;
        j->verdict.signo = signo;
        j->verdict.after_ms = now_ms - j->generation_at_ms;
        if (err)
            j->verdict.err = *err;
    }
    if (j->state == JOB_JOIN || j->state == JOB_START || j->state == JOB_RUN
        || j->state == JOB_LOOK)
        stop(j, kind == VERDICT_SIGNAL ? stop_signal(signo) : SIGNAL_TERM, now_ms, fx);
    else if (j->state == JOB_PAUSE) /* nobody runs */
        finish(j, fx);
}

/* ---- looking at ranks ---- */

static void survey_check(struct job *j, uint64_t now_ms, struct effects *fx);

static void survey_ask(struct job *j, bool may_abort, uint64_t now_ms, struct effects *fx)
{
    survey_begin(&j->survey, may_abort, now_ms);
    for (uint32_t i = 0; i < j->nodes.n; i++) {
        if (j->nodes.list[i].status != MEMBER_RUNNING)
            continue;
        survey_await(&j->survey, i);
        send(j, fx, &j->nodes.list[i], FRAME_STACKS)->u.stacks.may_abort = may_abort;
    }
    survey_check(j, now_ms, fx);
}

/* The job is about to end by a limit of the user's: before anything is killed, all ranks are
 * looked at. A survey that is under way (SIGQUIT) is as good. */
static void look(struct job *j, uint64_t now_ms, struct effects *fx)
{
    move(j, JOB_LOOK);
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

static void survey_check(struct job *j, uint64_t now_ms, struct effects *fx)
{
    if (!survey_is_over(&j->survey, now_ms))
        return;
    if (j->state == JOB_LOOK && !j->survey.may_abort) {
        survey_ask(j, true, now_ms, fx);
        return;
    }
    survey_conclude(j, fx);
    if (j->state == JOB_LOOK)
        stop(j, SIGNAL_TERM, now_ms, fx);
}

static void on_quit(struct job *j, uint64_t now_ms, struct effects *fx)
{
    if (j->state != JOB_RUN && j->state != JOB_STOP) {
        if (j->state != JOB_LOOK)
            note_add(fx, NOTE_NOTHING_RUNS);
        return;
    }
    if (!j->survey.is_running)
        survey_ask(j, false, now_ms, fx);
}

/* ---- starting ---- */

static void name_ranks(struct job *j, uint32_t node)
{
    const struct member *n = &j->nodes.list[node];
    for (uint32_t i = 0; i < n->order.nworkers; i++) {
        j->ranks[n->order.first_rank + i].local_rank = i;
        j->ranks[n->order.first_rank + i].node = node;
        j->ranks[n->order.first_rank + i].host = n->host;
    }
}

static void start_generation(struct job *j, struct effects *fx)
{
    j->nready = j->nreaped = j->nalive = 0;
    j->stop_signo = 0;
    free(j->ranks);
    j->ranks = mem_alloc(j->nranks, sizeof *j->ranks);
    survey_reset(&j->survey, j->nodes.n, j->nranks);
    for (uint32_t i = 0; i < j->nodes.n; i++) {
        struct member *n = &j->nodes.list[i];
        name_ranks(j, i);
        n->is_silent = false;
        n->status = MEMBER_JOINED;
        n->order.generation = j->generation;
        send(j, fx, n, FRAME_PLAN)->u.plan.order = &n->order;
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
    j->nranks = rc == 0 ? orders[0].world_size : 0;
    free(orders);
    if (rc < 0)
        end_with(j, VERDICT_ERROR, 0, &e, now_ms, fx);
    return rc;
}

/* All have joined. */
static void plan(struct job *j, uint64_t now_ms, struct effects *fx)
{
    if (give_orders(j, now_ms, fx) < 0)
        return;
    move(j, JOB_START);
    start_generation(j, fx);
}

static void run(struct job *j, uint64_t now_ms, struct effects *fx)
{
    move(j, JOB_RUN);
    j->generation_at_ms = now_ms;
    for (uint32_t i = 0; i < j->nodes.n; i++) {
        j->nodes.list[i].status = MEMBER_RUNNING;
        send(j, fx, &j->nodes.list[i], FRAME_START);
    }
}

/* ---- the end of a generation ---- */

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

/* Spares take the places that are free. */
static void take_spares(struct job *j, uint64_t now_ms)
{
    for (size_t i = 0; i < j->spares.n && !members_complete(&j->nodes);) {
        struct spare *spare = &j->spares.list[i];
        struct err e;
        if (members_join(&j->nodes, spare->link, &spare->hello, now_ms, &e) == 0)
            spares_remove(&j->spares, spare);
        else
            i++; /* the place that it asks for is not free */
    }
}

/* The next generation has other nodes: places are free, because nodes were lost or never all
 * came. A fixed number of nodes waits for another one in a lost one's place; one that may
 * change goes on with those that are left, if they are enough. */
static void change_nodes(struct job *j, uint64_t now_ms, struct effects *fx)
{
    members_reopen(&j->nodes);
    take_spares(j, now_ms);
    for (uint32_t i = 0; i < j->nodes.n; i++)
        if (j->nodes.list[i].status != MEMBER_AWAITED)
            j->nodes.list[i].status = MEMBER_JOINED;
    j->must_plan = true;
    j->nreaped = 0;
    if (j->nodes.njoined >= j->opt->nnodes_min) {
        members_close(&j->nodes);
        move(j, JOB_START);
        return;
    }
    move(j, JOB_JOIN);
    j->join_limit_ms = now_ms + j->opt->join_timeout_ms;
    j->last_call_ms = UINT64_MAX;
    j->state_deadline_ms = now_ms + JOIN_NOTE_MS;
    note_add(fx, NOTE_NODE_AWAITED)->number = j->nodes.n - j->nodes.njoined;
}

static void restart(struct job *j, uint64_t now_ms, struct effects *fx)
{
    j->generation++;
    if (has_lost(j) || (j->spares.n && j->nodes.n < j->nodes.capacity))
        change_nodes(j, now_ms, fx);
    else
        move(j, JOB_START);
    struct note *note = note_add(fx, NOTE_GENERATION);
    note->number = j->generation + 1;
    note->rank = j->opt->max_restarts + 1;
    effects_add(fx, FX_STORE_RESET)->u.store_reset.generation = j->generation;
}

static void pause(struct job *j, uint64_t delay_ms, uint64_t now_ms, struct effects *fx)
{
    move(j, JOB_PAUSE);
    j->state_deadline_ms = now_ms + delay_ms;
    note_add(fx, NOTE_RESTART_WAIT)->number = (int64_t)delay_ms;
}

/* Nobody has anything left to do. */
static void finish(struct job *j, struct effects *fx)
{
    bool is_gate_closed =
        j->state == JOB_STOP || j->state == JOB_PAUSE || j->state == JOB_FLUSH;
    if (!is_gate_closed)
        effects_add(fx, FX_STORE_GATE);
    if (j->is_blocked && !j->is_user_end) {
        move(j, JOB_FLUSH);
        return;
    }
    move(j, JOB_DONE);
    for (uint32_t i = 0; i < j->nodes.n; i++)
        if (j->nodes.list[i].link != LINK_NONE && j->nodes.list[i].status != MEMBER_LOST)
            send(j, fx, &j->nodes.list[i], FRAME_BYE)->u.bye.status =
                verdict_exit_status(&j->verdict);
    for (size_t i = 0; i < j->spares.n; i++)
        send_link(j, fx, j->spares.list[i].link, FRAME_BYE)->u.bye.status =
            verdict_exit_status(&j->verdict);
    effects_add(fx, FX_DONE);
}

static void finish_generation(struct job *j, uint64_t now_ms, struct effects *fx)
{
    j->gone_after_ms = j->stop_signo ? now_ms - j->stop_at_ms : 0;
    uint64_t delay_ms;
    if (!may_restart(j, &delay_ms, fx)) {
        finish(j, fx);
        return;
    }
    verdict_fini(&j->verdict); /* what ends the job now is another thing */
    if (delay_ms)
        pause(j, delay_ms, now_ms, fx);
    else
        restart(j, now_ms, fx);
}

static void node_is_over(struct job *j, struct member *n, enum member_status status,
                         uint64_t now_ms, struct effects *fx)
{
    if (n->status == MEMBER_REAPED || n->status == MEMBER_LOST)
        return;
    n->status = status;
    j->nreaped++;
    survey_told(&j->survey, members_rank(&j->nodes, n), NULL);
    survey_check(j, now_ms, fx);
    if (j->nreaped < j->nodes.n)
        return;
    if (j->state == JOB_LOOK) /* nobody is left to be looked at */
        stop(j, SIGNAL_TERM, now_ms, fx);
    else if (j->state == JOB_RUN || j->state == JOB_STOP)
        finish_generation(j, now_ms, fx);
}

/* ---- frames from nodes ---- */

/* Who may not join hears why, and that is all it gets. */
static void send_away(struct job *j, uint32_t link, const struct err *e, struct effects *fx)
{
    j->sent_away = *e;
    send_link(j, fx, link, FRAME_REFUSED)->u.refused.err = &j->sent_away;
    effects_add(fx, FX_DROP_NODE)->u.drop_node.node = link;
}

/* All places are taken, or the job is between two generations. */
static int park(struct job *j, uint32_t link, const struct frame *hello, uint64_t now_ms,
                struct effects *fx, struct err *e)
{
    if (members_check(&j->nodes, hello, e) < 0)
        return -1;
    if (options_has_hosts(j->opt) || j->is_user_end)
        return err_set(e, ERR_UNAVAILABLE, "%s came too late: the job %s", hello->u.hello.host,
                       j->is_user_end ? "is ending" : "has begun");
    spares_add(&j->spares, link, hello, now_ms);
    note_add(fx, NOTE_NODE_SPARE)->text = j->spares.list[j->spares.n - 1].hello.u.hello.host;
    return 0;
}

static void on_hello(struct job *j, uint32_t link, const struct frame *frame, uint64_t now_ms,
                     struct effects *fx)
{
    struct err e;
    if (members_find(&j->nodes, link) || spares_find(&j->spares, link))
        return;
    bool is_open = j->state == JOB_JOIN;
    int rc = is_open ? members_join(&j->nodes, link, frame, now_ms, &e)
                     : park(j, link, frame, now_ms, fx, &e);
    if (rc < 0) {
        send_away(j, link, &e, fx);
        note_add(fx, NOTE_NODE_REFUSED)->text = j->sent_away.text;
    }
    if (rc < 0 || !is_open)
        return;
    if (j->join_limit_ms == UINT64_MAX)
        j->join_limit_ms = now_ms + j->opt->join_timeout_ms;
    if (members_complete(&j->nodes)) {
        plan(j, now_ms, fx);
    } else if (j->nodes.njoined >= j->opt->nnodes_min && j->last_call_ms == UINT64_MAX) {
        j->last_call_ms = now_ms + j->opt->last_call_ms;
        j->state_deadline_ms = least(j->state_deadline_ms, j->last_call_ms);
        struct note *note = note_add(fx, NOTE_LAST_CALL);
        note->number = j->nodes.njoined;
        note->rank = (uint32_t)(j->opt->last_call_ms / 1000);
    }
}

static void on_ready(struct job *j, struct member *n, uint64_t now_ms, struct effects *fx)
{
    if (j->state != JOB_START || n->status != MEMBER_JOINED)
        return;
    n->status = MEMBER_READY;
    if (++j->nready < j->nodes.n)
        return;
    if (j->opt->is_plan)
        finish(j, fx);
    else
        run(j, now_ms, fx);
}

/* Also of a node that could not even say hello. */
static void on_refused(struct job *j, uint32_t link, const struct frame *frame, uint64_t now_ms,
                       struct effects *fx)
{
    const struct member *n = members_find(&j->nodes, link);
    struct err e = *frame->u.refused.err;
    if (!n)
        send_away(j, link, &e, fx);
    else if (j->nodes.n > 1)
        err_wrap(&e, "%s", n->host);
    end_with(j, VERDICT_ERROR, 0, &e, now_ms, fx);
}

static struct job_rank *find_rank(struct job *j, const struct member *n, uint32_t local_rank)
{
    const struct order *o = &n->order;
    return local_rank < o->nworkers ? &j->ranks[o->first_rank + local_rank] : NULL;
}

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
    struct job_rank *rank = find_rank(j, n, frame->u.exited.local_rank);
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
    stop(j, SIGNAL_TERM, now_ms, fx);
}

static void on_started(struct job *j, const struct member *n, const struct frame *frame)
{
    struct job_rank *rank = find_rank(j, n, frame->u.started.local_rank);
    if (!rank || rank->has_ended || rank->pid)
        return;
    rank->pid = frame->u.started.pid;
    j->nalive++;
}

static bool are_all_silent(const struct job *j)
{
    for (uint32_t i = 0; i < j->nodes.n; i++)
        if (j->nodes.list[i].status == MEMBER_RUNNING && !j->nodes.list[i].is_silent)
            return false;
    return true;
}

/* One rank without a heartbeat is enough; of silence there is none before every node has it. */
static void on_hung(struct job *j, struct member *n, const struct hang *hang, uint64_t now_ms,
                    struct effects *fx)
{
    struct job_rank *rank = find_rank(j, n, hang->local_rank);
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
    look(j, now_ms, fx);
}

static void on_signal(struct job *j, int signo, uint64_t now_ms, struct effects *fx);

static bool is_end_signal(const struct job *j, int signo)
{
    static const uint64_t others = UINT64_C(1) << SIGNAL_USR1 | UINT64_C(1) << SIGNAL_USR2
                                   | UINT64_C(1) << SIGNAL_QUIT | UINT64_C(1) << SIGNAL_TSTP
                                   | UINT64_C(1) << SIGNAL_CONT;
    return (j->opt->end_signals >> signo & 1) || !(others >> signo & 1);
}

/* A spare can only be there, or leave: what its user wants concerns nobody else. */
static void on_spare_frame(struct job *j, struct spare *spare, const struct frame *frame,
                           uint64_t now_ms, struct effects *fx)
{
    spare->last_heard_ms = now_ms;
    if (frame->type != FRAME_INTERRUPT || !is_end_signal(j, frame->u.signal.signo))
        return;
    uint32_t link = spare->link;
    send_link(j, fx, link, FRAME_BYE)->u.bye.status = 128 + frame->u.signal.signo;
    effects_add(fx, FX_DROP_NODE)->u.drop_node.node = link;
    spares_remove(&j->spares, spare);
}

static void on_frame(struct job *j, uint32_t link, const struct frame *frame, uint64_t now_ms,
                     struct effects *fx)
{
    struct member *n = members_find(&j->nodes, link);
    if (frame->type == FRAME_HELLO) {
        on_hello(j, link, frame, now_ms, fx);
        return;
    }
    if (frame->type == FRAME_REFUSED) {
        on_refused(j, link, frame, now_ms, fx);
        return;
    }
    struct spare *spare = n ? NULL : spares_find(&j->spares, link);
    if (spare)
        on_spare_frame(j, spare, frame, now_ms, fx);
    if (!n || n->status == MEMBER_LOST)
        return;
    n->last_heard_ms = now_ms;
    bool is_current = frame->generation == j->generation;
    switch (frame->type) {
    case FRAME_READY:
        if (is_current)
            on_ready(j, n, now_ms, fx);
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
            node_is_over(j, n, MEMBER_REAPED, now_ms, fx);
        return;
    case FRAME_INTERRUPT:
        on_signal(j, frame->u.signal.signo, now_ms, fx);
        return;
    case FRAME_HUNG:
        if (is_current)
            on_hung(j, n, &frame->u.hung, now_ms, fx);
        return;
    case FRAME_STACK:
        if (is_current && frame->u.stack.local_rank < n->order.nworkers)
            survey_take(&j->survey, n->order.first_rank + frame->u.stack.local_rank,
                        &frame->u.stack.facts);
        return;
    case FRAME_STACKED:
        if (is_current) {
            survey_told(&j->survey, members_rank(&j->nodes, n), frame->u.stacked.file);
            survey_check(j, now_ms, fx);
        }
        return;
    case FRAME_BEAT:
    case FRAME_HELLO:
    case FRAME_REFUSED:
        return; /* answered above */
    case FRAME_STACKS:
    case FRAME_PLAN:
    case FRAME_START:
    case FRAME_SIGNAL:
    case FRAME_STOP:
    case FRAME_BYE:
    case FRAME_TYPE_COUNT:
        return; /* these go down */
    }
}

/* ---- events of this machine ---- */

static void on_boot(struct job *j, const struct event *ev)
{
    j->addr = mem_strdup(ev->u.boot.addr);
    j->port = ev->u.boot.port;
    j->generation_at_ms = ev->now_ms;
    j->state_deadline_ms = ev->now_ms + JOIN_NOTE_MS;
    if (j->opt->timeout_ms)
        j->time_limit_at_ms = ev->now_ms + j->opt->timeout_ms;
    if (j->beat_ms)
        j->next_beat_check_ms = ev->now_ms + j->beat_ms;
}

static void relay(struct job *j, int signo, struct effects *fx)
{
    for (uint32_t i = 0; i < j->nodes.n; i++)
        if (j->nodes.list[i].status == MEMBER_RUNNING)
            send(j, fx, &j->nodes.list[i], FRAME_SIGNAL)->u.signal.signo = signo;
}

/* The job is over but for a reader that does not read, and the user wants out. */
static void give_up_output(struct job *j, struct effects *fx)
{
    note_add(fx, NOTE_OUTPUT_LOST);
    finish(j, fx);
}

static void on_end_signal(struct job *j, int signo, uint64_t now_ms, struct effects *fx)
{
    /* A key pressed again. A closed terminal may send SIGHUP twice without anybody's will. */
    bool is_key = signo == SIGNAL_INT;
    bool is_again = is_key && j->ninterrupts > 0;
    j->ninterrupts += is_key;
    j->is_user_end = true;
    if (j->state == JOB_FLUSH) {
        give_up_output(j, fx);
        return;
    }
    if (j->state == JOB_STOP) {
        send_stop(j, fx, is_again ? SIGNAL_TERM : stop_signal(signo),
                  is_again ? 0 : j->opt->grace_ms, now_ms);
        return;
    }
    if (signo == SIGNAL_INT && j->state == JOB_RUN) {
        struct note *note = note_add(fx, NOTE_INTERRUPTED);
        note->number = signo;
        note->rank = j->nalive;
    }
    end_with(j, VERDICT_SIGNAL, signo, NULL, now_ms, fx);
}

static void on_signal(struct job *j, int signo, uint64_t now_ms, struct effects *fx)
{
    if (j->opt->end_signals >> signo & 1) {
        on_end_signal(j, signo, now_ms, fx);
        return;
    }
    switch (signo) {
    case SIGNAL_USR1:
    case SIGNAL_USR2:
        relay(j, signo, fx);
        return;
    case SIGNAL_QUIT:
        on_quit(j, now_ms, fx);
        return;
    case SIGNAL_TSTP: /* a process of another session ignores SIGTSTP */
        relay(j, SIGNAL_STOP, fx);
        for (uint32_t i = 0; j->beat_ms && i < j->nodes.n; i++)
            if (j->nodes.list[i].link != LINK_NONE && j->nodes.list[i].status != MEMBER_LOST)
                send(j, fx, &j->nodes.list[i], FRAME_BEAT)->u.beat.is_last = true;
        for (size_t i = 0; j->beat_ms && i < j->spares.n; i++)
            send_link(j, fx, j->spares.list[i].link, FRAME_BEAT)->u.beat.is_last = true;
        effects_add(fx, FX_SUSPEND);
        return;
    case SIGNAL_CONT:
        relay(j, SIGNAL_CONT, fx);
        return;
    default:
        on_end_signal(j, signo, now_ms, fx);
    }
}

static void lose_ranks(struct job *j, const struct member *n)
{
    for (uint32_t i = 0; j->ranks && i < n->order.nworkers; i++) {
        struct job_rank *rank = find_rank(j, n, i);
        if (!rank->pid || rank->has_ended)
            continue;
        rank->is_lost = true;
        j->nalive--;
    }
}

/* A node is gone, or will not come. In JOIN another one may still come in its place, unless it
 * is muster that starts them. */
static void lose(struct job *j, struct member *n, const struct err *err, uint64_t now_ms,
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
        j->nreaped += !was_over;
        end_with(j, VERDICT_NODE_LOST, 0, &e, now_ms, fx);
        return;
    }
    node_is_over(j, n, MEMBER_LOST, now_ms, fx);
}

static void on_node_lost(struct job *j, uint32_t link, const struct err *err, uint64_t now_ms,
                         struct effects *fx)
{
    struct member *n = members_find(&j->nodes, link);
    struct spare *spare = spares_find(&j->spares, link);
    if (spare) {
        effects_add(fx, FX_DROP_NODE)->u.drop_node.node = link;
        spares_remove(&j->spares, spare);
    }
    if (!n) /* it had not said hello */
        return;
    if (j->state != JOB_JOIN || options_has_hosts(j->opt)) {
        lose(j, n, err, now_ms, fx);
        return;
    }
    note_add(fx, NOTE_NODE_LEFT)->text = err->text;
    effects_add(fx, FX_DROP_NODE)->u.drop_node.node = link;
    members_leave(&j->nodes, n);
}

static bool is_silent(const struct job *j, uint64_t last_heard_ms, uint64_t now_ms)
{
    return !j->is_deaf && now_ms - last_heard_ms > j->beat_ms * j->opt->beats_missed;
}

static void check_spares(struct job *j, uint64_t now_ms, struct effects *fx)
{
    for (size_t i = j->spares.n; i-- > 0;) {
        struct spare *spare = &j->spares.list[i];
        send_link(j, fx, spare->link, FRAME_BEAT);
        if (!is_silent(j, spare->last_heard_ms, now_ms))
            continue;
        effects_add(fx, FX_DROP_NODE)->u.drop_node.node = spare->link;
        spares_remove(&j->spares, spare);
    }
}

static void check_beats(struct job *j, uint64_t now_ms, struct effects *fx)
{
    j->next_beat_check_ms = now_ms + j->beat_ms;
    check_spares(j, now_ms, fx);
    for (uint32_t i = 0; i < j->nodes.n && j->state != JOB_DONE; i++) {
        struct member *n = &j->nodes.list[i];
        if (n->link == LINK_NONE || n->status == MEMBER_LOST)
            continue;
        send(j, fx, n, FRAME_BEAT);
        if (!is_silent(j, n->last_heard_ms, now_ms))
            continue;
        struct err e;
        err_set(&e, ERR_NODE_LOST, "no sign of life for %.1f s",
                (double)(now_ms - n->last_heard_ms) / 1000);
        on_node_lost(j, n->link, &e, now_ms, fx);
    }
}

static void on_join_deadline(struct job *j, uint64_t now_ms, struct effects *fx)
{
    if (now_ms >= j->last_call_ms && j->nodes.njoined >= j->opt->nnodes_min) {
        members_close(&j->nodes);
        plan(j, now_ms, fx);
        return;
    }
    if (now_ms < j->join_limit_ms) {
        note_add(fx, NOTE_NODE_LATE)->number = j->nodes.n - j->nodes.njoined;
        j->state_deadline_ms =
            least(least(now_ms + JOIN_NOTE_MS, j->join_limit_ms), j->last_call_ms);
        return;
    }
    uint32_t node = 0;
    while (j->nodes.list[node].status != MEMBER_AWAITED)
        node++;
    struct err e;
    err_set(&e, ERR_UNAVAILABLE, "node %u did not join within %d s; %u of %u nodes are missing",
            node, (int)(j->opt->join_timeout_ms / 1000), j->nodes.n - j->nodes.njoined,
            j->nodes.n);
    lose(j, &j->nodes.list[node], &e, now_ms, fx);
}

static void on_state_deadline(struct job *j, uint64_t now_ms, struct effects *fx)
{
    j->state_deadline_ms = UINT64_MAX;
    if (j->state == JOB_JOIN) {
        on_join_deadline(j, now_ms, fx);
        return;
    }
    if (j->state == JOB_PAUSE)
        restart(j, now_ms, fx);
    if (j->state != JOB_STOP)
        return;
    struct err e;
    err_set(&e, ERR_NODE_LOST, "did not say that its workers are gone");
    for (uint32_t i = 0; i < j->nodes.n && j->state == JOB_STOP; i++)
        if (j->nodes.list[i].status != MEMBER_REAPED)
            lose(j, &j->nodes.list[i], &e, now_ms, fx);
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
        j->state_deadline_ms = now_ms + STOP_SLACK_MS;
}

static void on_time_limit(struct job *j, uint64_t now_ms, struct effects *fx)
{
    j->time_limit_at_ms = UINT64_MAX;
    j->is_user_end = true;
    if (j->state == JOB_FLUSH)
        give_up_output(j, fx);
    else if (j->state == JOB_STOP)
        send_stop(j, fx, SIGNAL_TERM, j->opt->grace_ms, now_ms);
    else if (j->state == JOB_RUN && j->verdict.kind == VERDICT_OK) {
        j->verdict.kind = VERDICT_TIME_LIMIT;
        j->verdict.after_ms = now_ms - j->generation_at_ms;
        look(j, now_ms, fx);
    } else if (j->state != JOB_LOOK) {
        end_with(j, VERDICT_TIME_LIMIT, 0, NULL, now_ms, fx);
    }
}

/* The links are not read, or are read again: what waits in them is news of long ago. */
static void on_paused(struct job *j, bool is_paused, uint64_t now_ms)
{
    j->is_deaf = is_paused;
    j->deaf_limit_ms = UINT64_MAX;
    hear_from_now(j, now_ms);
    limit_deafness(j, DEAF_MS, now_ms);
}

static void on_deaf_limit(struct job *j, struct effects *fx)
{
    j->deaf_limit_ms = UINT64_MAX;
    if (!j->has_dropped)
        note_add(fx, NOTE_OUTPUT_LOST);
    j->has_dropped = true;
    effects_add(fx, FX_DROP_OUTPUT);
}

static void on_tick(struct job *j, uint64_t now_ms, struct effects *fx)
{
    uint64_t due_ms = job_deadline(j);
    if (now_ms < due_ms)
        return;
    if (now_ms - due_ms > ASLEEP_MS)
        after_sleep(j, now_ms);
    if (now_ms >= j->next_beat_check_ms)
        check_beats(j, now_ms, fx);
    if (now_ms >= j->time_limit_at_ms)
        on_time_limit(j, now_ms, fx);
    if (now_ms >= j->deaf_limit_ms)
        on_deaf_limit(j, fx);
    if (now_ms >= j->state_deadline_ms)
        on_state_deadline(j, now_ms, fx);
    survey_check(j, now_ms, fx);
}

static void on_flowing(struct job *j, bool is_blocked, struct effects *fx)
{
    j->is_blocked = is_blocked;
    if (!is_blocked && j->state == JOB_FLUSH)
        finish(j, fx);
}

void job_step(struct job *j, const struct event *ev, struct effects *out)
{
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
        on_signal(j, ev->u.signal.signo, ev->now_ms, out);
        return;
    case EV_STORE_READY:
        if (j->state == JOB_START && ev->u.store_ready.generation == j->generation
            && (!j->must_plan || give_orders(j, ev->now_ms, out) == 0))
            start_generation(j, out);
        return;
    case EV_NODE_LOST:
        on_node_lost(j, ev->u.node_lost.node, ev->u.node_lost.err, ev->now_ms, out);
        return;
    case EV_NODE_FAILED:
        if (ev->u.node_failed.node < j->nodes.n)
            lose(j, &j->nodes.list[ev->u.node_failed.node], ev->u.node_failed.err, ev->now_ms,
                 out);
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
    case EVENT_TYPE_COUNT:
        return; /* a node's */
    }
}
