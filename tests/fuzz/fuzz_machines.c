/* The machines of a head and its nodes, joined by links that keep order, under any timing. The
 * bytes choose which pending thing happens next: the next frame of a link, the end of a
 * process, a tick that is due or late, a signal, a lost link, a heartbeat, a look of somebody
 * at the ranks, MPI ranks that come to a fence. Only what a driver could produce happens:
 * frames come once and in order, a worker's exit comes after its start and before its reaping.
 *
 * Input: 4 bytes (nodes, restarts and whether it is a plan only, workers, grace, beats and
 * limit), then one byte a step: low 4 bits what, high 4 bits where. At the end all that is
 * pending happens, and the job must come to its end with nobody left.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/job.h"
#include "launcher/core/job_control.h"
#include "launcher/core/job_metrics.h"
#include "launcher/core/node.h"
#include "launcher/core/note.h"
#include "launcher/core/report.h"
#include "tests/sim/setup.h"
#include "launcher/core/event_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FENCES = 2, NODES_MAX = 3, WORKERS_MAX = 3, HEAD = NODES_MAX };
enum proc_state { PROC_NONE, PROC_ALIVE, PROC_KILLED, PROC_DEAD, PROC_REAPED };

struct site {
    struct node *node;
    struct event_queue inbox; /* of its driver: what happened here */
    struct event_queue down;  /* on their way from the head */
    struct proc {
        enum proc_state state;
        bool has_streams, has_child;
    } procs[WORKERS_MAX];
    bool is_up, is_cut, is_blocked, is_sweeping, is_over, was_stopped, is_looked_at,
        is_sampling;
    uint32_t generation;
    bool has_world, is_in_fence[FENCES]; /* MPI ranks run; they wait there */
};

/* A layout on its way to a node. */
struct kept {
    struct mpi_layout layout;
    struct mpi_node nodes[NODES_MAX];
    struct kept *next;
};

struct fuzz {
    struct setup setup;
    struct kept *kept; /* owned */
    uint64_t now_ms;
    uint32_t nnodes, nworkers;
    struct job *job;
    bool is_done;
    struct event_queue inbox, up[NODES_MAX];
    struct site sites[NODES_MAX];
    struct effects effects;
    bool is_mpi;
};

static const struct err lost = {ERR_NODE_LOST, 0, "gone"};
static const char *const fences[FENCES] = {"f", "g"};
enum { SAMPLES = 3 };
static const char *const samples[SAMPLES] = {
    ("rank,0,1,GPU-1,7,30,100;sample,0,-,110,50,4096,120,100,75000,1,2,30,0,-,-,-,-,-;"
     "why,NVML: none;"),
    "sample,2,-,110,50,4096,-,-,-,-,-,-,-,-,-,-,-,-;rank,999,-,-,-,-,100;", "no sample"};
static const struct err failed = {ERR_SYSTEM, 5, "cannot"};

static void post(struct event_queue *q, enum event_type type)
{
    const struct event ev = {.type = type};
    event_queue_push(q, &ev);
}

/* ---- a node's driver ---- */

static void post_swept(struct fuzz *f, struct site *s)
{
    struct event ev = {.type = EV_SWEPT};
    for (uint32_t i = 0; i < f->nworkers; i++) {
        const struct proc *p = &s->procs[i];
        ev.u.swept.left += p->state == PROC_ALIVE || p->state == PROC_KILLED ? 1 : 0;
        ev.u.swept.left += p->has_child ? 1 : 0;
    }
    event_queue_push(&s->inbox, &ev);
}

static void end_streams(struct site *s, uint32_t i)
{
    struct event ev = {.type = EV_STREAMS_ENDED};
    ev.u.streams_ended.local_rank = i;
    if (!s->procs[i].has_streams || s->is_blocked || s->procs[i].has_child
        || s->procs[i].state != PROC_DEAD)
        return;
    s->procs[i].has_streams = false;
    event_queue_push(&s->inbox, &ev);
}

static void block(struct fuzz *f, struct site *s, bool is_blocked)
{
    if (s->is_blocked == is_blocked)
        return;
    s->is_blocked = is_blocked;
    post(&s->inbox, is_blocked ? EV_OUTPUT_BLOCKED : EV_OUTPUT_FLOWING);
    for (uint32_t i = 0; i < f->nworkers; i++)
        end_streams(s, i);
}

static void die(struct fuzz *f, struct site *s, uint32_t i, enum end_kind kind, int code)
{
    struct proc *p = &s->procs[i];
    if (p->state != PROC_ALIVE && p->state != PROC_KILLED)
        return;
    p->state = PROC_DEAD;
    struct event ev = {.type = EV_EXITED};
    ev.u.exited.local_rank = i;
    ev.u.exited.end = (struct worker_end){kind, code, false};
    event_queue_push(&s->inbox, &ev);
    end_streams(s, i);
    if (s->is_sweeping)
        post_swept(f, s);
}

static void spawn(struct fuzz *f, struct site *s, uint32_t i, uint8_t where)
{
    assert(!s->was_stopped && s->procs[i].state == PROC_NONE);
    struct event ev = {.type = EV_SPAWN_FAILED};
    ev.u.spawn_failed.local_rank = i;
    ev.u.spawn_failed.sys = 11;
    if (where == 15) {
        event_queue_push(&s->inbox, &ev);
        return;
    }
    s->procs[i] = (struct proc){PROC_ALIVE, true, where == 14};
    struct event up = {.type = EV_SPAWNED};
    up.u.spawned.local_rank = i;
    up.u.spawned.pid = 100 + i;
    event_queue_push(&s->inbox, &up);
    ev.u.spawn_failed.sys = 2;
    if (where == 13) {
        event_queue_push(&s->inbox, &ev);
        die(f, s, i, END_EXIT, 127);
    }
}

static void sweep(struct fuzz *f, struct site *s, int signo)
{
    s->is_sweeping = true;
    post_swept(f, s);
    for (uint32_t i = 0; signo && i < f->nworkers; i++) {
        if (signo == 9)
            die(f, s, i, END_SIGNAL, 9);
        if (!s->procs[i].has_child)
            continue;
        s->procs[i].has_child = false;
        end_streams(s, i);
        post_swept(f, s);
    }
}

/* A driver has one queue: who has come to a fence comes before the next generation. */
static void forget_fences(struct site *s)
{
    struct event ev;
    s->has_world = false;
    for (size_t n = s->inbox.len; n; n--)
        if (event_queue_pop(&s->inbox, &ev) && ev.type != EV_GATHER)
            event_queue_push(&s->inbox, &ev);
}

/* Queued exits of the children that are reaped were taken in by the driver before: they stay.
 */
static void reap(struct fuzz *f, struct site *s)
{
    s->is_sweeping = false;
    forget_fences(s);
    for (uint32_t i = 0; i < f->nworkers; i++) {
        assert(s->procs[i].state != PROC_ALIVE && s->procs[i].state != PROC_REAPED);
        s->procs[i] = (struct proc){PROC_REAPED, false, s->procs[i].has_child};
    }
}

/* At an ending some are ended by it, as Python workers are. */
static void show_stacks(struct fuzz *f, struct site *s, bool may_abort)
{
    assert(!s->is_looked_at);
    s->is_looked_at = true;
    struct event ev = {.type = EV_STACK};
    for (uint32_t i = 0; i < f->nworkers; i++) {
        if (s->procs[i].state != PROC_ALIVE && s->procs[i].state != PROC_KILLED)
            continue;
        ev.u.stack.local_rank = i;
        ev.u.stack.where = i ? "here" : "there";
        event_queue_push(&s->inbox, &ev);
        if (may_abort && i == 0)
            die(f, s, i, END_SIGNAL, 6);
    }
    post(&s->inbox, EV_STACKED);
}

/* All nodes take part in the one, the last two in the other. */
static void enter_fence(struct fuzz *f, uint32_t k, uint32_t fence)
{
    static const uint32_t nodes[] = {0, 1, 2};
    struct site *s = &f->sites[k];
    uint32_t first = fence && f->nnodes > 1 ? f->nnodes - 2 : 0;
    if (!s->has_world || s->is_over || s->is_in_fence[fence] || k < first)
        return;
    s->is_in_fence[fence] = true;
    struct event ev = {.type = EV_GATHER};
    ev.u.gather = (struct gather){.operation = fences[fence],
                                  .nodes = nodes + first,
                                  .nnodes = f->nnodes - first,
                                  .data = {"x", 1}};
    event_queue_push(&s->inbox, &ev);
}

static void leave_fence(const struct fuzz *f, struct site *s, const struct gathered *answer)
{
    bool is_second = strcmp(answer->operation, fences[1]) == 0;
    uint32_t n = is_second && f->nnodes > 1 ? 2 : f->nnodes;
    assert(s->is_in_fence[is_second]);
    assert(answer->data.n == (answer->is_lost ? 0 : n));
    s->is_in_fence[is_second] = false;
}

static void apply_node(struct fuzz *f, uint32_t k, const struct effect *fx, uint8_t where)
{
    struct site *s = &f->sites[k];
    struct event ev = {.type = EV_FRAME};
    switch (fx->type) {
    case FX_SEND:
        ev.u.frame.node = k;
        ev.u.frame.frame = fx->u.send.frame;
        if (ev.u.frame.frame.type == FRAME_EXITED)
            ev.u.frame.frame.u.exited.gpu = "";
        if (ev.u.frame.frame.type == FRAME_SAMPLED)
            ev.u.frame.frame.u.sampled.text = str_from(samples[where % SAMPLES]);
        if (!s->is_cut)
            event_queue_push(&f->up[k], &ev);
        return;
    case FX_PREPARE:
        s->generation = node_plan(s->node)->order.generation;
        s->was_stopped = s->has_world = s->is_sampling = false;
        memset(s->is_in_fence, 0, sizeof s->is_in_fence);
        memset(s->procs, 0, sizeof s->procs);
        ev.type = where == 15 ? EV_PREPARE_FAILED : EV_PREPARED;
        if (where == 15)
            ev.u.prepare_failed.err = &failed;
        else
            ev.u.prepared.mpi = f->is_mpi ? MPI_MODE_PMIX : MPI_MODE_NONE;
        event_queue_push(&s->inbox, &ev);
        return;
    case FX_SPAWN:
        assert(!f->setup.options.is_plan);
        spawn(f, s, fx->u.spawn.local_rank, where);
        return;
    case FX_KILL:
        if (s->procs[fx->u.kill.local_rank].state == PROC_ALIVE && fx->u.kill.signo == 9)
            s->procs[fx->u.kill.local_rank].state = PROC_KILLED;
        return;
    case FX_SWEEP:
        sweep(f, s, fx->u.sweep.signo);
        return;
    case FX_CLOSE_STREAMS:
        s->procs[fx->u.spawn.local_rank].has_streams = false;
        return;
    case FX_REAP:
        reap(f, s);
        return;
    case FX_DROP_OUTPUT:
        block(f, s, false);
        return;
    case FX_LOOK:
        ev.type = EV_LOOKED;
        ev.u.looked.output_at_ms = where & 1 ? f->now_ms : 0;
        event_queue_push(&s->inbox, &ev);
        return;
    case FX_STACKS:
        show_stacks(f, s, fx->u.stacks.may_abort);
        return;
    case FX_SAMPLE:
        assert(!s->is_sampling);
        s->is_sampling = true;
        ev.type = EV_SAMPLED;
        ev.u.sampled.text = str_from(samples[where % SAMPLES]);
        event_queue_push(&s->inbox, &ev);
        return;
    case FX_WORLD:
        assert(f->is_mpi);
        s->has_world = true;
        return;
    case FX_GATHERED:
        leave_fence(f, s, &fx->u.gathered);
        return;
    case FX_WANTED:
    case FX_NOTE:
    case FX_STORE_GATE:
    case FX_STORE_RESET:
    case FX_SUSPEND:
    case FX_DROP_NODE:
    case FX_DONE:
    case EFFECT_TYPE_COUNT:
        return;
    }
}

static void speak(const struct effect *fx)
{
    struct buf text;
    buf_init(&text, 0);
    effect_format(fx, &text);
    if (fx->type == FX_NOTE)
        note_format(&fx->u.note, &text);
    assert(text.len);
    buf_fini(&text);
}

static void step_node(struct fuzz *f, uint32_t k, struct event *ev, uint8_t where)
{
    struct site *s = &f->sites[k];
    if (s->is_over)
        return;
    ev->now_ms = f->now_ms;
    s->is_looked_at = s->is_looked_at && ev->type != EV_STACKED;
    s->is_sampling = s->is_sampling && ev->type != EV_SAMPLED;
    if (ev->type == EV_FRAME && ev->u.frame.frame.type == FRAME_STOP
        && ev->u.frame.frame.generation == s->generation)
        s->was_stopped = true;
    effects_clear(&f->effects);
    node_step(s->node, ev, &f->effects);
    for (size_t i = 0; i < f->effects.len; i++) {
        speak(&f->effects.items[i]);
        apply_node(f, k, &f->effects.items[i], where);
    }
    s->is_over = node_is_done(s->node);
    for (uint32_t i = 0; s->is_over && i < f->nworkers; i++)
        assert(s->procs[i].state != PROC_ALIVE);
}

/* ---- the head's driver ---- */

/* What a frame points to would go with the head's next step. */
static void keep_layout(struct fuzz *f, const struct mpi_layout **layout)
{
    struct kept *kept = mem_alloc(1, sizeof *kept);
    for (uint32_t i = 0; i < (*layout)->nnodes; i++) {
        kept->nodes[i] = (*layout)->nodes[i];
        kept->nodes[i].host = "host";
    }
    kept->layout = **layout;
    kept->layout.nodes = kept->nodes;
    kept->next = f->kept;
    f->kept = kept;
    *layout = &kept->layout;
}

static void keep(struct fuzz *f, struct frame *frame)
{
    struct gathered *answer = &frame->u.gathered;
    if (frame->type == FRAME_START && frame->u.start.layout)
        keep_layout(f, &frame->u.start.layout);
    if (frame->type != FRAME_GATHERED)
        return;
    answer->operation = fences[strcmp(answer->operation, fences[1]) == 0];
    answer->data.p = "xxx";
}

static void apply_head(struct fuzz *f, const struct effect *fx)
{
    struct event ev = {.type = EV_FRAME};
    switch (fx->type) {
    case FX_SEND:
        ev.u.frame.frame = fx->u.send.frame;
        assert(fx->u.send.node < f->nnodes);
        keep(f, &ev.u.frame.frame);
        if (f->sites[fx->u.send.node].is_up && !f->sites[fx->u.send.node].is_cut)
            event_queue_push(&f->sites[fx->u.send.node].down, &ev);
        return;
    case FX_STORE_RESET:
        ev.type = EV_STORE_READY;
        ev.u.store_ready.generation = fx->u.store_reset.generation;
        event_queue_push(&f->inbox, &ev);
        return;
    case FX_DROP_NODE:
        post(&f->sites[fx->u.drop_node.node].down, EV_LINK_LOST);
        return;
    case FX_DONE:
        assert(!f->is_done && job_done(f->job));
        f->is_done = true;
        for (uint32_t k = 0; k < f->nnodes; k++)
            post(&f->sites[k].down, EV_LINK_LOST);
        return;
    case FX_WORLD:
    case FX_GATHERED:
    case FX_WANTED:
    case FX_NOTE:
    case FX_STORE_GATE:
    case FX_SUSPEND:
    case FX_PREPARE:
    case FX_SPAWN:
    case FX_KILL:
    case FX_SWEEP:
    case FX_CLOSE_STREAMS:
    case FX_REAP:
    case FX_DROP_OUTPUT:
    case FX_LOOK:
    case FX_STACKS:
    case FX_SAMPLE:
    case EFFECT_TYPE_COUNT:
        return;
    }
}

/* Somebody who asks at any time is answered by what the job holds then. */
static void look_at_job(struct fuzz *f)
{
    static const enum control_verb verbs[] = {CONTROL_STATUS, CONTROL_STACK, CONTROL_SAMPLE};
    const struct control_facts facts = {.now_ms = f->now_ms};
    struct job_metrics metrics;
    struct buf text;
    buf_init(&text, 0);
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        job_control_answer(f->job, verbs[i], &facts, &text);
    job_metrics_look(f->job, f->now_ms, &metrics);
    for (size_t i = 0; i < metrics.nnodes; i++)
        buf_adds(&text, metrics.nodes[i].host ? metrics.nodes[i].host : "-");
    job_metrics_fini(&metrics);
    buf_fini(&text);
}

static void step_head(struct fuzz *f, struct event *ev)
{
    if (f->is_done)
        return;
    ev->now_ms = f->now_ms;
    effects_clear(&f->effects);
    job_step(f->job, ev, &f->effects);
    for (size_t i = 0; i < f->effects.len; i++) {
        speak(&f->effects.items[i]);
        apply_head(f, &f->effects.items[i]);
    }
    look_at_job(f);
}

/* ---- what may happen next ---- */

static void boot(struct fuzz *f, uint32_t k)
{
    struct event ev = {.type = EV_BOOT};
    if (f->sites[k].is_up)
        return;
    f->sites[k].is_up = true;
    if (f->is_done) /* the connection is refused */
        post(&f->sites[k].down, EV_LINK_LOST);
    step_node(f, k, &ev, 0);
}

static void cut(struct fuzz *f, uint32_t k)
{
    struct event ev = {.type = EV_NODE_LOST};
    if (f->sites[k].is_cut)
        return;
    f->sites[k].is_cut = true;
    ev.u.node_lost.node = k;
    ev.u.node_lost.err = &lost;
    event_queue_push(&f->up[k], &ev);
    post(&f->sites[k].down, EV_LINK_LOST);
}

static void tick(struct fuzz *f, uint32_t who, bool is_late)
{
    struct event ev = {.type = EV_TICK};
    uint64_t at = who == HEAD ? job_deadline(f->job) : node_deadline(f->sites[who].node);
    if (at == UINT64_MAX)
        return;
    if (at > f->now_ms)
        f->now_ms = at;
    f->now_ms += is_late ? 50000 : 0;
    if (who == HEAD)
        step_head(f, &ev);
    else if (f->sites[who].is_up)
        step_node(f, who, &ev, 0);
}

static void deliver(struct fuzz *f, uint32_t who, struct event_queue *q, uint8_t where)
{
    struct event ev;
    if (who != HEAD && !f->sites[who].is_up)
        return;
    if (!event_queue_pop(q, &ev))
        return;
    if (who == HEAD)
        step_head(f, &ev);
    else
        step_node(f, who, &ev, where);
}

static void signal_head(struct fuzz *f, uint8_t where)
{
    static const int signals[] = {2, 15, 1, 3, 10, 12, 20, 18, 13};
    struct event ev = {.type = EV_SIGNAL};
    ev.u.signal.signo = signals[where % (sizeof signals / sizeof signals[0])];
    ev.u.signal.is_at_once = where & 0x80;
    step_head(f, &ev);
}

/* A worker's message, or news of output. */
static void sign(struct fuzz *f, uint32_t k, uint32_t i, uint8_t where)
{
    struct event ev = {.type = EV_NOTIFY};
    struct site *s = &f->sites[k];
    if (s->procs[i].state != PROC_ALIVE)
        return;
    ev.u.notify.local_rank = i;
    ev.u.notify.sign.is_alive = !(where & 8);
    ev.u.notify.sign.step = (struct maybe_u64){where & 1, where};
    ev.u.notify.sign.section = where & 2 ? where & 1 ? "+save" : "-save" : NULL;
    ev.u.notify.sign.section_ms = where & 4 ? 3000 : 0;
    event_queue_push(&s->inbox, &ev);
    struct event output = {.type = EV_LOOKED};
    output.u.looked.output_at_ms = f->now_ms;
    if (where & 4)
        event_queue_push(&s->inbox, &output);
}

static void happen(struct fuzz *f, uint8_t byte)
{
    uint8_t where = byte >> 4;
    uint32_t k = where % f->nnodes, i = where / f->nnodes % f->nworkers;
    struct site *s = &f->sites[k];
    switch (byte & 15) {
    case 0:
        boot(f, k);
        return;
    case 1:
        deliver(f, HEAD, &f->up[k], 0);
        return;
    case 2:
        deliver(f, HEAD, &f->inbox, 0);
        return;
    case 3:
        deliver(f, k, &s->down, where);
        return;
    case 4:
        deliver(f, k, &s->inbox, where);
        return;
    case 5:
        tick(f, k, false);
        return;
    case 6:
        tick(f, HEAD, false);
        return;
    case 7:
        die(f, s, i, END_EXIT, 0);
        return;
    case 8:
        die(f, s, i, where & 1 ? END_EXIT : END_SIGNAL, where & 4 ? 93 : 7);
        return;
    case 9:
        signal_head(f, where);
        return;
    case 10:
        cut(f, k);
        return;
    case 11:
        block(f, s, where & 8);
        return;
    case 12:
        tick(f, where & 1 ? HEAD : k, true);
        return;
    case 13: /* a SIGCHLD while sweeping */
        if (s->is_sweeping)
            post_swept(f, s);
        return;
    case 14:
        if (f->is_mpi && where & 8)
            enter_fence(f, k, where & 1);
        else
            sign(f, k, i, where);
        return;
    default:
        if (!where)
            post(&f->inbox, EV_SAMPLE);
        f->now_ms += (uint64_t)where * where * where;
    }
}

/* ---- the rest of the story ---- */

static void drain(struct fuzz *f)
{
    bool is_idle = false;
    while (!is_idle) {
        is_idle = !f->inbox.len;
        deliver(f, HEAD, &f->inbox, 0);
        for (uint32_t k = 0; k < f->nnodes; k++) {
            struct site *s = &f->sites[k];
            is_idle = is_idle && !f->up[k].len && !s->down.len && !s->inbox.len;
            deliver(f, HEAD, &f->up[k], 0);
            deliver(f, k, &s->down, 0);
            deliver(f, k, &s->inbox, 0);
        }
    }
}

static void finish(struct fuzz *f)
{
    for (uint32_t k = 0; k < f->nnodes; k++) {
        boot(f, k);
        block(f, &f->sites[k], false);
    }
    for (int round = 0; round < 400; round++) {
        drain(f);
        bool is_over = f->is_done;
        for (uint32_t k = 0; k < f->nnodes; k++) {
            struct site *s = &f->sites[k];
            is_over = is_over && s->is_over;
            for (uint32_t i = 0; i < f->nworkers; i++) {
                bool is_killed = s->procs[i].state == PROC_KILLED;
                die(f, s, i, is_killed ? END_SIGNAL : END_EXIT, is_killed ? 9 : 0);
            }
        }
        if (is_over)
            return;
        drain(f);
        for (uint32_t who = 0; who < f->nnodes; who++)
            tick(f, who, false);
        tick(f, HEAD, false);
    }
    abort(); /* it does not end */
}

static void make(struct fuzz *f, const uint8_t *head)
{
    f->nnodes = 1 + head[0] % NODES_MAX;
    f->nworkers = 1 + head[1] % WORKERS_MAX;
    setup_init(&f->setup, f->nworkers);
    f->setup.options.max_restarts = head[0] / NODES_MAX % 4;
    f->setup.options.hosts = head[3] & 64 ? "list" : NULL;
    f->setup.options.nnodes_min = head[3] & 32 ? 1 : f->nnodes;
    f->setup.options.restart_delay_ms = head[3] & 4 ? 700 : 0;
    f->setup.options.min_uptime_ms = head[3] & 8 ? 5000 : 0;
    f->setup.options.is_plan = head[0] >= 0xc0;
    f->setup.options.grace_ms = head[2] % 4 ? (uint64_t)head[2] * 100 : 0;
    f->setup.options.timeout_ms = head[3] & 2 ? (uint64_t)head[3] * 100 : 0;
    f->setup.options.heartbeat_ms = head[3] & 4 ? 1500 : 0;
    f->setup.options.silence_ms = head[3] & 8 ? 4000 : 0;
    f->setup.options.preempt_signal = head[3] & 16 ? "USR2:3s" : NULL;
    f->is_mpi = head[3] & 128;
    uint64_t beat_ms = head[3] & 1 ? 2000 : 0;
    f->job = job_new(&f->setup.options, f->nnodes, beat_ms);
    for (uint32_t k = 0; k < f->nnodes; k++) {
        const struct node_place place = {
            .beat_ms = beat_ms, .node_rank = k % 2 ? k : NODE_RANK_ANY, .pid = k};
        f->sites[k].node = node_new(&f->setup.options, &f->setup.facts, &place);
    }
    struct event ev = {.type = EV_BOOT};
    ev.u.boot.addr = "127.0.0.1";
    ev.u.boot.port = 29500;
    step_head(f, &ev);
}

static void fini(struct fuzz *f)
{
    struct buf text;
    buf_init(&text, 0);
    report_format(f->job, &f->setup.options, &text);
    const struct verdict *v = job_verdict(f->job);
    assert((v->kind == VERDICT_OK) == (verdict_exit_status(v) == 0));
    assert((v->kind == VERDICT_OK) == (text.len == 0));
    buf_fini(&text);
    for (uint32_t k = 0; k < f->nnodes; k++) {
        node_free(f->sites[k].node);
        event_queue_fini(&f->sites[k].inbox);
        event_queue_fini(&f->sites[k].down);
        event_queue_fini(&f->up[k]);
    }
    event_queue_fini(&f->inbox);
    effects_fini(&f->effects);
    job_free(f->job);
    for (struct kept *next; f->kept; f->kept = next) {
        next = f->kept->next;
        free(f->kept);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { HEAD_BYTES = 4 };
    if (size < HEAD_BYTES || size > 2000)
        return 0;
    struct fuzz *f = mem_alloc(1, sizeof *f);
    make(f, data);
    for (size_t i = HEAD_BYTES; i < size; i++)
        happen(f, data[i]);
    finish(f);
    fini(f);
    free(f);
    return 0;
}
