#include "launcher/core/node.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "launcher/core/node_drain.h"
#include "launcher/core/node_mpi.h"
#include "launcher/core/node_pulse.h"
#include "launcher/core/node_state.h"
#include "launcher/core/node_stop.h"
#include "launcher/core/note.h"

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

void node_move(struct node *n, enum node_state next)
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
    buf_init(&n->sample, 0);
    return n;
}

static void free_workers(struct node *n)
{
    for (uint32_t i = 0; i < n->nworkers; i++)
        free(n->workers[i].gpu);
    free(n->workers);
}

void node_free(struct node *n)
{
    if (!n)
        return;
    node_plan_free(n->plan);
    pulse_free(n->pulse);
    node_mpi_forget(n);
    free(n->meetings);
    free_workers(n);
    buf_fini(&n->sample);
    free(n);
}

const struct node_plan *node_plan(const struct node *n)
{
    return n->plan;
}

bool node_rank_facts(const struct node *n, uint32_t local_rank, uint64_t now_ms,
                     struct rank_facts *out)
{
    if (!n->pulse || local_rank >= n->nworkers)
        return false;
    pulse_facts(n->pulse, local_rank, now_ms, out);
    return true;
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

struct frame *node_send(struct node *n, struct effects *fx, enum frame_type type)
{
    struct frame *frame = &effects_add(fx, FX_SEND)->u.send.frame;
    frame->type = type;
    frame->generation = n->generation;
    return frame;
}

static void refuse(struct node *n, struct effects *fx)
{
    struct frame *frame = node_send(n, fx, FRAME_REFUSED);
    frame->u.refused.err = &n->err;
    frame->u.refused.host = n->facts->host;
    frame->u.refused.node_rank = n->place.node_rank;
}

/* ---- starting ---- */

static void on_boot(struct node *n, uint64_t now_ms, struct effects *fx)
{
    uint32_t slots;
    int rc = node_plan_slots(n->opt, n->facts, &slots, &n->err);
    if (rc < 0) {
        refuse(n, fx);
        return;
    }
    struct frame *hello = node_send(n, fx, FRAME_HELLO);
    hello->u.hello.host = n->facts->host;
    hello->u.hello.slots = slots;
    hello->u.hello.node_rank = n->place.node_rank;
    hello->u.hello.nnodes = n->place.nnodes;
    hello->u.hello.pid = n->place.pid;
    hello->u.hello.via = n->place.via;
    hello->u.hello.reach = n->place.reach;
    n->is_head_still = true; /* until it says its first word */
    if (n->place.beat_ms)
        n->next_beat_ms = now_ms + n->place.beat_ms;
}

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
    n->is_final = n->is_hurried = n->is_sampling = false;
    n->stop_signo = 0;
    n->grace_end_ms = 0;
    node_move(n, NODE_PREPARE);
    struct node_plan *plan = node_plan_build(n->opt, n->facts, order, &n->err);
    if (!plan) {
        node_move(n, NODE_IDLE);
        refuse(n, fx);
        return;
    }
    node_plan_free(n->plan);
    pulse_free(n->pulse);
    free_workers(n);
    n->pulse = pulse_new(order->nworkers, n->opt->heartbeat_ms, n->opt->silence_ms);
    pulse_hold(n->pulse, PULSE_BLOCKED, n->is_blocked, 0);
    n->plan = plan;
    n->nworkers = order->nworkers;
    n->workers = mem_alloc(n->nworkers, sizeof *n->workers);
    if (is_first)
        say_plan_notes(n, fx);
    effects_add(fx, FX_PREPARE);
}

static void on_prepared(struct node *n, enum mpi_mode mpi, struct effects *fx)
{
    if (n->state != NODE_PREPARE)
        return;
    node_move(n, NODE_READY);
    node_send(n, fx, FRAME_READY)->u.ready.mpi = mpi;
}

static void on_prepare_failed(struct node *n, const struct err *failure, struct effects *fx)
{
    if (n->state != NODE_PREPARE)
        return;
    n->err = *failure;
    node_move(n, NODE_IDLE);
    refuse(n, fx);
}

static void on_start(struct node *n, const struct mpi_layout *layout, uint64_t now_ms,
                     struct effects *fx)
{
    if (n->state != NODE_READY)
        return;
    node_move(n, NODE_UP);
    pulse_start(n->pulse, now_ms);
    n->nalive = n->nworkers;
    node_mpi_start(n, layout, fx);
    for (uint32_t i = 0; i < n->nworkers; i++) {
        n->workers[i].state = WORKER_STARTING;
        effects_add(fx, FX_SPAWN)->u.spawn.local_rank = i;
    }
}

/* The signals go first: who dies by them need not hear that it waits in vain. */
static void leave(struct node *n, uint64_t now_ms, struct effects *fx)
{
    bool was_leaving = n->is_leaving;
    node_stop_leave(n, now_ms, fx);
    if (!was_leaving)
        node_mpi_lost(n, fx);
}

/* ---- workers ---- */

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
    struct frame *frame = node_send(n, fx, FRAME_EXITED);
    frame->u.exited.local_rank = local_rank;
    frame->u.exited.pid = w->pid;
    frame->u.exited.end = *end;
    if (evidence)
        frame->u.exited.evidence = *evidence;
    struct buf gpu;
    buf_init(&gpu, 0);
    node_plan_gpu_format(n->plan, local_rank, &gpu);
    frame->u.exited.gpu = w->gpu = buf_steal(&gpu);
    if (n->nalive == 0 && n->state != NODE_DRAIN)
        node_drain_begin(n, now_ms, fx);
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
    struct frame *frame = node_send(n, fx, FRAME_STARTED);
    frame->u.started.local_rank = local_rank;
    frame->u.started.pid = pid;
    if (n->stop_signo) /* it was being started when the stop came */
        node_stop_worker(fx, local_rank, n->stop_signo);
}

static void on_streams_ended(struct node *n, uint32_t local_rank, struct effects *fx)
{
    if (!n->workers[local_rank].has_streams)
        return;
    n->workers[local_rank].has_streams = false;
    n->nstreams--;
    node_drain_check(n, fx);
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

/* ---- frames and events ---- */

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
            on_start(n, frame->u.start.layout, now_ms, fx);
        return;
    case FRAME_SIGNAL:
        if (is_current)
            node_stop_relay(n, frame->u.signal.signo, now_ms, fx);
        return;
    case FRAME_STOP:
        if (is_current)
            node_stop_frame(n, frame, now_ms, fx);
        return;
    case FRAME_STACKS:
        if (is_current)
            node_pulse_stacks(n, frame->u.stacks.may_abort, fx);
        return;
    case FRAME_SAMPLE:
        if (is_current)
            node_pulse_sample(n, now_ms, fx);
        return;
    case FRAME_WANTED:
        if (is_current)
            effects_add(fx, FX_WANTED)->u.wanted = frame->u.gather;
        return;
    case FRAME_GATHERED:
        if (is_current)
            node_mpi_gathered(n, &frame->u.gathered, fx);
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
    case FRAME_SAMPLED:
    case FRAME_GATHER:
    case FRAME_BEAT: /* heard */
    case FRAME_TYPE_COUNT:
        return; /* these go up */
    }
}

static void on_beat_due(struct node *n, uint64_t now_ms, struct effects *fx)
{
    if (now_ms - n->next_beat_ms
        > NODE_ASLEEP_MS) /* nobody is judged by what waits to be read */
        n->last_heard_ms = now_ms;
    node_send(n, fx, FRAME_BEAT);
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
    node_pulse_check(n, now_ms, fx);
    if (now_ms < n->deadline_ms)
        return;
    if (now_ms - n->deadline_ms
        > NODE_ASLEEP_MS) { /* let what has happened meanwhile be heard */
        n->deadline_ms = now_ms + NODE_QUIET_MS;
        return;
    }
    n->deadline_ms = UINT64_MAX;
    switch (n->state) {
    case NODE_NOTICE:
        node_stop_term(n, n->stop.signo, n->stop.grace_ms, now_ms, fx);
        return;
    case NODE_TERM:
        note_add(fx, NOTE_ESCALATED)->number = n->nalive;
        node_stop_kill(n, now_ms, fx);
        return;
    case NODE_KILL:
        give_up(n, now_ms, fx);
        return;
    case NODE_DRAIN:
        if (!node_drain_waits_for_reader(n))
            node_drain_next(n, now_ms, fx);
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
        on_prepared(n, ev->u.prepared.mpi, out);
        return;
    case EV_PREPARE_FAILED:
        on_prepare_failed(n, ev->u.prepare_failed.err, out);
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
        node_drain_flowing(n, ev->type == EV_OUTPUT_BLOCKED, ev->now_ms, out);
        return;
    case EV_SWEPT:
        node_drain_swept(n, ev->u.swept.left, ev->now_ms, out);
        return;
    case EV_NOTIFY:
        if (ev->u.notify.local_rank < n->nworkers)
            node_pulse_notify(n, ev->u.notify.local_rank, &ev->u.notify.sign, ev->now_ms);
        return;
    case EV_LOOKED:
        node_pulse_looked(n, ev->u.looked.output_at_ms, ev->now_ms, out);
        return;
    case EV_STACK:
        if (ev->u.stack.local_rank < n->nworkers)
            node_pulse_stack(n, ev->u.stack.local_rank, ev->u.stack.where, ev->now_ms, out);
        return;
    case EV_STACKED:
        node_pulse_stacked(n, ev->u.stacked.file, out);
        return;
    case EV_SAMPLED:
        node_pulse_sampled(n, ev->u.sampled.text, out);
        return;
    case EV_GATHER:
        node_mpi_gather(n, &ev->u.gather, out);
        return;
    case EV_ABORTED:
        if (ev->u.aborted.local_rank < n->nworkers)
            node_mpi_aborted(n, ev->u.aborted.local_rank, out);
        return;
    case EV_SIGNAL:
        node_stop_signal(n, ev->u.signal.signo, ev->now_ms, out);
        return;
    case EV_STORE_READY:
    case EV_SAMPLE:
    case EV_LINKS_PAUSED:
    case EV_LINKS_RESUMED:
    case EV_NODE_LOST:
    case EV_NODE_FAILED:
    case EV_NODE_STATE:
    case EVENT_TYPE_COUNT:
        return; /* the head's */
    }
}
