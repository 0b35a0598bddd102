#include "launcher/core/job.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "launcher/core/note.h"
#include "launcher/core/plan.h"

/*            all HELLO           all READY            a failure, a signal
 *   JOIN ---------------> START -----------> RUN ---------------------------> STOP ---> DONE
 *     |                   ^  |'----- a plan only: all READY ----------------------------^
 *     |                   ^  |                |   all REAPED, nothing failed     |       ^
 *     | refused           |  | refused        '----------------------------------|-------|
 *     '-------------------|--'------------------------------------------------>  |       |
 *                         '-------------- a restart is left ---------------------'       |
 *                                                 every node REAPED or lost, no restart -'
 */
enum job_state { JOB_JOIN, JOB_START, JOB_RUN, JOB_STOP, JOB_DONE, JOB_STATE_COUNT };

#define TO(state) (1u << JOB_##state)
static const unsigned allowed[] = {
    [JOB_JOIN] = TO(START) | TO(STOP),
    [JOB_START] = TO(RUN) | TO(STOP) | TO(DONE),
    [JOB_RUN] = TO(STOP) | TO(DONE),
    [JOB_STOP] = TO(START) | TO(DONE),
    [JOB_DONE] = 0,
};
static_assert(sizeof allowed / sizeof allowed[0] == JOB_STATE_COUNT, "one row a state");

enum {
    JOIN_NOTE_MS = 10000,   /* say who is awaited */
    JOIN_LIMIT_MS = 600000, /* from the first node that joined to the last */
    STOP_SLACK_MS = 20000,  /* beyond the grace, until a user who wants out gets out */
    BEATS_MISSED = 3,
    ASLEEP_MS = 2000,     /* a tick this late: we did not run, and news is still waiting */
    EXIT_NO_RESTART = 93, /* a worker says "do not restart me" */
    SIGNAL_INT = 2,       /* Linux */
    SIGNAL_QUIT = 3,
    SIGNAL_USR1 = 10,
    SIGNAL_USR2 = 12,
    SIGNAL_PIPE = 13,
    SIGNAL_TERM = 15,
    SIGNAL_CONT = 18,
    SIGNAL_STOP = 19,
    SIGNAL_TSTP = 20,
};

enum node_status {
    NODE_AWAITED,
    NODE_JOINED,
    NODE_READY,
    NODE_RUNNING,
    NODE_REAPED,
    NODE_LOST
};

struct job_node {
    enum node_status status;
    uint32_t slots;
    char *host;
    uint64_t last_heard_ms;
    struct order order;
};

struct job {
    const struct options *opt;
    enum job_state state;
    uint32_t generation;
    struct job_node *nodes;
    uint32_t nnodes, njoined, nready, nreaped; /* reaped: also lost */
    struct job_rank *ranks;
    uint32_t nranks, nalive;
    char *addr;
    uint16_t port;
    uint64_t beat_ms, next_beat_check_ms, time_limit_at_ms, state_deadline_ms, join_limit_ms;
    uint64_t generation_at_ms, stop_at_ms, gone_after_ms;
    int stop_signo;   /* what the workers were sent */
    int ninterrupts;  /* SIGINT or SIGQUIT so far */
    bool is_user_end; /* a signal or a time limit: no restart */
    struct verdict verdict;
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
    j->nnodes = nnodes;
    j->nodes = mem_alloc(nnodes, sizeof *j->nodes);
    j->beat_ms = beat_ms;
    j->next_beat_check_ms = j->time_limit_at_ms = j->state_deadline_ms = UINT64_MAX;
    j->join_limit_ms = UINT64_MAX;
    return j;
}

void job_free(struct job *j)
{
    if (!j)
        return;
    for (uint32_t i = 0; i < j->nnodes; i++)
        free(j->nodes[i].host);
    free(j->nodes);
    free(j->ranks);
    free(j->addr);
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
    return least(least(j->next_beat_check_ms, j->time_limit_at_ms), j->state_deadline_ms);
}

bool job_done(const struct job *j)
{
    return j->state == JOB_DONE;
}

const struct verdict *job_verdict(const struct job *j)
{
    return &j->verdict;
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

static struct frame *send(struct job *j, struct effects *fx, uint32_t node,
                          enum frame_type type)
{
    struct effect *effect = effects_add(fx, FX_SEND);
    effect->u.send.node = node;
    effect->u.send.frame.type = type;
    effect->u.send.frame.generation = j->generation;
    return &effect->u.send.frame;
}

/* ---- stopping ---- */

/* Who is alive and waits for a reader of its output is waited for, unless the user wants out:
 * only then there is a deadline. A node that went silent is found by its beats. */
static void send_stop(struct job *j, struct effects *fx, int signo, uint64_t grace_ms,
                      uint64_t now_ms)
{
    if (j->is_user_end)
        j->state_deadline_ms = now_ms + grace_ms + STOP_SLACK_MS;
    for (uint32_t i = 0; i < j->nnodes; i++) {
        if (j->nodes[i].status == NODE_REAPED || j->nodes[i].status == NODE_LOST)
            continue;
        struct frame *frame = send(j, fx, i, FRAME_STOP);
        frame->u.stop.signo = signo;
        frame->u.stop.grace_ms = grace_ms;
        frame->u.stop.is_final = j->is_user_end;
    }
}

static void finish_generation(struct job *j, uint64_t now_ms, struct effects *fx);

static void stop(struct job *j, int signo, uint64_t now_ms, struct effects *fx)
{
    move(j, JOB_STOP);
    j->stop_signo = signo;
    j->stop_at_ms = now_ms;
    note_add(fx, NOTE_STOPPING)->number = signo;
    effects_add(fx, FX_STORE_GATE);
    send_stop(j, fx, signo, j->opt->grace_ms, now_ms);
    for (uint32_t i = 0; i < j->nnodes; i++) { /* who never joined has nothing to reap */
        if (j->nodes[i].status == NODE_AWAITED) {
            j->nodes[i].status = NODE_REAPED;
            j->nreaped++;
        }
    }
    if (j->nreaped == j->nnodes)
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
    if (j->state == JOB_JOIN || j->state == JOB_START || j->state == JOB_RUN)
        stop(j, kind == VERDICT_SIGNAL ? stop_signal(signo) : SIGNAL_TERM, now_ms, fx);
}

/* ---- starting ---- */

static void name_ranks(struct job *j, uint32_t node)
{
    const struct job_node *n = &j->nodes[node];
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
    for (uint32_t i = 0; i < j->nnodes; i++) {
        name_ranks(j, i);
        j->nodes[i].status = NODE_JOINED;
        j->nodes[i].order.generation = j->generation;
        send(j, fx, i, FRAME_PLAN)->u.plan.order = &j->nodes[i].order;
    }
}

static void plan(struct job *j, uint64_t now_ms, struct effects *fx)
{
    struct order *orders = mem_alloc(j->nnodes, sizeof *orders);
    for (uint32_t i = 0; i < j->nnodes; i++)
        orders[i] = (struct order){.job_id = j->opt->job_id,
                                   .max_restarts = j->opt->max_restarts,
                                   .nworkers = j->nodes[i].slots,
                                   .master_addr = j->addr,
                                   .master_port = j->port};
    struct err e;
    int rc = plan_build(j->opt, orders, j->nnodes, &e);
    for (uint32_t i = 0; i < j->nnodes && rc == 0; i++)
        j->nodes[i].order = orders[i];
    j->nranks = rc == 0 ? orders[0].world_size : 0;
    free(orders);
    if (rc < 0) {
        end_with(j, VERDICT_ERROR, 0, &e, now_ms, fx);
        return;
    }
    move(j, JOB_START);
    start_generation(j, fx);
}

static void run(struct job *j, uint64_t now_ms, struct effects *fx)
{
    move(j, JOB_RUN);
    j->generation_at_ms = now_ms;
    for (uint32_t i = 0; i < j->nnodes; i++) {
        j->nodes[i].status = NODE_RUNNING;
        send(j, fx, i, FRAME_START);
    }
}

/* ---- the end of a generation ---- */

static bool may_restart(const struct job *j, struct effects *fx)
{
    const struct verdict *v = &j->verdict;
    if (v->kind != VERDICT_WORKER || j->is_user_end || j->generation >= j->opt->max_restarts
        || v->end.kind == END_EXEC)
        return false;
    for (uint32_t i = 0; i < j->nnodes; i++)
        if (j->nodes[i].status == NODE_LOST) /* nobody replaces a lost node yet */
            return false;
    if (v->end.kind != END_EXIT || v->end.code != EXIT_NO_RESTART)
        return true;
    note_add(fx, NOTE_NO_RESTART_CODE)->rank = v->rank;
    return false;
}

static void restart(struct job *j, struct effects *fx)
{
    j->generation++;
    verdict_fini(&j->verdict);
    move(j, JOB_START);
    struct note *note = note_add(fx, NOTE_GENERATION);
    note->number = j->generation + 1;
    note->rank = j->opt->max_restarts + 1;
    effects_add(fx, FX_STORE_RESET)->u.store_reset.generation = j->generation;
}

/* Nobody has anything left to do. */
static void finish(struct job *j, struct effects *fx)
{
    if (j->state != JOB_STOP) /* there it was closed already */
        effects_add(fx, FX_STORE_GATE);
    move(j, JOB_DONE);
    for (uint32_t i = 0; i < j->nnodes; i++)
        if (j->nodes[i].status != NODE_LOST)
            send(j, fx, i, FRAME_BYE);
    effects_add(fx, FX_DONE);
}

static void finish_generation(struct job *j, uint64_t now_ms, struct effects *fx)
{
    j->gone_after_ms = j->stop_signo ? now_ms - j->stop_at_ms : 0;
    if (may_restart(j, fx)) {
        restart(j, fx);
        return;
    }
    finish(j, fx);
}

static void node_is_over(struct job *j, uint32_t node, enum node_status status, uint64_t now_ms,
                         struct effects *fx)
{
    struct job_node *n = &j->nodes[node];
    if (n->status == NODE_REAPED || n->status == NODE_LOST)
        return;
    n->status = status;
    j->nreaped++;
    if (j->nreaped == j->nnodes && (j->state == JOB_RUN || j->state == JOB_STOP))
        finish_generation(j, now_ms, fx);
}

/* ---- frames from nodes ---- */

static void on_hello(struct job *j, uint32_t node, const struct frame *frame, uint64_t now_ms,
                     struct effects *fx)
{
    struct job_node *n = &j->nodes[node];
    if (j->state != JOB_JOIN || n->status != NODE_AWAITED)
        return;
    n->status = NODE_JOINED;
    n->slots = frame->u.hello.slots;
    n->host = mem_strdup(frame->u.hello.host);
    n->last_heard_ms = now_ms;
    if (!j->njoined)
        j->join_limit_ms = now_ms + JOIN_LIMIT_MS;
    if (++j->njoined == j->nnodes)
        plan(j, now_ms, fx);
}

static void on_ready(struct job *j, uint32_t node, uint64_t now_ms, struct effects *fx)
{
    if (j->state != JOB_START || j->nodes[node].status != NODE_JOINED)
        return;
    j->nodes[node].status = NODE_READY;
    if (++j->nready < j->nnodes)
        return;
    if (j->opt->is_plan)
        finish(j, fx);
    else
        run(j, now_ms, fx);
}

static void on_refused(struct job *j, uint32_t node, const struct frame *frame, uint64_t now_ms,
                       struct effects *fx)
{
    struct err e = *frame->u.refused.err;
    if (j->nnodes > 1 && j->nodes[node].host)
        err_wrap(&e, "%s", j->nodes[node].host);
    end_with(j, VERDICT_ERROR, 0, &e, now_ms, fx);
}

static struct job_rank *find_rank(struct job *j, uint32_t node, uint32_t local_rank)
{
    const struct order *o = &j->nodes[node].order;
    return local_rank < o->nworkers ? &j->ranks[o->first_rank + local_rank] : NULL;
}

static void blame(struct job *j, uint32_t node, const struct frame *frame, uint64_t now_ms)
{
    const struct job_node *n = &j->nodes[node];
    j->verdict = (struct verdict){
        .kind = VERDICT_WORKER,
        .rank = n->order.first_rank + frame->u.exited.local_rank,
        .local_rank = frame->u.exited.local_rank,
        .node = node,
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

static void on_exited(struct job *j, uint32_t node, const struct frame *frame, uint64_t now_ms,
                      struct effects *fx)
{
    struct job_rank *rank = find_rank(j, node, frame->u.exited.local_rank);
    if (!rank || rank->has_ended)
        return;
    rank->has_ended = true;
    rank->was_stopped = j->state == JOB_STOP;
    rank->end = frame->u.exited.end;
    rank->after_ms = now_ms - j->generation_at_ms;
    j->nalive -= rank->pid != 0;
    if (j->state != JOB_RUN || !worker_end_is_failure(&rank->end))
        return;
    if (j->verdict.kind == VERDICT_OK)
        blame(j, node, frame, now_ms);
    stop(j, SIGNAL_TERM, now_ms, fx);
}

static void on_started(struct job *j, uint32_t node, const struct frame *frame)
{
    struct job_rank *rank = find_rank(j, node, frame->u.started.local_rank);
    if (!rank || rank->has_ended || rank->pid)
        return;
    rank->pid = frame->u.started.pid;
    j->nalive++;
}

static void on_frame(struct job *j, uint32_t node, const struct frame *frame, uint64_t now_ms,
                     struct effects *fx)
{
    if (node >= j->nnodes || j->nodes[node].status == NODE_LOST)
        return;
    j->nodes[node].last_heard_ms = now_ms;
    bool is_current = frame->generation == j->generation;
    switch (frame->type) {
    case FRAME_HELLO:
        on_hello(j, node, frame, now_ms, fx);
        return;
    case FRAME_READY:
        if (is_current)
            on_ready(j, node, now_ms, fx);
        return;
    case FRAME_REFUSED:
        on_refused(j, node, frame, now_ms, fx);
        return;
    case FRAME_STARTED:
        if (is_current)
            on_started(j, node, frame);
        return;
    case FRAME_EXITED:
        if (is_current)
            on_exited(j, node, frame, now_ms, fx);
        return;
    case FRAME_REAPED:
        if (is_current)
            node_is_over(j, node, NODE_REAPED, now_ms, fx);
        return;
    case FRAME_BEAT:
        return;
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
    for (uint32_t i = 0; i < j->nnodes; i++)
        if (j->nodes[i].status == NODE_RUNNING)
            send(j, fx, i, FRAME_SIGNAL)->u.signal.signo = signo;
}

static void on_end_signal(struct job *j, int signo, uint64_t now_ms, struct effects *fx)
{
    /* A key pressed again. A closed terminal may send SIGHUP twice without anybody's will. */
    bool is_key = signo == SIGNAL_INT || signo == SIGNAL_QUIT;
    bool is_again = is_key && j->ninterrupts > 0;
    j->ninterrupts += is_key;
    j->is_user_end = true;
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
    case SIGNAL_TSTP: /* a process of another session ignores SIGTSTP */
        relay(j, SIGNAL_STOP, fx);
        effects_add(fx, FX_SUSPEND);
        return;
    case SIGNAL_CONT:
        relay(j, SIGNAL_CONT, fx);
        return;
    default:
        on_end_signal(j, signo, now_ms, fx);
    }
}

static void on_node_lost(struct job *j, uint32_t node, const struct err *err, uint64_t now_ms,
                         struct effects *fx)
{
    if (node >= j->nnodes || j->nodes[node].status == NODE_LOST)
        return;
    bool was_over = j->nodes[node].status == NODE_REAPED;
    if (was_over && (j->state == JOB_RUN || j->state == JOB_STOP)) {
        j->nodes[node].status = NODE_LOST; /* it had nothing left to do */
        return;
    }
    struct err e = *err;
    err_wrap(&e, "node %u (%s)", node,
             j->nodes[node].host ? j->nodes[node].host : "never joined");
    if (j->state == JOB_JOIN || j->state == JOB_START || j->state == JOB_RUN) {
        if (j->verdict.kind == VERDICT_OK)
            j->verdict.node = node;
        j->nodes[node].status = NODE_LOST;
        j->nreaped += !was_over;
        end_with(j, VERDICT_NODE_LOST, 0, &e, now_ms, fx);
        return;
    }
    node_is_over(j, node, NODE_LOST, now_ms, fx);
}

static void check_beats(struct job *j, uint64_t now_ms, struct effects *fx)
{
    j->next_beat_check_ms = now_ms + j->beat_ms;
    for (uint32_t i = 0; i < j->nnodes; i++) {
        const struct job_node *n = &j->nodes[i];
        if (!n->host || n->status == NODE_LOST
            || now_ms - n->last_heard_ms <= j->beat_ms * BEATS_MISSED)
            continue;
        struct err e;
        err_set(&e, ERR_NODE_LOST, "no sign of life for %.1f s",
                (double)(now_ms - n->last_heard_ms) / 1000);
        on_node_lost(j, i, &e, now_ms, fx);
    }
}

static void on_join_deadline(struct job *j, uint64_t now_ms, struct effects *fx)
{
    if (now_ms < j->join_limit_ms) {
        note_add(fx, NOTE_NODE_LATE)->number = j->nnodes - j->njoined;
        j->state_deadline_ms = least(now_ms + JOIN_NOTE_MS, j->join_limit_ms);
        return;
    }
    uint32_t node = 0;
    while (j->nodes[node].status != NODE_AWAITED)
        node++;
    struct err e;
    err_set(&e, ERR_UNAVAILABLE, "did not join within %d s; %u of %u nodes are missing",
            JOIN_LIMIT_MS / 1000, j->nnodes - j->njoined, j->nnodes);
    on_node_lost(j, node, &e, now_ms, fx);
}

static void on_state_deadline(struct job *j, uint64_t now_ms, struct effects *fx)
{
    j->state_deadline_ms = UINT64_MAX;
    if (j->state == JOB_JOIN) {
        on_join_deadline(j, now_ms, fx);
        return;
    }
    if (j->state != JOB_STOP)
        return;
    struct err e;
    err_set(&e, ERR_NODE_LOST, "did not say that its workers are gone");
    for (uint32_t i = 0; i < j->nnodes && j->state == JOB_STOP; i++)
        if (j->nodes[i].status != NODE_REAPED)
            on_node_lost(j, i, &e, now_ms, fx);
}

/* We did not run for a while (suspended, a frozen machine): nobody is judged by what they could
 * not tell us meanwhile. */
static void after_sleep(struct job *j, uint64_t now_ms)
{
    for (uint32_t i = 0; i < j->nnodes; i++)
        j->nodes[i].last_heard_ms = now_ms;
    if (j->state == JOB_STOP && now_ms >= j->state_deadline_ms)
        j->state_deadline_ms = now_ms + STOP_SLACK_MS;
}

static void on_time_limit(struct job *j, uint64_t now_ms, struct effects *fx)
{
    j->time_limit_at_ms = UINT64_MAX;
    j->is_user_end = true;
    if (j->state == JOB_STOP)
        send_stop(j, fx, SIGNAL_TERM, j->opt->grace_ms, now_ms);
    else
        end_with(j, VERDICT_TIME_LIMIT, 0, NULL, now_ms, fx);
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
    if (now_ms >= j->state_deadline_ms)
        on_state_deadline(j, now_ms, fx);
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
        if (j->state == JOB_START && ev->u.store_ready.generation == j->generation)
            start_generation(j, out);
        return;
    case EV_NODE_LOST:
        on_node_lost(j, ev->u.node_lost.node, ev->u.node_lost.err, ev->now_ms, out);
        return;
    case EV_LINK_LOST:
    case EV_PREPARED:
    case EV_PREPARE_FAILED:
    case EV_SPAWNED:
    case EV_SPAWN_FAILED:
    case EV_EXITED:
    case EV_STREAMS_ENDED:
    case EV_OUTPUT_BLOCKED:
    case EV_OUTPUT_FLOWING:
    case EV_SWEPT:
    case EVENT_TYPE_COUNT:
        return; /* a node's */
    }
}
