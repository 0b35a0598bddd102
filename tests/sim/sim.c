#include "tests/sim/sim.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tests/sim/world.h"
#include "launcher/core/event_text.h"

enum {
    BEAT_MS = 2000,
    LINK_TIMEOUT_MS = 8000, /* TCP_USER_TIMEOUT of the links */
    QUIT = 3,
    USR1 = 10,
    USR2 = 12,
    CONT = 18,
    TSTP = 20
};

static const char *const fault_names[][2] = {
#define X(name, what) [SIM_##name] = {#name, what},
    SIM_FAULTS(X)
#undef X
};
static_assert(sizeof fault_names / sizeof fault_names[0] == SIM_FAULT_COUNT, "one row a fault");

static const struct err lost = {ERR_NODE_LOST, 0, "connection lost"};
static const struct err refused = {ERR_UNAVAILABLE, 0, "connection refused"};

const char *sim_fault_name(enum sim_fault_kind kind)
{
    return fault_names[kind][0];
}

const char *sim_fault_text(enum sim_fault_kind kind)
{
    return fault_names[kind][1];
}

uint64_t world_random(struct world *w, uint64_t n)
{
    uint64_t z = w->random += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % n;
}

const struct sim_fault *world_find_fault(const struct world *w, enum sim_fault_kind kind,
                                         uint32_t node)
{
    for (size_t i = 0; i < w->config->nfaults; i++)
        if (w->config->faults[i].kind == kind && w->config->faults[i].node == node)
            return &w->config->faults[i];
    return NULL;
}

void world_post(struct world *w, uint32_t target, uint64_t delay_ms, const struct event *ev,
                uint32_t generation)
{
    const struct item item = {
        .kind = ITEM_EVENT, .target = target, .generation = generation, .ev = *ev};
    heap_push(&w->heap, w->now_ms + delay_ms, &item);
}

static void mix(struct world *w, uint64_t v)
{
    w->result->hash = (w->result->hash ^ v) * 0x100000001b3u;
}

static bool is_local(const struct world *w)
{
    return w->config->nodes == 1; /* head and node in one process */
}

/* ---- network ---- */

static uint64_t arrival(struct world *w, uint64_t *last_ms)
{
    uint64_t at = w->now_ms + (is_local(w) ? 0 : 1 + world_random(w, 3));
    return *last_ms = at > *last_ms ? at : *last_ms;
}

/* What a frame would take on the wire, generously. */
static uint64_t frame_bytes(const struct frame *frame)
{
    switch (frame->type) {
    case FRAME_HELLO:
    case FRAME_PLAN:
        return 256;
    case FRAME_REFUSED:
        return 300;
    case FRAME_EXITED:
        return 64;
    case FRAME_READY:
    case FRAME_START:
    case FRAME_STARTED:
    case FRAME_SIGNAL:
    case FRAME_STOP:
    case FRAME_REAPED:
    case FRAME_HUNG:
    case FRAME_STACKS:
    case FRAME_STACKED:
    case FRAME_SAMPLE:
    case FRAME_SAMPLED:
    case FRAME_BEAT:
    case FRAME_INTERRUPT:
    case FRAME_BYE:
    case FRAME_GATHER:
    case FRAME_GATHERED:
    case FRAME_WANTED:
    case FRAME_TYPE_COUNT:
        break;
    case FRAME_STACK:
        return 128;
    }
    return 24;
}

static void count_frame(struct world *w, const struct frame *frame)
{
    if (frame->type == FRAME_BEAT) {
        w->beats++;
        return;
    }
    if (frame->type == FRAME_SAMPLE || frame->type == FRAME_SAMPLED) {
        look_count(w, frame);
        return;
    }
    w->result->frames++;
    w->result->bytes += frame_bytes(frame);
}

static void send_down(struct world *w, uint32_t node, const struct frame *frame)
{
    struct sim_node *n = &w->nodes[node];
    count_frame(w, frame);
    if (!n->is_up || n->is_dead || n->is_lost || n->is_down_cut)
        return;
    struct event ev = {.type = EV_FRAME};
    ev.u.frame.frame = *frame;
    if (frame->type == FRAME_GATHERED)
        fence_keep(w, &ev.u.frame.frame.u.gathered);
    world_post(w, node, arrival(w, &n->last_down_ms) - w->now_ms, &ev, HEAP_ANY);
}

static void send_up(struct world *w, uint32_t node, const struct frame *frame)
{
    struct sim_node *n = &w->nodes[node];
    if (n->is_lost || n->is_up_cut || w->is_done)
        return;
    count_frame(w, frame);
    struct event ev = {.type = EV_FRAME};
    ev.u.frame.node = node;
    ev.u.frame.frame = *frame;
    if (frame->type == FRAME_EXITED)
        ev.u.frame.frame.u.exited.gpu = ""; /* the node's buffer does not live so long */
    if (frame->type == FRAME_SAMPLED)
        look_keep(w, node, &ev.u.frame.frame);
    world_post(w, HEAP_HEAD, arrival(w, &n->last_up_ms) - w->now_ms, &ev, HEAP_ANY);
}

static void lose_link(struct world *w, uint32_t node, uint64_t delay_ms)
{
    const struct event ev = {.type = EV_LINK_LOST};
    world_post(w, node, delay_ms, &ev, HEAP_ANY);
}

static void lose_node(struct world *w, uint32_t node, uint64_t delay_ms, const struct err *err)
{
    struct event ev = {.type = EV_NODE_LOST};
    ev.u.node_lost.node = node;
    ev.u.node_lost.err = err;
    world_post(w, HEAP_HEAD, delay_ms, &ev, HEAP_ANY);
    ev.type = EV_NODE_FAILED; /* who started it hears of its end too */
    ev.u.node_failed.node = node;
    ev.u.node_failed.err = err;
    world_post(w, HEAP_HEAD, delay_ms + 1 + world_random(w, 20), &ev, HEAP_ANY);
}

/* ---- effects ---- */

static void apply_done(struct world *w)
{
    check_done(w);
    w->is_done = true;
    w->result->done_ms = w->now_ms;
    for (uint32_t i = 0; i < w->config->nodes; i++) {
        struct sim_node *n = &w->nodes[i];
        if (n->is_up && !n->is_dead && !n->is_down_cut)
            lose_link(w, i, arrival(w, &n->last_down_ms) - w->now_ms);
    }
}

static void apply_suspend(struct world *w)
{
    w->job_thaw_ms = w->now_ms + w->suspend_ms;
    if (is_local(w))
        w->nodes[0].thaw_ms = w->job_thaw_ms;
    struct event ev = {.type = EV_SIGNAL};
    ev.u.signal.signo = CONT;
    world_post(w, HEAP_HEAD, w->suspend_ms, &ev, HEAP_ANY);
}

static void apply_head(struct world *w, const struct effect *fx)
{
    if (fx->type == FX_SEND)
        send_down(w, fx->u.send.node, &fx->u.send.frame);
    else if (fx->type == FX_STORE_RESET) {
        struct event ev = {.type = EV_STORE_READY};
        ev.u.store_ready.generation = fx->u.store_reset.generation;
        world_post(w, HEAP_HEAD, world_random(w, 5), &ev, HEAP_ANY);
    } else if (fx->type == FX_SUSPEND)
        apply_suspend(w);
    else if (fx->type == FX_DONE)
        apply_done(w);
}

static void apply_prepare(struct world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    check_node_over(w, node);
    for (uint32_t i = 0; i < w->config->workers; i++)
        n->procs[i] = (struct proc){0};
    n->generation = node_plan(n->machine)->order.generation;
    n->is_reaped = false;
    struct event ev = {.type = EV_PREPARED};
    ev.u.prepared.mpi = w->config->is_mpi ? MPI_MODE_PMI : MPI_MODE_NONE;
    if (world_find_fault(w, SIM_REFUSE, node)) {
        const struct cause cause = {.kind = VERDICT_ERROR, .node = node};
        check_cause(w, &cause);
        ev.type = EV_PREPARE_FAILED;
        if (!n->refusal)
            n->refusal = mem_alloc(1, sizeof *n->refusal);
        err_set(n->refusal, ERR_GPU_REQUEST, "<%u> has no such GPU", node);
        ev.u.prepare_failed.err = n->refusal;
    }
    world_post(w, node, 0, &ev, HEAP_ANY);
}

static void apply_node(struct world *w, uint32_t node, const struct effect *fx)
{
    switch (fx->type) {
    case FX_SEND:
        send_up(w, node, &fx->u.send.frame);
        return;
    case FX_PREPARE:
        apply_prepare(w, node);
        return;
    case FX_SPAWN:
        process_spawn(w, node, fx->u.spawn.local_rank);
        return;
    case FX_KILL:
        process_kill(w, node, fx->u.kill.local_rank, fx->u.kill.signo);
        return;
    case FX_SWEEP:
        process_sweep(w, node, fx->u.sweep.signo);
        return;
    case FX_CLOSE_STREAMS:
        process_close_streams(w, node, fx->u.spawn.local_rank);
        return;
    case FX_REAP:
        process_reap(w, node);
        w->nodes[node].is_reaped = true;
        return;
    case FX_DROP_OUTPUT:
        process_block(w, node, false);
        return;
    case FX_LOOK:
        process_look(w, node);
        return;
    case FX_STACKS:
        process_stacks(w, node, fx->u.stacks.may_abort);
        return;
    case FX_SAMPLE:
        look_measure(w, node);
        return;
    case FX_WORLD:
        fence_begin(w, node, fx->u.world.layout);
        return;
    case FX_GATHERED:
        fence_answer(w, node, &fx->u.gathered);
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

/* ---- steps ---- */

static void print(struct world *w, uint32_t target, const struct event *ev,
                  const struct effect *fx)
{
    struct buf text;
    buf_init(&text, 0);
    if (ev)
        event_format(ev, &text);
    else
        effect_format(fx, &text);
    if (target == HEAP_HEAD)
        fprintf(w->config->trace, "%llu head  %s%s\n", (unsigned long long)w->now_ms,
                ev ? "" : "  -> ", buf_str(&text));
    else
        fprintf(w->config->trace, "%llu node%u %s%s\n", (unsigned long long)w->now_ms, target,
                ev ? "" : "  -> ", buf_str(&text));
    buf_fini(&text);
}

static uint64_t deadline(const struct world *w, uint32_t target)
{
    if (target == HEAP_HEAD)
        return job_deadline(w->job);
    uint64_t at = node_deadline(w->nodes[target].machine);
    return at == UINT64_MAX ? at : at - w->nodes[target].offset_ms;
}

static uint64_t *tick_of(struct world *w, uint32_t target)
{
    return target == HEAP_HEAD ? &w->job_tick_ms : &w->nodes[target].tick_ms;
}

static void push_tick(struct world *w, uint32_t target, uint64_t at_ms)
{
    const struct item item = {.kind = ITEM_TICK, .target = target};
    *tick_of(w, target) = at_ms;
    heap_push(&w->heap, at_ms, &item);
}

static void arm(struct world *w, uint32_t target)
{
    uint64_t at_ms = deadline(w, target);
    if (at_ms < w->now_ms)
        at_ms = w->now_ms;
    if (at_ms < *tick_of(w, target))
        push_tick(w, target, at_ms);
}

static void step(struct world *w, uint32_t target, struct event *ev)
{
    w->result->steps++;
    mix(w, w->now_ms << 8 ^ (uint64_t)target << 32 ^ ev->type);
    if (ev->type == EV_FRAME)
        mix(w, ev->u.frame.frame.type + 1000u * ev->u.frame.frame.generation);
    ev->now_ms = w->now_ms + (target == HEAP_HEAD ? 0 : w->nodes[target].offset_ms);
    if (w->config->trace)
        print(w, target, ev, NULL);
    effects_clear(&w->effects);
    if (target == HEAP_HEAD)
        job_step(w->job, ev, &w->effects);
    else
        node_step(w->nodes[target].machine, ev, &w->effects);
    for (size_t i = 0; i < w->effects.len; i++) {
        const struct effect *fx = &w->effects.items[i];
        mix(w, fx->type);
        if (w->config->trace)
            print(w, target, NULL, fx);
        if (target == HEAP_HEAD)
            apply_head(w, fx);
        else
            apply_node(w, target, fx);
    }
    if (target == HEAP_HEAD)
        look_check(w, ev);
    arm(w, target);
}

static void head_event(struct world *w, struct event *ev)
{
    if (w->is_done)
        return;
    int signo = ev->type == EV_SIGNAL ? ev->u.signal.signo : 0;
    if (signo && signo != USR1 && signo != USR2 && signo != CONT && signo != TSTP
        && signo != QUIT) {
        const struct cause cause = {.kind = VERDICT_SIGNAL, .signo = signo};
        check_cause(w, &cause);
    }
    if (ev->type == EV_FRAME && ev->u.frame.frame.type == FRAME_HELLO)
        ssh_linked(w, ev->u.frame.node);
    if (ev->type == EV_FRAME && ev->u.frame.frame.type == FRAME_REAPED)
        w->nodes[ev->u.frame.node].reaped_heard = ev->u.frame.frame.generation;
    if (ev->type == EV_TICK && w->config->timeout_ms && w->now_ms >= w->config->timeout_ms) {
        const struct cause cause = {.kind = VERDICT_TIME_LIMIT};
        check_cause(w, &cause);
    }
    step(w, HEAP_HEAD, ev);
}

static void node_event(struct world *w, uint32_t node, struct event *ev, uint32_t generation)
{
    struct sim_node *n = &w->nodes[node];
    if (n->is_dead || n->is_over || (!n->is_up && ev->type != EV_BOOT))
        return;
    if (generation != HEAP_ANY && (generation != n->generation || n->is_reaped))
        return;
    if (ev->type == EV_BOOT) {
        n->is_up = true;
        if (w->is_done || n->is_up_cut || n->is_down_cut)
            lose_link(w, node, w->is_done ? 1 : (uint64_t)LINK_TIMEOUT_MS);
    }
    if (ev->type == EV_LINK_LOST)
        n->is_lost = true;
    else if (ev->type == EV_FRAME && n->is_lost)
        return;
    if (ev->type == EV_FRAME && ev->u.frame.frame.type == FRAME_STOP)
        n->stop_generation = ev->u.frame.frame.generation;
    n->has_come = n->has_come || ev->type == EV_GATHER;
    step(w, node, ev);
    fence_seen(w, node, ev->type);
    if (node_is_done(n->machine)) {
        n->is_over = true;
        check_node_over(w, node);
    }
}

static void tick(struct world *w, uint32_t target, uint64_t at_ms)
{
    if (*tick_of(w, target) != at_ms)
        return; /* an earlier one took its place */
    *tick_of(w, target) = UINT64_MAX;
    struct event ev = {.type = EV_TICK};
    if (deadline(w, target) > w->now_ms)
        arm(w, target);
    else if (target == HEAP_HEAD)
        head_event(w, &ev);
    else
        node_event(w, target, &ev, HEAP_ANY);
}

/* ---- faults ---- */

static void kill_node(struct world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    n->is_dead = true;
    for (uint32_t i = 0; i < w->config->workers; i++)
        n->procs[i].is_alive = false;
}

static void blame_node(struct world *w, uint32_t node, bool is_maybe)
{
    const struct cause cause = {.kind = VERDICT_NODE_LOST, .node = node, .is_maybe = is_maybe};
    check_cause(w, &cause);
}

static void freeze(struct world *w, const struct sim_fault *f)
{
    struct sim_node *n = &w->nodes[f->node];
    n->thaw_ms = w->now_ms + f->arg;
    if (f->arg > 2 * BEAT_MS)
        blame_node(w, f->node, true);
    if (f->arg > LINK_TIMEOUT_MS && world_random(w, 2)) { /* its kernel stands still as well */
        lose_node(w, f->node, LINK_TIMEOUT_MS, &lost);
        lose_link(w, f->node, f->arg + 1);
        n->is_up_cut = n->is_down_cut = true;
    }
}

static void cut(struct world *w, const struct sim_fault *f)
{
    struct sim_node *n = &w->nodes[f->node];
    n->is_up_cut = n->is_up_cut || f->kind != SIM_DEAF_DOWN;
    n->is_down_cut = n->is_down_cut || f->kind != SIM_DEAF_UP;
    blame_node(w, f->node, false);
    if (f->kind != SIM_DEAF_UP)
        lose_node(w, f->node, LINK_TIMEOUT_MS, &lost);
    lose_link(w, f->node, LINK_TIMEOUT_MS + world_random(w, 2000));
}

static void begin_fault(struct world *w, const struct sim_fault *f)
{
    struct event ev = {.type = EV_SIGNAL};
    ev.u.signal.signo = f->kind == SIM_SUSPEND ? TSTP : (int)f->arg;
    const struct item thaw = {.kind = ITEM_THAW, .target = f->node};
    switch (f->kind) {
    case SIM_DIE:
    case SIM_VANISH:
        blame_node(w, f->node, false);
        kill_node(w, f->node);
        ssh_dead(w, f->node, f->kind == SIM_DIE);
        if (f->kind == SIM_DIE)
            lose_node(w, f->node, arrival(w, &w->nodes[f->node].last_up_ms) - w->now_ms, &lost);
        return;
    case SIM_FREEZE:
        freeze(w, f);
        return;
    case SIM_CUT:
    case SIM_DEAF_UP:
    case SIM_DEAF_DOWN:
        cut(w, f);
        return;
    case SIM_BLOCK:
        process_block(w, f->node, true);
        if (f->arg)
            heap_push(&w->heap, w->now_ms + f->arg, &thaw);
        return;
    case SIM_SUSPEND:
        w->suspend_ms = f->arg;
        world_post(w, HEAP_HEAD, 0, &ev, HEAP_ANY);
        return;
    case SIM_SIGNAL:
        world_post(w, HEAP_HEAD, 0, &ev, HEAP_ANY);
        return;
    case SIM_AGENT_REFUSED:
        blame_node(w, f->node, false);
        lose_node(w, f->node, f->arg, &refused);
        return;
    case SIM_AGENT_HANGS:
    case SIM_SSH_REFUSED:
        blame_node(w, f->node, false);
        return;
    case SIM_EXIT:
    case SIM_CRASH:
    case SIM_EXEC:
    case SIM_FORK:
    case SIM_DEAF:
    case SIM_UNKILLABLE:
    case SIM_SLOW_EXIT:
    case SIM_CHILD:
    case SIM_CHILD_DEAF:
    case SIM_CHILD_GHOST:
    case SIM_HANG:
    case SIM_REFUSE:
    case SIM_AGENT_SLOW:
    case SIM_SSH_SLOW:
    case SIM_SSH_INNER:
    case SIM_SSH_STALLS:
    case SIM_FAULT_COUNT:
        return; /* seen where it matters */
    }
}

/* ---- the run ---- */

static bool is_frozen(const struct world *w, const struct item *item, uint64_t *thaw_ms)
{
    if (item->kind == ITEM_FAULT || item->kind == ITEM_THAW)
        return false;
    *thaw_ms = item->target == HEAP_HEAD ? w->job_thaw_ms : w->nodes[item->target].thaw_ms;
    /* The processes of a suspended muster live on. */
    return *thaw_ms > w->now_ms && !(is_local(w) && item->kind == ITEM_PROC_END);
}

static void take(struct world *w, struct item *item, uint64_t at_ms)
{
    uint64_t thaw_ms;
    if (is_frozen(w, item, &thaw_ms)) {
        if (item->kind == ITEM_TICK && *tick_of(w, item->target) == at_ms)
            *tick_of(w, item->target) = thaw_ms;
        heap_push(&w->heap, thaw_ms, item);
        return;
    }
    switch (item->kind) {
    case ITEM_EVENT:
        if (item->target == HEAP_HEAD)
            head_event(w, &item->ev);
        else
            node_event(w, item->target, &item->ev, item->generation);
        return;
    case ITEM_TICK:
        tick(w, item->target, at_ms);
        return;
    case ITEM_PROC_END:
        if (w->nodes[item->target].generation == item->generation)
            process_natural_end(w, item->target, item->local, &item->end);
        return;
    case ITEM_FAULT:
        if (!w->is_done)
            begin_fault(w, &w->config->faults[item->local]);
        return;
    case ITEM_THAW:
        process_block(w, item->target, false);
        return;
    case ITEM_SSH:
        ssh_take(w, item);
        return;
    case ITEM_SIGN:
        if (w->nodes[item->target].generation == item->generation)
            process_sign(w, item->target, item->local);
        return;
    }
}

static void make_node(struct world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    const struct node_place place = {
        .beat_ms = is_local(w) ? 0 : (uint64_t)BEAT_MS,
        .node_rank = w->config->nfaults || w->config->has_ssh ? node : NODE_RANK_ANY,
        .pid = node + 1};
    n->machine = node_new(&w->setup.options, &w->setup.facts, &place);
    n->procs = mem_alloc(w->config->workers, sizeof *n->procs);
    n->offset_ms = world_random(w, 1000000000);
    n->tick_ms = UINT64_MAX;
    n->generation = n->stop_generation = n->reaped_heard = HEAP_ANY;
    const struct sim_fault *slow = world_find_fault(w, SIM_AGENT_SLOW, node);
    const struct event boot = {.type = EV_BOOT};
    if (!w->config->has_ssh && !world_find_fault(w, SIM_AGENT_HANGS, node)
        && !world_find_fault(w, SIM_AGENT_REFUSED, node))
        world_post(w, node, 1 + world_random(w, 50) + (slow ? slow->arg : 0), &boot, HEAP_ANY);
}

static void make_world(struct world *w)
{
    const struct sim_config *c = w->config;
    setup_init(&w->setup, c->workers);
    w->setup.options.max_restarts = c->max_restarts;
    w->setup.options.hosts = c->nfaults || c->has_ssh ? "started by muster" : NULL;
    w->setup.options.nnodes_min = w->setup.options.nnodes_max = c->nodes;
    w->setup.options.restart_delay_ms = c->restart_delay_ms;
    w->setup.options.origin[OPTION_RESTART_DELAY] =
        c->restart_delay_ms ? ORIGIN_COMMAND_LINE : ORIGIN_DEFAULT;
    w->setup.options.min_uptime_ms = c->min_uptime_ms;
    w->setup.options.grace_ms = c->grace_ms;
    w->setup.options.timeout_ms = c->timeout_ms;
    w->setup.options.heartbeat_ms = c->heartbeat_ms;
    w->setup.options.silence_ms = c->silence_ms;
    w->setup.options.preempt_signal = c->notice;
    w->random = c->seed;
    fence_init(w);
    w->job_tick_ms = UINT64_MAX;
    w->job = job_new(&w->setup.options, c->nodes, is_local(w) ? 0 : (uint64_t)BEAT_MS);
    struct event boot = {.type = EV_BOOT};
    boot.u.boot.addr = "10.0.0.1";
    boot.u.boot.port = 29500;
    world_post(w, HEAP_HEAD, 0, &boot, HEAP_ANY);
    w->nodes = mem_alloc(c->nodes, sizeof *w->nodes);
    for (uint32_t i = 0; i < c->nodes; i++)
        make_node(w, i);
    ssh_begin(w);
    look_begin(w);
    for (uint32_t i = 0; i < c->nfaults; i++) {
        const struct item item = {.kind = ITEM_FAULT, .target = 0, .local = i};
        heap_push(&w->heap, c->faults[i].at_ms, &item);
    }
}

static bool has_slow_agent(const struct sim_config *c)
{
    for (size_t i = 0; i < c->nfaults; i++)
        if (c->faults[i].kind == SIM_AGENT_SLOW)
            return true;
    return false;
}

/* By when everything must be over, whatever happens. */
static uint64_t bound_ms(const struct sim_config *c)
{
    uint64_t bound = 60000 + (c->max_restarts + 1) * (c->run_ms + c->grace_ms + 60000);
    if (c->restart_delay_ms)
        bound += c->max_restarts * 30000; /* the longest wait */
    for (size_t i = 0; i < c->nfaults; i++) {
        const struct sim_fault *f = &c->faults[i];
        if (f->kind == SIM_FREEZE || f->kind == SIM_BLOCK || f->kind == SIM_AGENT_SLOW
            || f->kind == SIM_SUSPEND || f->kind == SIM_SLOW_EXIT || f->kind == SIM_SSH_SLOW)
            bound += f->arg;
        bool is_gone_early = (f->at_ms < 100 || has_slow_agent(c))
                             && (f->kind == SIM_VANISH || f->kind == SIM_CUT
                                 || f->kind == SIM_DEAF_UP || f->kind == SIM_FREEZE);
        if (f->kind == SIM_AGENT_HANGS || is_gone_early)
            bound += 600000; /* nobody tells: as long as joining may take */
        bound += f->at_ms;
    }
    if (c->has_ssh) /* a login of each, 32 at a time, and what is taken over once a level */
        bound += c->nodes / 32 * 300 + 100000;
    return bound + c->timeout_ms + c->heartbeat_ms + c->silence_ms + (c->notice ? 60000 : 0);
}

static void fini_world(struct world *w)
{
    for (uint32_t i = 0; i < w->config->nodes; i++) {
        node_free(w->nodes[i].machine);
        free(w->nodes[i].procs);
        free(w->nodes[i].refusal);
    }
    ssh_fini(w);
    look_fini(w);
    free(w->nodes);
    free(w->causes);
    fence_fini(w);
    job_free(w->job);
    effects_fini(&w->effects);
    heap_fini(&w->heap);
}

static void take_result(struct world *w)
{
    const struct verdict *v = job_verdict(w->job);
    struct sim_result *r = w->result;
    r->kind = v->kind;
    r->rank = v->rank;
    r->node = v->node;
    r->status = verdict_exit_status(v);
    r->generation = job_generation(w->job);
}

void sim_run(const struct sim_config *config, struct sim_result *result)
{
    *result = (struct sim_result){.hash = 0xcbf29ce484222325u};
    struct world w = {.config = config, .result = result};
    make_world(&w);
    uint64_t bound = bound_ms(config);
    struct item item;
    while (heap_pop(&w.heap, &w.now_ms, &item) && w.now_ms <= bound)
        take(&w, &item, w.now_ms);
    check_end(&w);
    take_result(&w);
    fini_world(&w);
}
