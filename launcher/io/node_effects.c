#include "launcher/io/node_effects.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/note.h"
#include "launcher/core/streams.h"
#include "launcher/io/descendants.h"
#include "launcher/io/findings.h"
#include "launcher/io/guard.h"
#include "launcher/io/launch.h"
#include "launcher/io/mpi_host.h"
#include "launcher/io/node_watch.h"
#include "launcher/io/say.h"
#include "launcher/io/watch.h"

static uint32_t count_shown(const struct options *opt, const struct node_plan *plan)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->order.nworkers; i++)
        n += streams_shown(opt, plan->workers[i].rank, i) != 0;
    return n;
}

static void on_exec_failure(void *ctx, const struct spawn_failure *failure)
{
    struct event ev = {.type = EV_SPAWN_FAILED};
    ev.u.spawn_failed.local_rank = failure->local_rank;
    ev.u.spawn_failed.sys = failure->sys;
    driver_node_post(ctx, &ev);
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
    descendants_know_mark(d->descendants, guard_mark(d->guard));
    if (d->socket)
        guard_note_socket(d->guard, d->socket);
    if (d->guard)
        descendants_except(d->descendants, guard_pid(d->guard));
    else if (e.code != ERR_OK)
        log_info("node", "%s: should muster be killed, what workers have started may stay",
                 e.text);
}

/* The private folder is told as soon as it is there: the guard is what removes it should muster
 * be killed. */
static int prepare_files(struct driver_node *d, const struct node_plan *plan, struct err *e)
{
    bool had_folder = d->files.temp_dir != NULL;
    int rc = job_files_prepare(&d->files, d->opt, &plan->order, e);
    if (!had_folder && d->files.temp_dir)
        guard_note_folder(d->guard, d->files.temp_dir);
    return rc;
}

static int prepare(struct driver_node *d, enum mpi_mode *mpi, struct err *e)
{
    const struct node_plan *plan = node_plan(d->node);
    node_watch_forget(d->watch);
    if (streams_check(d->opt, plan->order.world_size, e) < 0)
        return -1;
    if (launch_find(d->launch, plan, e) < 0)
        return -1;
    *mpi = mpi_host_choose(d->mpi, launch_program(d->launch));
    if (d->opt->is_plan) /* nothing will be started, so nothing is made */
        return 0;
    start_guard(d);
    if (prepare_files(d, plan, e) < 0)
        return -1;
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
    driver_node_post(d, prepare(d, &ok.u.prepared.mpi, &d->err) == 0 ? &ok : &failed);
}

static void post_spawn_failed(struct driver_node *d, uint32_t local_rank, const struct err *e)
{
    if (!d->has_spawn_failed) /* more workers of one generation fail for the same reason */
        log_error("spawn", "%s", e->text);
    d->has_spawn_failed = true;
    struct event ev = {.type = EV_SPAWN_FAILED};
    ev.u.spawn_failed.local_rank = local_rank;
    ev.u.spawn_failed.sys = e->sys ? e->sys : EIO;
    driver_node_post(d, &ev);
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
    driver_node_post(d, &ev);
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
    guard_await(d->guard);
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

void node_effects_swept(struct driver_node *d, uint32_t left)
{
    struct event ev = {.type = EV_SWEPT};
    ev.u.swept.left = left;
    driver_node_post(d, &ev);
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

void node_effects_apply(struct driver_node *d, const struct effect *fx)
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
        node_effects_swept(d, descendants_signal(d->descendants, fx->u.sweep.signo));
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
    case FX_SAMPLE:
        node_watch_sample(d->watch);
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
