#include "launcher/io/driver_node.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/note.h"
#include "launcher/core/streams.h"
#include "launcher/core/worker_env.h"
#include "launcher/io/child.h"
#include "launcher/io/descendants.h"
#include "launcher/io/exec_pipe.h"
#include "launcher/io/findings.h"
#include "launcher/io/guard.h"
#include "launcher/io/job_files.h"
#include "launcher/io/mpi_host.h"
#include "launcher/io/say.h"
#include "launcher/io/spawn.h"
#include "launcher/io/watch.h"

enum { SLAB_BYTES = 64 * 1024 };

struct driver_node {
    uv_loop_t *loop;
    const struct options *opt;
    const struct facts *facts;
    struct spawn spawn; /* what all workers have in common */
    struct link_up up;
    struct node *node;
    struct event_queue queue;
    struct effects effects;

    uv_timer_t timer;
    struct watch_set *watches;
    struct exec_pipe exec_pipe;
    int nhandles;
    bool is_sweeping, has_orphan_news, has_spawn_failed;
    struct spawn_refusal said; /* what has been said: once is enough */

    struct descendants *descendants;
    struct guard *guard; /* NULL before the first workers, and where there is none */
    bool was_guard_asked;
    struct job_files files;
    struct worker_env *env;
    struct mpi_host *mpi;
    char *program; /* path of what is executed */
    int dev_null;
    struct output *output;
    struct child_host host;
    struct child **children;   /* by local rank; NULL = none */
    struct findings *findings; /* of this generation */
    bool is_stopping;          /* who ends from here on is a victim */
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

/* ---- what happens: callbacks to events ---- */

static void on_timer(uv_timer_t *timer)
{
    struct driver_node *d = timer->data;
    uint64_t now = now_ms();
    output_tick(d->output, now);
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

static void on_output_full(void *ctx)
{
    pause_all(ctx, true);
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
    if (!d->is_stopping && worker_end_is_failure(end))
        findings_look(d->findings, local_rank, node_plan(d->node)->workers[local_rank].rank,
                      end, &d->files);
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

const struct node_plan *driver_node_plan(const struct driver_node *d)
{
    return node_plan(d->node);
}

const char *driver_node_program(const struct driver_node *d)
{
    return d->program;
}

void driver_node_child_signal(struct driver_node *d)
{
    d->has_orphan_news = true;
}

/* ---- effects ---- */

static int open_pipe(int fds[2], bool is_read_nonblocking, struct err *e)
{
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(e, errno, "cannot make a pipe (open files: see ulimit -n)");
    if (is_read_nonblocking)
        fcntl(fds[0], F_SETFL, O_NONBLOCK);
    return 0;
}

/* A script that is missing: the interpreter would say so with a status of its own. */
static int check_script(const struct driver_node *d, const struct node_plan *plan,
                        struct err *e)
{
    const char *script = d->opt->program[0];
    if (d->opt->is_module || strcmp(plan->argv[0], script) == 0 || access(script, F_OK) == 0)
        return 0;
    return err_set(e, ERR_NOT_FOUND, "%s: no such program", script);
}

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
    d->spawn.mark = guard_mark(d->guard);
    if (d->files.temp_dir)
        guard_note_folder(d->guard, d->files.temp_dir);
    if (d->guard)
        descendants_except(d->descendants, guard_pid(d->guard));
    else if (e.code != ERR_OK)
        log_info("node", "%s: should muster be killed, what workers have started may stay",
                 e.text);
}

static int prepare(struct driver_node *d, struct err *e)
{
    const struct node_plan *plan = node_plan(d->node);
    if (streams_check(d->opt, plan->order.world_size, e) < 0)
        return -1;
    if (!d->opt->is_plan && job_files_prepare(&d->files, d->opt, &plan->order, e) < 0)
        return -1;
    free(d->program);
    d->program = spawn_find(plan->argv[0], d->facts, e);
    if (!d->program || check_script(d, plan, e) < 0
        || mpi_host_choose(d->mpi, plan, d->program, e) < 0)
        return -1;
    if (d->opt->is_plan) /* nothing will be started, so nothing is made */
        return 0;
    start_guard(d);
    worker_env_free(d->env);
    d->env = worker_env_new(d->facts, plan, job_files_error_dir(&d->files));
    if (plan->omp_why && !facts_getenv(d->facts, "OMP_NUM_THREADS"))
        log_debug("node", "%s", plan->omp_why);
    d->has_spawn_failed = false;
    output_expect(d->output, count_shown(d->opt, plan));
    free(d->children);
    d->nchildren = plan->order.nworkers;
    d->children = mem_alloc(d->nchildren, sizeof(struct child *));
    findings_free(d->findings);
    d->findings =
        findings_new(d->nchildren, facts_getenv(d->facts, "TORCHELASTIC_ERROR_FILE") != NULL);
    d->is_stopping = false;
    free(d->pids);
    d->pids = mem_alloc(d->nchildren, sizeof *d->pids);
    d->npids = 0;
    exec_pipe_close(&d->exec_pipe); /* of a generation that was prepared and never started */
    if (!d->watches)
        d->host.watches = d->watches = watch_set_new(d->loop, e);
    if (!d->watches || mpi_host_begin(d->mpi, d->loop, d->watches, plan, d->guard, e) < 0)
        return -1;
    return exec_pipe_open(&d->exec_pipe, d->watches, on_exec_failure, d, e);
}

static void apply_prepare(struct driver_node *d)
{
    if (prepare(d, &d->err) == 0) {
        post_type(d, EV_PREPARED);
        return;
    }
    struct event ev = {.type = EV_PREPARE_FAILED};
    ev.u.prepare_failed.err = &d->err;
    post(d, &ev);
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

static void close_pair(const int fds[2])
{
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* A job in the background leaves the terminal's keys to the shell. Workers are in sessions of
 * their own, where the kernel does not see to that. */
static bool is_in_background(void)
{
    pid_t group = tcgetpgrp(STDIN_FILENO);
    return group >= 0 && group != getpgrp();
}

/* One rank reads standard input; the others read an empty file. */
static int input_of(const struct driver_node *d, uint32_t rank)
{
    return streams_reads_input(d->opt, rank) && !is_in_background() ? STDIN_FILENO
                                                                    : d->dev_null;
}

static void say_refusal(struct driver_node *d, uint32_t rank, const struct spawn_refusal *r)
{
    if (r->cpus && !d->said.cpus)
        say_note("node", &(struct note){
                             .id = NOTE_CPU_REFUSED, .rank = rank, .text = strerror(r->cpus)});
    if (r->memory && !d->said.memory)
        say_note("node", &(struct note){.id = NOTE_MEM_POLICY, .text = strerror(r->memory)});
    d->said.cpus = d->said.cpus ? d->said.cpus : r->cpus;
    d->said.memory = d->said.memory ? d->said.memory : r->memory;
}

static int spawn_one(struct driver_node *d, uint32_t local_rank, struct err *e)
{
    const struct node_plan *plan = node_plan(d->node);
    const struct worker_plan *w = &plan->workers[local_rank];
    uint32_t rank = w->rank;
    struct cpu_set cpus;
    struct spawn_refusal refusal = {0, 0};
    struct child_start start = {.local_rank = local_rank, .rank = rank};
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    struct log_file *logs[2];
    assert(d->exec_pipe.write >= 0); /* PREPARE comes before SPAWN, REAP after it */
    start.shown = streams_shown(d->opt, rank, local_rank);
    if (job_files_open(&d->files, rank, streams_logged(d->opt, local_rank), logs, e) < 0)
        return -1;
    struct spawn s = d->spawn;
    s.envp = worker_env_build(d->env, local_rank);
    if (open_pipe(out, true, e) == 0 && open_pipe(err, true, e) == 0
        && mpi_host_join(d->mpi, local_rank, &s.envp, &s.inherited, e) == 0) {
        s.path = d->program;
        s.argv = plan->argv;
        s.in = input_of(d, rank);
        s.out = out[1];
        s.err = err[1];
        s.exec_pipe = d->exec_pipe.write;
        s.local_rank = local_rank;
        s.mem_node = w->mem_node;
        s.cpus = w->cpus && cpu_set_parse(str_from(w->cpus), &cpus) == 0 ? &cpus : NULL;
        s.refusal = &refusal;
        if (spawn_start(&s, &start.pid, &start.pidfd, e) == 0) {
            close(out[1]);
            close(err[1]);
            start.out = out[0];
            start.err = err[0];
            start.log_out = logs[0];
            start.log_err = logs[1];
            d->children[local_rank] = child_new(&d->host, &start, e);
            if (!d->children[local_rank])
                return -1;
            guard_note_session(d->guard, local_rank, start.pid);
            d->pids[d->npids++] = start.pid;
            d->is_sorted = false;
            say_refusal(d, rank, &refusal);
            return 0;
        }
    }
    close_pair(out);
    close_pair(err);
    log_file_close(logs[0]);
    log_file_close(logs[1]);
    return -1;
}

static void apply_spawn(struct driver_node *d, uint32_t local_rank)
{
    struct err e;
    int rc = spawn_one(d, local_rank, &e);
    mpi_host_joined(d->mpi, local_rank);
    if (rc < 0) {
        post_spawn_failed(d, local_rank, &e);
    } else {
        const char *cpus = node_plan(d->node)->workers[local_rank].cpus;
        log_debug("spawn", "local rank %u is pid %d%s%s", local_rank,
                  (int)child_pid(d->children[local_rank]), cpus ? ", on CPUs " : "",
                  cpus ? cpus : "");
        struct event ev = {.type = EV_SPAWNED};
        ev.u.spawned.local_rank = local_rank;
        ev.u.spawned.pid = (uint32_t)child_pid(d->children[local_rank]);
        post(d, &ev);
    }
    if (local_rank + 1 == d->nchildren)
        exec_pipe_all_forked(&d->exec_pipe);
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
    mpi_host_end(d->mpi);
    exec_pipe_close(&d->exec_pipe);
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
        if (d->children[fx->u.kill.local_rank])
            child_kill(d->children[fx->u.kill.local_rank], fx->u.kill.signo);
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
    case FX_STORE_GATE:
    case FX_STORE_RESET:
    case FX_SUSPEND:
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
    return bsearch(&pid, d->pids, d->npids, sizeof pid, compare_pids) != NULL;
}

static void look_after_orphans(struct driver_node *d)
{
    d->has_orphan_news = false;
    if (!d->is_sorted)
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
    uint64_t deadline = node_deadline(d->node), shown = output_deadline(d->output),
             now = now_ms();
    deadline = shown < deadline ? shown : deadline;
    if (deadline == UINT64_MAX)
        uv_timer_stop(&d->timer);
    else
        uv_timer_start(&d->timer, on_timer, deadline > now ? deadline - now : 0, 0);
}

/* ---- life ---- */

/* What a prefix template means: "auto" names the rank where a person reads lines of several
 * workers. */
static const char *prefix_of(const struct options *opt, const struct facts *facts)
{
    if (strcmp(opt->prefix, "none") == 0)
        return NULL;
    if (strcmp(opt->prefix, "auto") != 0)
        return opt->prefix;
    return facts->is_stdout_tty && opt->nproc != 1 ? "{rank}: " : NULL;
}

struct driver_node *driver_node_new(uv_loop_t *loop, struct pump *pump,
                                    const struct options *opt, const struct facts *facts,
                                    const struct rlimit *nofile, const struct link_up *up)
{
    struct driver_node *d = mem_alloc(1, sizeof *d);
    d->loop = loop;
    d->opt = opt;
    d->facts = facts;
    exec_pipe_init(&d->exec_pipe);
    spawn_init(&d->spawn);
    d->mpi = mpi_host_new(opt, facts);
    d->spawn.nofile = *nofile;
    d->up = *up;
    d->node = node_new(opt, facts, 0);
    d->descendants = descendants_adopt();
    d->dev_null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    uv_timer_init(loop, &d->timer);
    d->timer.data = d;
    d->nhandles = 1;
    const struct output_events events = {d, on_output_blocked, on_reader_gone};
    const char *no_colour = facts_getenv(facts, "NO_COLOR"); /* no-color.org: not empty */
    const struct output_style style = {prefix_of(opt, facts), facts->host,
                                       !(no_colour && *no_colour), opt->is_deduped};
    d->output = output_new(loop, &style, &events);
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
    };
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
    job_files_fini(&d->files);
    findings_free(d->findings);
    worker_env_free(d->env);
    node_free(d->node);
    descendants_free(d->descendants);
    event_queue_fini(&d->queue);
    effects_fini(&d->effects);
    free(d->program);
    free(d->children);
    free(d->pids);
    free(d->host.slab);
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
    hand_error_on(d);
    exec_pipe_close(&d->exec_pipe);
    mpi_host_close(d->mpi);
    guard_stop(d->guard);
    d->guard = NULL;
    if (d->watches)
        watch_set_close(d->watches);
    log_set_sink(say_log, NULL);
    output_close(d->output);
    d->output = NULL;
    uv_close((uv_handle_t *)&d->timer, on_handle_closed);
}
