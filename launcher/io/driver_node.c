#include "launcher/io/driver_node.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/note.h"
#include "launcher/core/streams.h"
#include "launcher/io/descendants.h"
#include "launcher/io/exec_pipe.h"
#include "launcher/io/findings.h"
#include "launcher/io/launch.h"
#include "launcher/io/node_watch.h"
#include "launcher/io/output_style.h"
#include "launcher/io/say.h"
#include "launcher/io/watch.h"

enum { SLAB_BYTES = 64 * 1024 };

struct driver_node {
    uv_loop_t *loop;
    const struct options *opt;
    const struct facts *facts;
    struct launch *launch;
    struct link_up up;
    struct node *node;
    struct event_queue queue;
    struct effects effects;

    uv_timer_t timer;
    struct watch_set *watches;
    struct exec_pipe exec_pipe;
    int nhandles;
    bool is_sweeping, has_orphan_news, has_spawn_failed;

    struct descendants *descendants;
    struct guard *guard; /* NULL before the first workers, and where there is none */
    bool was_guard_asked;
    struct job_files files;
    struct mpi_host *mpi;
    int dev_null;
    struct output *output;
    struct child_host host;
    struct child **children;   /* by local rank; NULL = none */
    struct findings *findings; /* of this generation */
    struct node_watch *watch;
    bool is_way_blocked; /* the relay takes no more */
    bool is_stopping;    /* who ends from here on is a victim */
    uint32_t nchildren;
    pid_t *pids; /* of the children, for telling them from orphans */
    size_t npids;
    bool is_sorted;
    struct err err;
};

static void post(struct driver_node *d, struct event *ev)
{
    ev->now_ms = now_ms();
    event_queue_push(&d->queue, ev);
}

static void post_type(struct driver_node *d, enum event_type type)
{
    struct event ev = {.type = type};
    post(d, &ev);
}

static void post_watched(void *ctx, struct event *ev)
{
    post(ctx, ev);
}

/* ---- what happens: callbacks to events ---- */

static void on_timer(uv_timer_t *timer)
{
    struct driver_node *d = timer->data;
    uint64_t now = now_ms();
    output_tick(d->output, now);
    node_watch_tick(d->watch, now);
    if (node_deadline(d->node) <= now)
        post_type(d, EV_TICK);
}

static void on_child_streams_ended(void *ctx, uint32_t local_rank)
{
    struct event ev = {.type = EV_STREAMS_ENDED};
    ev.u.streams_ended.local_rank = local_rank;
    post(ctx, &ev);
}

static void pause_all(struct driver_node *d, bool is_paused)
{
    for (uint32_t i = 0; i < d->nchildren; i++)
        if (d->children[i])
            child_pause(d->children[i], is_paused);
}

static void on_log(void *ctx, enum log_level level, const char *line)
{
    (void)level;
    output_note(ctx, line, strlen(line));
}

static void on_relay(void *ctx, uint32_t rank, enum output_fd fd, const char *p, size_t n)
{
    struct driver_node *d = ctx;
    d->up.relay(d->up.ctx, rank, fd, p, n);
}

static bool is_way_full(void *ctx)
{
    struct driver_node *d = ctx;
    return d->up.is_full(d->up.ctx);
}

static void on_output_full(void *ctx)
{
    struct driver_node *d = ctx;
    pause_all(d, true);
    if (d->up.is_full && !d->is_way_blocked && d->up.is_full(d->up.ctx)) {
        d->is_way_blocked = true;
        post_type(d, EV_OUTPUT_BLOCKED);
    }
}

void driver_node_flowing(struct driver_node *d)
{
    if (!d->is_way_blocked)
        return;
    d->is_way_blocked = false;
    pause_all(d, false);
    post_type(d, EV_OUTPUT_FLOWING);
}

static void on_output_blocked(void *ctx, bool is_blocked)
{
    if (!is_blocked)
        pause_all(ctx, false);
    post_type(ctx, is_blocked ? EV_OUTPUT_BLOCKED : EV_OUTPUT_FLOWING);
}

static void on_reader_gone(void *ctx)
{
    struct driver_node *d = ctx;
    pause_all(d, false);
    d->up.reader_gone(d->up.ctx);
}

static void on_child_output(void *ctx)
{
    struct driver_node *d = ctx;
    node_watch_output(d->watch);
}

static void on_mpi_gather(void *ctx, const struct gather *piece)
{
    struct event ev = {.type = EV_GATHER};
    ev.u.gather = *piece;
    post(ctx, &ev);
}

static void on_mpi_abort(void *ctx, uint32_t local_rank)
{
    struct event ev = {.type = EV_ABORTED};
    ev.u.aborted.local_rank = local_rank;
    post(ctx, &ev);
}

static void on_exec_failure(void *ctx, const struct spawn_failure *failure)
{
    struct event ev = {.type = EV_SPAWN_FAILED};
    ev.u.spawn_failed.local_rank = failure->local_rank;
    ev.u.spawn_failed.sys = failure->sys;
    post(ctx, &ev);
}

static void on_worker_exit(void *ctx, uint32_t local_rank, const struct worker_end *end,
                           const char *tail)
{
    struct driver_node *d = ctx;
    exec_pipe_read(&d->exec_pipe); /* why it never ran, if so, comes first */
    struct worker_end judged = *end;
    const char *mpi = d->is_stopping ? NULL : mpi_host_judge(d->mpi, local_rank, &judged);
    end = &judged;
    /* The first failures only: what a stop brings about needs no reason. */
    const struct worker_plan *w = &node_plan(d->node)->workers[local_rank];
    if (!d->is_stopping && worker_end_is_failure(end))
        findings_look(d->findings, local_rank, w->rank, end, w->gpu_pci, &d->files);
    launch_ended(d->launch, local_rank, d->children[local_rank]);
    struct event ev = {.type = EV_EXITED};
    ev.u.exited.local_rank = local_rank;
    ev.u.exited.end = *end;
    ev.u.exited.evidence = findings_of(d->findings, local_rank, tail);
    if (mpi)
        ev.u.exited.evidence.cause = mpi;
    post(d, &ev);
}

void driver_node_receive(struct driver_node *d, const struct frame *frame)
{
    struct event ev = {.type = EV_FRAME};
    ev.u.frame.frame = *frame;
    d->is_stopping = d->is_stopping || frame->type == FRAME_STOP;
    post(d, &ev);
}

void driver_node_post(struct driver_node *d, struct event *ev)
{
    post(d, ev);
}

bool driver_node_is_done(const struct driver_node *d)
{
    return node_is_done(d->node);
}

const struct node *driver_node_machine(const struct driver_node *d)
{
    return d->node;
}

const char *driver_node_log_dir(const struct driver_node *d, enum log_layout *layout)
{
    *layout = d->files.layout;
    return d->files.dir;
}

const struct node_plan *driver_node_plan(const struct driver_node *d)
{
    return node_plan(d->node);
}

const char *driver_node_program(const struct driver_node *d)
{
    return launch_program(d->launch);
}

void driver_node_child_signal(struct driver_node *d)
{
    d->has_orphan_news = true;
}

void driver_node_keep(struct driver_node *d, pid_t pid)
{
    descendants_keep(d->descendants, pid);
}

void driver_node_release(struct driver_node *d, pid_t pid)
{
    descendants_release(d->descendants, pid);
}

/* ---- effects ---- */

static uint32_t count_shown(const struct options *opt, const struct node_plan *plan)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->order.nworkers; i++)
        n += streams_shown(opt, plan->workers[i].rank, i) != 0;
    return n;
}

/* Once, before the first worker. A job without one runs all the same. */
static void start_guard(struct driver_node *d)
{
    struct err e;
    if (d->was_guard_asked)
        return;
    d->was_guard_asked = true;
    d->guard = guard_start(&e);
    launch_set_mark(d->launch, guard_mark(d->guard));
    if (d->files.temp_dir)
        guard_note_folder(d->guard, d->files.temp_dir);
    if (d->guard)
        descendants_except(d->descendants, guard_pid(d->guard));
    else if (e.code != ERR_OK)
        log_info("node", "%s: should muster be killed, what workers have started may stay",
                 e.text);
}

static int prepare(struct driver_node *d, enum mpi_mode *mpi, struct err *e)
{
    const struct node_plan *plan = node_plan(d->node);
    node_watch_forget(d->watch);
    if (streams_check(d->opt, plan->order.world_size, e) < 0)
        return -1;
    if (!d->opt->is_plan && job_files_prepare(&d->files, d->opt, &plan->order, e) < 0)
        return -1;
    if (launch_find(d->launch, plan, e) < 0)
        return -1;
    *mpi = mpi_host_choose(d->mpi, launch_program(d->launch));
    if (d->opt->is_plan) /* nothing will be started, so nothing is made */
        return 0;
    start_guard(d);
    d->has_spawn_failed = false;
    output_expect(d->output, count_shown(d->opt, plan));
    free(d->children);
    d->nchildren = plan->order.nworkers;
    d->children = mem_alloc(d->nchildren, sizeof(struct child *));
    findings_free(d->findings);
    d->findings =
        findings_new(d->nchildren, facts_getenv(d->facts, "TORCHELASTIC_ERROR_FILE") != NULL,
                     plan->workers[0].gpu_pci != NULL);
    d->is_stopping = false;
    free(d->pids);
    d->pids = mem_alloc(d->nchildren, sizeof *d->pids);
    d->npids = 0;
    exec_pipe_close(&d->exec_pipe); /* of a generation that was prepared and never started */
    if (!d->watches)
        d->host.watches = d->watches = watch_set_new(d->loop, e);
    if (!d->watches
        || launch_prepare(d->launch, plan, d->watches, job_files_error_dir(&d->files),
                          *mpi != MPI_MODE_NONE, e)
               < 0
        || mpi_host_open(d->mpi, d->loop, d->watches, d->guard, e) < 0)
        return -1;
    if (launch_threads(d->launch))
        descendants_have_threads(d->descendants);
    node_watch_prepare(d->watch, d->watches, plan, d->children, d->files.dir);
    launch_set_notify(d->launch, node_watch_address(d->watch));
    return exec_pipe_open(&d->exec_pipe, d->watches, on_exec_failure, d, e);
}

static void apply_prepare(struct driver_node *d)
{
    struct event ok = {.type = EV_PREPARED}, failed = {.type = EV_PREPARE_FAILED};
    failed.u.prepare_failed.err = &d->err;
    post(d, prepare(d, &ok.u.prepared.mpi, &d->err) == 0 ? &ok : &failed);
}

static void post_spawn_failed(struct driver_node *d, uint32_t local_rank, const struct err *e)
{
    if (!d->has_spawn_failed) /* more workers of one generation fail for the same reason */
        log_error("spawn", "%s", e->text);
    d->has_spawn_failed = true;
    struct event ev = {.type = EV_SPAWN_FAILED};
    ev.u.spawn_failed.local_rank = local_rank;
    ev.u.spawn_failed.sys = e->sys ? e->sys : EIO;
    post(d, &ev);
}

static void note_child(struct driver_node *d, uint32_t local_rank, struct child *child)
{
    const char *cpus = node_plan(d->node)->workers[local_rank].cpus;
    d->children[local_rank] = child;
    d->pids[d->npids++] = child_pid(child);
    d->is_sorted = false;
    log_debug("spawn", "local rank %u is pid %d%s%s", local_rank, (int)child_pid(child),
              cpus ? ", on CPUs " : "", cpus ? cpus : "");
    struct event ev = {.type = EV_SPAWNED};
    ev.u.spawned.local_rank = local_rank;
    ev.u.spawned.pid = (uint32_t)child_pid(child);
    post(d, &ev);
}

/* Whichever was begun first. */
static void end_spawn(struct driver_node *d, const struct launch_with *with)
{
    struct err e;
    uint32_t local_rank;
    struct child *child = launch_end(d->launch, with, &local_rank, &e);
    mpi_host_joined(d->mpi, local_rank);
    if (child)
        note_child(d, local_rank, child);
    else
        post_spawn_failed(d, local_rank, &e);
}

/* The workers of a generation are started by effects that follow each other: none is on its way
 * when anything else is done. */
static void apply_spawn(struct driver_node *d, uint32_t local_rank)
{
    struct err e;
    const struct launch_with with = {&d->files, d->mpi, d->guard, &d->host, d->exec_pipe.write};
    if (launch_is_full(d->launch))
        end_spawn(d, &with);
    if (launch_begin(d->launch, &with, local_rank, &e) < 0) {
        mpi_host_joined(d->mpi, local_rank);
        post_spawn_failed(d, local_rank, &e);
    }
    if (local_rank + 1 != d->nchildren)
        return;
    while (launch_pending(d->launch))
        end_spawn(d, &with);
    exec_pipe_all_forked(&d->exec_pipe);
    launch_done(d->launch);
}

static void post_swept(struct driver_node *d, uint32_t left)
{
    struct event ev = {.type = EV_SWEPT};
    ev.u.swept.left = left;
    post(d, &ev);
}

static void apply_reap(struct driver_node *d)
{
    d->is_sweeping = false;
    for (uint32_t i = 0; i < d->nchildren; i++) {
        guard_note_session(d->guard, i, 0);
        if (d->children[i])
            child_reap(d->children[i]);
        d->children[i] = NULL;
    }
    d->npids = 0;
    launch_reaped(d->launch);
    mpi_host_end(d->mpi);
    exec_pipe_close(&d->exec_pipe);
}

/* Who goes on gets the terminal before it looks for it. */
static void apply_kill(struct driver_node *d, struct child *child, int signo)
{
    if (!child)
        return;
    if (signo == SIGCONT)
        launch_continue(d->launch, child);
    child_kill(child, signo);
}

static void apply(struct driver_node *d, const struct effect *fx)
{
    switch (fx->type) {
    case FX_SEND:
        d->up.send(d->up.ctx, &fx->u.send.frame);
        return;
    case FX_NOTE:
        say_note("node", &fx->u.note);
        return;
    case FX_PREPARE:
        apply_prepare(d);
        return;
    case FX_SPAWN:
        apply_spawn(d, fx->u.spawn.local_rank);
        return;
    case FX_KILL:
        apply_kill(d, d->children[fx->u.kill.local_rank], fx->u.kill.signo);
        return;
    case FX_SWEEP:
        d->is_sweeping = true;
        post_swept(d, descendants_signal(d->descendants, fx->u.sweep.signo));
        return;
    case FX_CLOSE_STREAMS:
        if (d->children[fx->u.spawn.local_rank])
            child_close_streams(d->children[fx->u.spawn.local_rank]);
        return;
    case FX_REAP:
        apply_reap(d);
        return;
    case FX_DROP_OUTPUT:
        output_drop(d->output);
        return;
    case FX_LOOK:
        node_watch_look(d->watch);
        return;
    case FX_STACKS:
        node_watch_stacks(d->watch, fx->u.stacks.may_abort);
        return;
    case FX_WORLD:
        mpi_host_begin(d->mpi, node_plan(d->node), fx->u.world.layout);
        return;
    case FX_WANTED:
        mpi_host_wanted(d->mpi, &fx->u.wanted);
        return;
    case FX_GATHERED:
        mpi_host_gathered(d->mpi, &fx->u.gathered);
        return;
    case FX_STORE_GATE:
    case FX_STORE_RESET:
    case FX_SUSPEND:
    case FX_DROP_NODE:
    case FX_DONE:
    case EFFECT_TYPE_COUNT:
        return; /* the head's */
    }
}

/* ---- the pump ---- */

static int compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return x < y ? -1 : x > y;
}

static bool is_worker(void *ctx, pid_t pid)
{
    const struct driver_node *d = ctx;
    return d->npids && bsearch(&pid, d->pids, d->npids, sizeof pid, compare_pids) != NULL;
}

static void look_after_orphans(struct driver_node *d)
{
    d->has_orphan_news = false;
    if (launch_was_suspended(d->launch))
        kill(getpid(), SIGTSTP); /* its Ctrl-Z is meant for the whole job */
    if (!d->is_sorted && d->npids)
        qsort(d->pids, d->npids, sizeof *d->pids, compare_pids);
    d->is_sorted = true;
    descendants_collect(d->descendants, is_worker, d);
    if (d->is_sweeping)
        post_swept(d, descendants_signal(d->descendants, 0));
}

static bool step(void *ctx)
{
    struct driver_node *d = ctx;
    if (d->has_orphan_news)
        look_after_orphans(d);
    struct event ev;
    if (!event_queue_pop(&d->queue, &ev))
        return false;
    say_event("node", &ev);
    effects_clear(&d->effects);
    node_step(d->node, &ev, &d->effects);
    for (size_t i = 0; i < d->effects.len; i++)
        apply(d, &d->effects.items[i]);
    return true;
}

static void settle(void *ctx)
{
    struct driver_node *d = ctx;
    if (!d->output) /* closing */
        return;
    mpi_host_settle(d->mpi);
    uint64_t deadline = node_deadline(d->node), shown = output_deadline(d->output),
             now = now_ms();
    uint64_t watched = node_watch_deadline(d->watch);
    deadline = shown < deadline ? shown : deadline;
    deadline = watched < deadline ? watched : deadline;
    if (deadline == UINT64_MAX)
        uv_timer_stop(&d->timer);
    else
        uv_timer_start(&d->timer, on_timer, deadline > now ? deadline - now : 0, 0);
}

/* ---- life ---- */

struct driver_node *driver_node_new(uv_loop_t *loop, struct pump *pump,
                                    const struct options *opt, const struct facts *facts,
                                    const struct node_place *place, const struct rlimit *nofile,
                                    const struct link_up *up)
{
    struct driver_node *d = mem_alloc(1, sizeof *d);
    const struct mpi_host_events mpi_events = {d, on_mpi_gather, on_mpi_abort};
    d->loop = loop;
    d->opt = opt;
    d->facts = facts;
    exec_pipe_init(&d->exec_pipe);
    d->mpi = mpi_host_new(opt, facts, &mpi_events);
    d->up = *up;
    d->node = node_new(opt, facts, place);
    d->descendants = descendants_adopt();
    d->dev_null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    d->launch = launch_new(opt, facts, nofile, d->dev_null, up->input);
    uv_timer_init(loop, &d->timer);
    d->timer.data = d;
    d->nhandles = 1;
    const struct output_events events = {.ctx = d,
                                         .on_blocked = on_output_blocked,
                                         .on_reader_gone = on_reader_gone,
                                         .relay = up->relay ? on_relay : NULL,
                                         .is_full = up->is_full ? is_way_full : NULL};
    const struct output_style style = output_style_of(opt, facts);
    d->output = output_new(loop, &style, &events);
    if (opt->torchrun.is_on)
        output_use_dollars(d->output, opt->role);
    log_set_sink(on_log, d->output);
    d->host = (struct child_host){
        .output = d->output,
        .slab = mem_realloc(NULL, SLAB_BYTES,
                            1), /* not zeroed: no page is touched before it is used */
        .slab_size = SLAB_BYTES,
        .ctx = d,
        .on_exit = on_worker_exit,
        .on_streams_ended = on_child_streams_ended,
        .on_full = on_output_full,
        .on_output = opt->silence_ms ? on_child_output : NULL,
    };
    const struct node_watch_host watch_host = {
        opt, facts,       launch_spawn(d->launch), d->output, d->descendants, d->dev_null,
        d,   post_watched};
    d->watch = node_watch_new(&watch_host);
    pump_add(pump, step, settle, d);
    post_type(d, EV_BOOT);
    return d;
}

static void maybe_finish(struct driver_node *d)
{
    if (d->nhandles > 0 || d->output)
        return;
    if (d->dev_null >= 0)
        close(d->dev_null);
    d->files.keeps_temp = d->is_stopping;
    job_files_fini(&d->files);
    findings_free(d->findings);
    launch_free(d->launch);
    node_free(d->node);
    descendants_free(d->descendants);
    event_queue_fini(&d->queue);
    effects_fini(&d->effects);
    free(d->children);
    free(d->pids);
    free(d->host.slab);
    guard_stop(d->guard);
    free(d);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct driver_node *d = handle->data;
    d->nhandles--;
    maybe_finish(d);
}

/* torchrun's custom: who launched muster reads the first failure in its own file. */
static void hand_error_on(const struct driver_node *d)
{
    struct err e;
    const char *path = facts_getenv(d->facts, "TORCHELASTIC_ERROR_FILE");
    if (path && *path && findings_hand_on(d->findings, path, &e) < 0)
        log_warn("node", "%s", e.text);
}

void driver_node_close(struct driver_node *d)
{
    guard_dismiss(d->guard);
    hand_error_on(d);
    node_watch_free(d->watch);
    d->watch = NULL;
    exec_pipe_close(&d->exec_pipe);
    mpi_host_close(d->mpi);
    launch_close(d->launch);
    if (d->watches)
        watch_set_close(d->watches);
    log_set_sink(say_log, NULL);
    output_close(d->output);
    d->output = NULL;
    uv_close((uv_handle_t *)&d->timer, on_handle_closed);
}
