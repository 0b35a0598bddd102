#include "launcher/io/driver_node.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/io/descendants.h"
#include "launcher/io/driver_node_state.h"
#include "launcher/io/findings.h"
#include "launcher/io/guard.h"
#include "launcher/io/launch.h"
#include "launcher/io/mpi_host.h"
#include "launcher/io/node_effects.h"
#include "launcher/io/node_watch.h"
#include "launcher/io/output_style.h"
#include "launcher/io/say.h"
#include "launcher/io/watch.h"

enum { SLAB_BYTES = 64 * 1024 };

void driver_node_post(struct driver_node *d, struct event *ev)
{
    ev->now_ms = now_ms();
    event_queue_push(&d->queue, ev);
}

static void post_type(struct driver_node *d, enum event_type type)
{
    struct event ev = {.type = type};
    driver_node_post(d, &ev);
}

static void post_watched(void *ctx, struct event *ev)
{
    driver_node_post(ctx, ev);
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
    driver_node_post(ctx, &ev);
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
    driver_node_post(ctx, &ev);
}

static void on_mpi_abort(void *ctx, uint32_t local_rank)
{
    struct event ev = {.type = EV_ABORTED};
    ev.u.aborted.local_rank = local_rank;
    driver_node_post(ctx, &ev);
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
    driver_node_post(d, &ev);
}

void driver_node_receive(struct driver_node *d, const struct frame *frame)
{
    struct event ev = {.type = EV_FRAME};
    ev.u.frame.frame = *frame;
    d->is_stopping = d->is_stopping || frame->type == FRAME_STOP;
    driver_node_post(d, &ev);
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

struct maybe_u64 driver_node_output_bytes(const struct driver_node *d, uint32_t rank,
                                          enum output_fd fd)
{
    return output_bytes(d->output, rank, fd);
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

void driver_node_note_socket(struct driver_node *d, const char *path)
{
    d->socket = path;
}

void driver_node_keep(struct driver_node *d, pid_t pid)
{
    descendants_keep(d->descendants, pid);
}

void driver_node_release(struct driver_node *d, pid_t pid)
{
    descendants_release(d->descendants, pid);
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
        node_effects_swept(d, descendants_signal(d->descendants, 0));
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
        node_effects_apply(d, &d->effects.items[i]);
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
    if (opt->metrics && !up->relay)
        output_count(d->output);
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
