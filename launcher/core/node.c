#include "launcher/core/node.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "launcher/core/note.h"
#include "launcher/core/pulse.h"

/*            PLAN            prepared         START           all ended
 *   IDLE ----------> PREPARE --------> READY -------> UP ------------------> DRAIN --> REAPED
 *    ^                  | failed         |             | STOP                 ^  ^        |
 *    |<-----------------'<---------------'             v      grace over      |  |        |
 *    |                         STOP      (NOTICE ->) TERM ----------> KILL --'  |        |
 *    |                                                  '------------------------'        |
 *    '<----------------------------------- PLAN of the next generation -------------------'
 *
 * NOTICE comes before TERM where workers are given notice of the stop (--preempt-signal).
 * DRAIN ends when no descendant is left and every pipe has ended; what stays behind is ended
 * step by step (drain_steps).
 */
enum node_state {
    NODE_IDLE,
    NODE_PREPARE,
    NODE_READY,
    NODE_UP,
    NODE_NOTICE,
    NODE_TERM,
    NODE_KILL,
    NODE_DRAIN,
    NODE_REAPED,
    NODE_STATE_COUNT
};

#define TO(state) (1u << NODE_##state)
static const unsigned allowed[] = {
    [NODE_IDLE] = TO(PREPARE) | TO(REAPED),
    [NODE_PREPARE] = TO(READY) | TO(IDLE) | TO(REAPED),
    [NODE_READY] = TO(UP) | TO(REAPED),
    [NODE_UP] = TO(NOTICE) | TO(TERM) | TO(KILL) | TO(DRAIN),
    [NODE_NOTICE] = TO(TERM) | TO(KILL) | TO(DRAIN),
    [NODE_TERM] = TO(KILL) | TO(DRAIN),
    [NODE_KILL] = TO(DRAIN),
    [NODE_DRAIN] = TO(REAPED),
    [NODE_REAPED] = TO(PREPARE),
};
static_assert(sizeof allowed / sizeof allowed[0] == NODE_STATE_COUNT, "one row a state");

enum {
    KILL_WAIT_MS = 10000, /* a process that survives SIGKILL this long is left behind */
    DRAIN_QUIET_MS = 500, /* for pipes to end and helpers to finish by themselves */
    DRAIN_TERM_MS = 1500, /* between SIGTERM and SIGKILL for what workers left behind */
    DRAIN_KILL_MS = 2000, /* from SIGKILL until pipes are closed and the rest is given up */
    ASLEEP_MS = 2000,     /* a tick this late: we did not run, and news is still waiting */
};

enum worker_state { WORKER_NONE, WORKER_STARTING, WORKER_ALIVE, WORKER_ENDED };

struct worker {
    enum worker_state state;
    bool has_streams;
    uint32_t pid;
};

struct node {
    const struct options *opt;
    const struct facts *facts;
    enum node_state state;
    uint32_t generation; /* of the last PLAN, also one that was refused */
    bool has_generation;
    struct node_plan *plan;
    struct worker *workers;
    uint32_t nworkers, nalive, nstreams; /* alive: starting or alive */
    uint32_t nspawned;
    uint32_t nleft; /* descendants at the last count */
    int drain_step;
    int stop_signo;     /* of the STOP in force, 0 = none */
    bool is_final;      /* the user ended the job: a stalled reader is not waited for */
    bool is_hurried;    /* a stop without grace: no politeness towards what is left either */
    bool is_blocked;    /* nobody reads our output */
    bool is_leaving;    /* BYE or lost link */
    bool is_head_still; /* it is suspended: no beats are to be expected */
    struct node_place place;
    uint64_t deadline_ms, next_beat_ms, last_heard_ms;
    uint64_t grace_end_ms; /* of the STOP in force, 0 = none */
    struct {               /* what follows a notice */
        int signo;
        uint64_t grace_ms;
    } stop;
    struct pulse *pulse; /* of this generation */
    bool is_looked_at;   /* FX_STACKS is under way */
    struct err err;      /* text of a refusal, referenced by frames */
    struct buf gpu;      /* likewise */
};

static void move(struct node *n, enum node_state next)
{
    assert(allowed[n->state] & 1u << next);
    n->state = next;
    n->deadline_ms = UINT64_MAX;
}

struct node *node_new(const struct options *opt, const struct facts *facts,
                      const struct node_place *place)
{
    struct node *n = mem_alloc(1, sizeof *n);
    n->opt = opt;
    n->facts = facts;
    n->place = *place;
    n->deadline_ms = n->next_beat_ms = UINT64_MAX;
    buf_init(&n->gpu, 0);
    return n;
}

void node_free(struct node *n)
{
    if (!n)
        return;
    node_plan_free(n->plan);
    pulse_free(n->pulse);
    free(n->workers);
    buf_fini(&n->gpu);
    free(n);
}

const struct node_plan *node_plan(const struct node *n)
{
    return n->plan;
}

bool node_is_done(const struct node *n)
{
    return n->is_leaving && (n->state == NODE_REAPED || n->state == NODE_IDLE);
}

uint64_t node_deadline(const struct node *n)
{
    uint64_t due_ms = n->deadline_ms < n->next_beat_ms ? n->deadline_ms : n->next_beat_ms;
    uint64_t pulse_ms = n->state == NODE_UP ? pulse_deadline(n->pulse) : UINT64_MAX;
    return due_ms < pulse_ms ? due_ms : pulse_ms;
}

static struct frame *send(struct node *n, struct effects *fx, enum frame_type type)
{
    struct frame *frame = &effects_add(fx, FX_SEND)->u.send.frame;
    frame->type = type;
    frame->generation = n->generation;
    return frame;
}

static void refuse(struct node *n, struct effects *fx)
{
    send(n, fx, FRAME_REFUSED)->u.refused.err = &n->err;
}

static void kill_worker(struct effects *fx, uint32_t local_rank, int signo)
{
    struct effect *kill = effects_add(fx, FX_KILL);
    kill->u.kill.local_rank = local_rank;
    kill->u.kill.signo = signo;
}

/* Groups whose leader is dead get the signal too: its children may live. */
static void kill_all(struct node *n, struct effects *fx, int signo)
{
    for (uint32_t i = 0; i < n->nworkers; i++)
        if (n->workers[i].pid)
            kill_worker(fx, i, signo);
}

static void sweep(struct effects *fx, int signo)
{
    effects_add(fx, FX_SWEEP)->u.sweep.signo = signo;
}

enum { SIGNAL_KILL = 9, SIGNAL_TERM = 15, SIGNAL_CONT = 18, SIGNAL_STOP = 19 }; /* Linux */

static void reaped(struct node *n, struct effects *fx)
{
    move(n, NODE_REAPED);
    if (n->nspawned)
        effects_add(fx, FX_REAP);
    send(n, fx, FRAME_REAPED);
}

/* ---- signs of life ---- */

static void tell_hangs(struct node *n, uint64_t now_ms, struct effects *fx)
{
    struct hang hang;
    while (n->state == NODE_UP && pulse_hung(n->pulse, now_ms, &hang))
        send(n, fx, FRAME_HUNG)->u.hung = hang;
}

static void hold(struct node *n, enum pulse_hold_reason why, bool is_held, uint64_t now_ms,
                 struct effects *fx)
{
    if (!n->pulse)
        return;
    pulse_hold(n->pulse, why, is_held, now_ms);
    tell_hangs(n, now_ms, fx);
}

static void on_notify(struct node *n, uint32_t local_rank, const struct sign *sign,
                      uint64_t now_ms)
{
    if (n->workers[local_rank].state == WORKER_ALIVE)
        pulse_sign(n->pulse, local_rank, sign, now_ms);
}

/* What waits to be read may be the very sign that is missed: it is read first. */
static void check_pulse(struct node *n, uint64_t now_ms, struct effects *fx)
{
    if (n->state != NODE_UP || now_ms < pulse_deadline(n->pulse))
        return;
    if (now_ms - pulse_deadline(n->pulse) > ASLEEP_MS) {
        pulse_restart(n->pulse, now_ms);
        tell_hangs(n, now_ms, fx);
        return;
    }
    pulse_ask(n->pulse);
    effects_add(fx, FX_LOOK);
}

static void on_looked(struct node *n, uint64_t output_at_ms, uint64_t now_ms,
                      struct effects *fx)
{
    if (!n->pulse)
        return;
    pulse_looked(n->pulse, output_at_ms, now_ms);
    tell_hangs(n, now_ms, fx);
}

/* ---- what workers are doing ---- */

static void on_stacks(struct node *n, bool may_abort, struct effects *fx)
{
    bool has_workers = n->nalive && n->state != NODE_READY;
    if (n->is_looked_at) /* its answer is an answer to both */
        return;
    if (!has_workers) {
        send(n, fx, FRAME_STACKED);
        return;
    }
    n->is_looked_at = true;
    effects_add(fx, FX_STACKS)->u.stacks.may_abort = may_abort;
}

static void on_stack(struct node *n, uint32_t local_rank, const char *where, uint64_t now_ms,
                     struct effects *fx)
{
    struct frame *frame = send(n, fx, FRAME_STACK);
    frame->u.stack.local_rank = local_rank;
    pulse_facts(n->pulse, local_rank, now_ms, &frame->u.stack.facts);
    frame->u.stack.facts.where = where;
}

/* ---- DRAIN ---- */

static bool drain_is_over(const struct node *n)
{
    bool is_awaited = n->is_looked_at && !n->is_hurried; /* what is being found out is told */
    return n->nleft == 0 && n->nstreams == 0 && !n->is_blocked && !is_awaited;
}

static void close_streams(struct node *n, struct effects *fx)
{
    for (uint32_t i = 0; i < n->nworkers; i++) {
        if (!n->workers[i].has_streams)
            continue;
        note_add(fx, NOTE_STREAM_HELD)->rank = n->plan->order.first_rank + i;
        effects_add(fx, FX_CLOSE_STREAMS)->u.spawn.local_rank = i;
        n->workers[i].has_streams = false;
    }
    n->nstreams = 0;
}

/* Step 0 counts, 1 asks what is left to end, 2 kills it, 3 gives up waiting. */
static void drain_next(struct node *n, uint64_t now_ms, struct effects *fx)
{
    switch (n->drain_step++) {
    case 0:
        n->deadline_ms = now_ms + DRAIN_QUIET_MS;
        sweep(fx, 0);
        return;
    case 1:
        if (n->nleft)
            note_add(fx, NOTE_SWEPT)->number = n->nleft;
        n->deadline_ms = now_ms + DRAIN_TERM_MS;
        if (n->nleft
            && n->deadline_ms < n->grace_end_ms) /* what is behind a wrapper may be saving */
            n->deadline_ms = n->grace_end_ms;
        sweep(fx, SIGNAL_TERM);
        return;
    case 2:
        n->deadline_ms = now_ms + DRAIN_KILL_MS;
        sweep(fx, SIGNAL_KILL);
        return;
    default:
        if (n->nleft)
            note_add(fx, NOTE_LEFT_BEHIND)->number = n->nleft;
        if (n->is_blocked)
            effects_add(fx, FX_DROP_OUTPUT);
        close_streams(n, fx);
        reaped(n, fx);
    }
}

static void drain_begin(struct node *n, uint64_t now_ms, struct effects *fx)
{
    move(n, NODE_DRAIN);
    n->nleft = 1; /* until counted */
    n->drain_step = n->is_hurried ? 2 : 0;
    if (n->is_hurried)
        effects_add(fx, FX_DROP_OUTPUT);
    drain_next(n, now_ms, fx);
}

static void drain_check(struct node *n, struct effects *fx)
{
    if (n->state == NODE_DRAIN && drain_is_over(n))
        reaped(n, fx);
}

static void on_stacked(struct node *n, const char *file, struct effects *fx)
{
    n->is_looked_at = false;
    send(n, fx, FRAME_STACKED)->u.stacked.file = file;
    drain_check(n, fx);
}

/* While a slow reader holds up the output, pipes cannot end: wait, unless the user wants out.
 */
static bool drain_waits_for_reader(const struct node *n)
{
    return n->is_blocked && !n->is_final && n->nleft == 0;
}

/* ---- frames from the head ---- */

/* GPUs that are left over are news only to who has chosen them. */
static void say_plan_notes(const struct node *n, struct effects *fx)
{
    const struct device_choice *choice = &n->plan->choice;
    for (int i = 0; i < choice->nnotes; i++)
        if (choice->notes[i].kind != GPU_W_UNUSED || n->opt->gpus)
            note_add(fx, NOTE_GPUS)->text = choice->notes[i].text;
    if (n->plan->is_unbound)
        note_add(fx, NOTE_UNBOUND)->number = n->plan->order.nworkers;
    if (n->plan->cpu_warnings & PLACEMENT_CPU_EMPTY)
        note_add(fx, NOTE_CPU_EMPTY);
    if (n->plan->cpu_warnings & PLACEMENT_CPU_FEW)
        note_add(fx, NOTE_CPU_FEW);
}

static void on_plan(struct node *n, const struct order *order, struct effects *fx)
{
    bool is_old = n->has_generation && order->generation <= n->generation;
    bool is_first = !n->has_generation;
    if (is_old || n->is_leaving || (n->state != NODE_IDLE && n->state != NODE_REAPED))
        return;
    n->generation = order->generation;
    n->has_generation = true;
    n->nalive = n->nstreams = n->nspawned = 0;
    n->is_final = n->is_hurried = false;
    n->stop_signo = 0;
    n->grace_end_ms = 0;
    move(n, NODE_PREPARE);
    struct node_plan *plan = node_plan_build(n->opt, n->facts, order, &n->err);
    if (!plan) {
        move(n, NODE_IDLE);
        refuse(n, fx);
        return;
    }
    node_plan_free(n->plan);
    pulse_free(n->pulse);
    free(n->workers);
    n->pulse = pulse_new(order->nworkers, n->opt->heartbeat_ms, n->opt->silence_ms);
    pulse_hold(n->pulse, PULSE_BLOCKED, n->is_blocked, 0);
    n->plan = plan;
    n->nworkers = order->nworkers;
    n->workers = mem_alloc(n->nworkers, sizeof *n->workers);
    if (is_first)
        say_plan_notes(n, fx);
    effects_add(fx, FX_PREPARE);
}

static void on_start(struct node *n, uint64_t now_ms, struct effects *fx)
{
    if (n->state != NODE_READY)
        return;
    move(n, NODE_UP);
    pulse_start(n->pulse, now_ms);
    n->nalive = n->nworkers;
    for (uint32_t i = 0; i < n->nworkers; i++) {
        n->workers[i].state = WORKER_STARTING;
        effects_add(fx, FX_SPAWN)->u.spawn.local_rank = i;
    }
}

static void enter_kill(struct node *n, uint64_t now_ms, struct effects *fx)
{
    move(n, NODE_KILL);
    n->stop_signo = SIGNAL_KILL;
    kill_all(n, fx, SIGNAL_KILL);
    n->deadline_ms = now_ms + KILL_WAIT_MS;
}

static void enter_term(struct node *n, int signo, uint64_t grace_ms, uint64_t now_ms,
                       struct effects *fx)
{
    move(n, NODE_TERM);
    n->stop_signo = signo;
    n->deadline_ms = n->grace_end_ms = now_ms + grace_ms;
    kill_all(n, fx, signo);
    kill_all(n, fx, SIGNAL_CONT); /* a stopped process acts on no signal */
}

static void enter_notice(struct node *n, const struct frame *stop, uint64_t now_ms,
                         struct effects *fx)
{
    move(n, NODE_NOTICE);
    n->stop_signo = stop->u.stop.notice.signo;
    n->stop.signo = stop->u.stop.signo;
    n->stop.grace_ms = stop->u.stop.grace_ms;
    n->deadline_ms = now_ms + stop->u.stop.notice.ms;
    n->grace_end_ms = n->deadline_ms + stop->u.stop.grace_ms;
    kill_all(n, fx, n->stop_signo);
    kill_all(n, fx, SIGNAL_CONT);
}

static void stop_with(struct node *n, const struct frame *stop, uint64_t now_ms,
                      struct effects *fx)
{
    int signo = stop->u.stop.signo;
    uint64_t grace_ms = stop->u.stop.grace_ms;
    bool is_final = stop->u.stop.is_final;
    n->is_final = n->is_final || is_final;
    n->is_hurried = n->is_hurried || !grace_ms;
    switch (n->state) {
    case NODE_IDLE:
    case NODE_PREPARE:
    case NODE_READY:
        reaped(n, fx);
        return;
    case NODE_UP:
        if (!grace_ms)
            enter_kill(n, now_ms, fx);
        else if (stop->u.stop.notice.ms)
            enter_notice(n, stop, now_ms, fx);
        else
            enter_term(n, signo, grace_ms, now_ms, fx);
        return;
    case NODE_NOTICE: /* asked once more in the same way, they keep their time */
        if (!grace_ms)
            enter_kill(n, now_ms, fx);
        else if (!stop->u.stop.notice.ms)
            enter_term(n, signo, grace_ms, now_ms, fx);
        return;
    case NODE_TERM:
        if (!grace_ms)
            enter_kill(n, now_ms, fx);
        return;
    case NODE_DRAIN:
        if (!grace_ms && n->drain_step < 3) {
            n->drain_step = 2;
            effects_add(fx, FX_DROP_OUTPUT);
            drain_next(n, now_ms, fx);
        } else if (is_final && n->deadline_ms == UINT64_MAX) {
            n->deadline_ms = now_ms + DRAIN_QUIET_MS; /* it was waiting for a reader */
        }
        return;
    case NODE_KILL:
    case NODE_REAPED:
    case NODE_STATE_COUNT:
        return;
    }
}

static void on_stop(struct node *n, int signo, uint64_t grace_ms, bool is_final,
                    uint64_t now_ms, struct effects *fx)
{
    struct frame stop = {.type = FRAME_STOP};
    stop.u.stop.signo = signo;
    stop.u.stop.grace_ms = grace_ms;
    stop.u.stop.is_final = is_final;
    stop_with(n, &stop, now_ms, fx);
}

/* SIGUSR1 and the like, and the signals that suspend the job and wake it. */
static void on_relayed(struct node *n, int signo, uint64_t now_ms, struct effects *fx)
{
    if (n->state != NODE_UP)
        return;
    kill_all(n, fx, signo);
    if (signo == SIGNAL_STOP || signo == SIGNAL_CONT)
        hold(n, PULSE_SUSPENDED, signo == SIGNAL_STOP, now_ms, fx);
}

static void leave(struct node *n, uint64_t now_ms, struct effects *fx)
{
    n->is_leaving = true;
    n->next_beat_ms = UINT64_MAX;
    if (n->state != NODE_IDLE)
        on_stop(n, SIGNAL_TERM, n->opt->grace_ms, true, now_ms, fx);
}

static void on_frame(struct node *n, const struct frame *frame, uint64_t now_ms,
                     struct effects *fx)
{
    bool is_current = frame->generation == n->generation;
    n->last_heard_ms = now_ms;
    n->is_head_still = frame->type == FRAME_BEAT && frame->u.beat.is_last;
    switch (frame->type) {
    case FRAME_PLAN:
        on_plan(n, frame->u.plan.order, fx);
        return;
    case FRAME_START:
        if (is_current)
            on_start(n, now_ms, fx);
        return;
    case FRAME_SIGNAL:
        if (is_current)
            on_relayed(n, frame->u.signal.signo, now_ms, fx);
        return;
    case FRAME_STOP:
        if (is_current)
            stop_with(n, frame, now_ms, fx);
        return;
    case FRAME_STACKS:
        if (is_current)
            on_stacks(n, frame->u.stacks.may_abort, fx);
        return;
    case FRAME_REFUSED:
    case FRAME_BYE:
        leave(n, now_ms, fx);
        return;
    case FRAME_HELLO:
    case FRAME_READY:
    case FRAME_STARTED:
    case FRAME_EXITED:
    case FRAME_REAPED:
    case FRAME_INTERRUPT:
    case FRAME_HUNG:
    case FRAME_STACK:
    case FRAME_STACKED:
    case FRAME_BEAT: /* heard */
    case FRAME_TYPE_COUNT:
        return; /* these go up */
    }
}

/* ---- events of this machine ---- */

static void on_boot(struct node *n, uint64_t now_ms, struct effects *fx)
{
    uint32_t slots;
    int rc = node_plan_slots(n->opt, n->facts, &slots, &n->err);
    if (rc < 0) {
        refuse(n, fx);
        return;
    }
    struct frame *hello = send(n, fx, FRAME_HELLO);
    hello->u.hello.host = n->facts->host;
    hello->u.hello.slots = slots;
    hello->u.hello.node_rank = n->place.node_rank;
    hello->u.hello.nnodes = n->place.nnodes;
    hello->u.hello.pid = n->place.pid;
    hello->u.hello.via = n->place.via;
    n->is_head_still = true; /* until it says its first word */
    if (n->place.beat_ms)
        n->next_beat_ms = now_ms + n->place.beat_ms;
}

static void on_prepared(struct node *n, const struct err *failure, struct effects *fx)
{
    if (n->state != NODE_PREPARE)
        return;
    if (failure) {
        n->err = *failure;
        move(n, NODE_IDLE);
        refuse(n, fx);
        return;
    }
    move(n, NODE_READY);
    send(n, fx, FRAME_READY);
}

/* A worker is over: it ended, or never began. */
static void worker_ended(struct node *n, uint32_t local_rank, const struct worker_end *end,
                         const struct evidence *evidence, uint64_t now_ms, struct effects *fx)
{
    struct worker *w = &n->workers[local_rank];
    if (w->state != WORKER_STARTING && w->state != WORKER_ALIVE)
        return;
    w->state = WORKER_ENDED;
    pulse_end(n->pulse, local_rank);
    n->nalive--;
    struct frame *frame = send(n, fx, FRAME_EXITED);
    frame->u.exited.local_rank = local_rank;
    frame->u.exited.pid = w->pid;
    frame->u.exited.end = *end;
    if (evidence)
        frame->u.exited.evidence = *evidence;
    buf_reset(&n->gpu);
    node_plan_gpu_format(n->plan, local_rank, &n->gpu);
    frame->u.exited.gpu = buf_str(&n->gpu);
    if (n->nalive == 0 && n->state != NODE_DRAIN)
        drain_begin(n, now_ms, fx);
}

static void on_spawned(struct node *n, uint32_t local_rank, uint32_t pid, struct effects *fx)
{
    struct worker *w = &n->workers[local_rank];
    if (w->state != WORKER_STARTING)
        return;
    w->state = WORKER_ALIVE;
    w->pid = pid;
    w->has_streams = true;
    n->nspawned++;
    n->nstreams++;
    struct frame *frame = send(n, fx, FRAME_STARTED);
    frame->u.started.local_rank = local_rank;
    frame->u.started.pid = pid;
    if (n->stop_signo) /* it was being started when the stop came */
        kill_worker(fx, local_rank, n->stop_signo);
}

static void on_streams_ended(struct node *n, uint32_t local_rank, struct effects *fx)
{
    if (!n->workers[local_rank].has_streams)
        return;
    n->workers[local_rank].has_streams = false;
    n->nstreams--;
    drain_check(n, fx);
}

/* SIGKILL did not end everybody: name them and go on. */
static void give_up(struct node *n, uint64_t now_ms, struct effects *fx)
{
    const struct worker_end unknown = {END_UNKNOWN, 0, false};
    for (uint32_t i = 0; i < n->nworkers; i++) {
        if (n->workers[i].state != WORKER_STARTING && n->workers[i].state != WORKER_ALIVE)
            continue;
        struct note *note = note_add(fx, NOTE_UNKILLABLE);
        note->rank = n->plan->order.first_rank + i;
        note->number = n->workers[i].pid;
        worker_ended(n, i, &unknown, NULL, now_ms, fx);
    }
}

static void on_beat_due(struct node *n, uint64_t now_ms, struct effects *fx)
{
    if (now_ms - n->next_beat_ms > ASLEEP_MS) /* nobody is judged by what waits to be read */
        n->last_heard_ms = now_ms;
    send(n, fx, FRAME_BEAT);
    n->next_beat_ms = now_ms + n->place.beat_ms;
    if (n->is_head_still
        || now_ms - n->last_heard_ms <= n->place.beat_ms * n->opt->beats_missed)
        return;
    note_add(fx, NOTE_HEAD_SILENT)->number = (int64_t)(now_ms - n->last_heard_ms);
    leave(n, now_ms, fx);
}

static void on_tick(struct node *n, uint64_t now_ms, struct effects *fx)
{
    if (now_ms >= n->next_beat_ms)
        on_beat_due(n, now_ms, fx);
    check_pulse(n, now_ms, fx);
    if (now_ms < n->deadline_ms)
        return;
    if (now_ms - n->deadline_ms > ASLEEP_MS) { /* let what has happened meanwhile be heard */
        n->deadline_ms = now_ms + DRAIN_QUIET_MS;
        return;
    }
    n->deadline_ms = UINT64_MAX;
    switch (n->state) {
    case NODE_NOTICE:
        enter_term(n, n->stop.signo, n->stop.grace_ms, now_ms, fx);
        return;
    case NODE_TERM:
        note_add(fx, NOTE_ESCALATED)->number = n->nalive;
        enter_kill(n, now_ms, fx);
        return;
    case NODE_KILL:
        give_up(n, now_ms, fx);
        return;
    case NODE_DRAIN:
        if (!drain_waits_for_reader(n))
            drain_next(n, now_ms, fx);
        return;
    case NODE_IDLE:
    case NODE_PREPARE:
    case NODE_READY:
    case NODE_UP:
    case NODE_REAPED:
    case NODE_STATE_COUNT:
        return;
    }
}

static void on_flowing(struct node *n, bool is_blocked, uint64_t now_ms, struct effects *fx)
{
    n->is_blocked = is_blocked;
    hold(n, PULSE_BLOCKED, is_blocked, now_ms, fx);
    drain_check(n, fx);
    if (is_blocked || n->state != NODE_DRAIN)
        return;
    bool is_slow_reader = n->nleft == 0 && !n->is_final; /* it gets its quiet time each time */
    if (n->deadline_ms == UINT64_MAX || is_slow_reader)
        n->deadline_ms = now_ms + DRAIN_QUIET_MS;
}

/* Once no process is left there is no grace to wait for, only pipes to end. */
static void on_swept(struct node *n, uint32_t left, uint64_t now_ms, struct effects *fx)
{
    n->nleft = left;
    drain_check(n, fx);
    bool waits_for_grace = n->state == NODE_DRAIN && n->deadline_ms != UINT64_MAX
                           && n->deadline_ms > now_ms + DRAIN_TERM_MS && n->drain_step == 2;
    if (waits_for_grace && left == 0)
        n->deadline_ms = now_ms + DRAIN_TERM_MS;
}

/* This node's muster was sent a signal. What it means for the job, the head decides; without a
 * head it means that the user wants out. */
static void on_signal(struct node *n, int signo, uint64_t now_ms, struct effects *fx)
{
    if (!n->is_leaving)
        send(n, fx, FRAME_INTERRUPT)->u.signal.signo = signo;
    else if (signo != SIGNAL_CONT && n->state != NODE_IDLE)
        on_stop(n, SIGNAL_TERM, 0, true, now_ms, fx);
}

void node_step(struct node *n, const struct event *ev, struct effects *out)
{
    switch (ev->type) {
    case EV_BOOT:
        on_boot(n, ev->now_ms, out);
        return;
    case EV_TICK:
        on_tick(n, ev->now_ms, out);
        return;
    case EV_FRAME:
        on_frame(n, &ev->u.frame.frame, ev->now_ms, out);
        return;
    case EV_LINK_LOST:
        leave(n, ev->now_ms, out);
        return;
    case EV_PREPARED:
        on_prepared(n, NULL, out);
        return;
    case EV_PREPARE_FAILED:
        on_prepared(n, ev->u.prepare_failed.err, out);
        return;
    case EV_SPAWNED:
        if (ev->u.spawned.local_rank < n->nworkers)
            on_spawned(n, ev->u.spawned.local_rank, ev->u.spawned.pid, out);
        return;
    case EV_SPAWN_FAILED:
        if (ev->u.spawn_failed.local_rank < n->nworkers) {
            const struct worker_end end = {END_EXEC, ev->u.spawn_failed.sys, false};
            worker_ended(n, ev->u.spawn_failed.local_rank, &end, NULL, ev->now_ms, out);
        }
        return;
    case EV_EXITED:
        if (ev->u.exited.local_rank < n->nworkers)
            worker_ended(n, ev->u.exited.local_rank, &ev->u.exited.end, &ev->u.exited.evidence,
                         ev->now_ms, out);
        return;
    case EV_STREAMS_ENDED:
        if (ev->u.streams_ended.local_rank < n->nworkers)
            on_streams_ended(n, ev->u.streams_ended.local_rank, out);
        return;
    case EV_OUTPUT_BLOCKED:
    case EV_OUTPUT_FLOWING:
        on_flowing(n, ev->type == EV_OUTPUT_BLOCKED, ev->now_ms, out);
        return;
    case EV_SWEPT:
        on_swept(n, ev->u.swept.left, ev->now_ms, out);
        return;
    case EV_NOTIFY:
        if (ev->u.notify.local_rank < n->nworkers)
            on_notify(n, ev->u.notify.local_rank, &ev->u.notify.sign, ev->now_ms);
        return;
    case EV_LOOKED:
        on_looked(n, ev->u.looked.output_at_ms, ev->now_ms, out);
        return;
    case EV_STACK:
        if (ev->u.stack.local_rank < n->nworkers)
            on_stack(n, ev->u.stack.local_rank, ev->u.stack.where, ev->now_ms, out);
        return;
    case EV_STACKED:
        on_stacked(n, ev->u.stacked.file, out);
        return;
    case EV_SIGNAL:
        on_signal(n, ev->u.signal.signo, ev->now_ms, out);
        return;
    case EV_STORE_READY:
    case EV_NODE_LOST:
    case EV_NODE_FAILED:
    case EV_NODE_STATE:
    case EVENT_TYPE_COUNT:
        return; /* the head's */
    }
}
