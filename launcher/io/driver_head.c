#include "launcher/io/driver_head.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/io/admission.h"
#include "launcher/io/control_server.h"
#include "launcher/io/descriptors.h"
#include "launcher/io/driver_head_state.h"
#include "launcher/io/driver_node.h"
#include "launcher/io/events.h"
#include "launcher/io/head_admission.h"
#include "launcher/io/head_control.h"
#include "launcher/io/head_effects.h"
#include "launcher/io/head_input.h"
#include "launcher/io/head_links.h"
#include "launcher/io/head_metrics.h"
#include "launcher/io/head_nodes.h"
#include "launcher/io/head_remotes.h"
#include "launcher/io/remote_output.h"
#include "launcher/io/say.h"
#include "rendezvous/port.h"

void driver_head_post(struct driver_head *d, struct event *ev)
{
    ev->now_ms = now_ms();
    event_queue_push(&d->queue, ev);
}

/* ---- what happens: callbacks to events ---- */

static void on_timer(uv_timer_t *timer)
{
    struct driver_head *d = timer->data;
    struct event ev = {.type = EV_TICK};
    if (d->output)
        remote_output_tick(d->output, now_ms());
    if (d->remotes)
        head_remotes_tick(d->remotes, now_ms());
    if (job_deadline(d->job) <= now_ms())
        driver_head_post(d, &ev);
}

static void on_signal(void *ctx, int signo)
{
    struct driver_head *d = ctx;
    if (signo == SIGCHLD) {
        if (d->local)
            driver_node_child_signal(d->local);
        return;
    }
    struct event ev = {.type = EV_SIGNAL};
    ev.u.signal.signo = signo;
    driver_head_post(d, &ev);
}

void driver_head_reader_gone(void *ctx)
{
    on_signal(ctx, SIGPIPE);
}

static void on_frame(void *ctx, const struct frame *frame)
{
    struct event ev = {.type = EV_FRAME};
    ev.u.frame.node = 0;
    ev.u.frame.frame = *frame;
    driver_head_post(ctx, &ev);
}

/* ---- the pump ---- */

static bool step(void *ctx)
{
    struct driver_head *d = ctx;
    struct event ev;
    if (!event_queue_pop(&d->queue, &ev))
        return false;
    say_event("job", &ev);
    effects_clear(&d->effects);
    job_step(d->job, &ev, &d->effects);
    if (d->events)
        events_step(d->events, d->job, &ev, &d->effects);
    for (size_t i = 0; i < d->effects.len; i++)
        head_effects_apply(d, &d->effects.items[i]);
    return true;
}

/* The workers are stopped; SIGCONT wakes us, and on_signal them. Nodes are told that nobody
 * reads, or they would take a full connection for a dead one. */
static void suspend(struct driver_head *d)
{
    d->must_suspend = false;
    if (d->links)
        head_links_pause(d->links, true);
    raise(SIGSTOP);
    if (d->links)
        head_links_pause(d->links, d->is_paused);
}

static void settle(void *ctx)
{
    struct driver_head *d = ctx;
    if (d->must_suspend)
        suspend(d);
    inbox_empty(&d->inbox);
    if (d->links)
        head_links_settle(d->links);
    if (d->control)
        control_server_settle(d->control);
    if (d->metrics)
        head_metrics_settle(d->metrics);
    uint64_t deadline = job_deadline(d->job), now = now_ms(),
             shown = d->output ? remote_output_deadline(d->output) : UINT64_MAX,
             failed = d->remotes ? head_remotes_deadline(d->remotes) : UINT64_MAX;
    deadline = shown < deadline ? shown : deadline;
    deadline = failed < deadline ? failed : deadline;
    if (job_done(d->job))
        return;
    if (deadline == UINT64_MAX)
        uv_timer_stop(&d->timer);
    else
        uv_timer_start(&d->timer, on_timer, deadline > now ? deadline - now : 0, 0);
}

/* ---- set-up ---- */

static struct port *open_port(struct driver_head *d, const struct options *opt, struct err *e)
{
    struct port_options port = port_options_default();
    port.address = d->net ? d->net->listen : "127.0.0.1";
    port.port = d->net ? d->net->port : opt->master_port;
    port.ctx = d;
    port.admit = head_admission_admit;
    if (d->net)
        port.on_link = head_nodes_accept;
    port.on_note = head_admission_note;
    if (getrandom(port.seed, sizeof port.seed, 0) < 0)
        return err_sys(e, errno, "getrandom"), NULL;
    return port_open(&d->loop, &port, e);
}

/* 0, or -1 with ERR_SYSTEM or, of the port, ERR_UNAVAILABLE, or ERR_USAGE for --metrics. */
static int open_shared(struct driver_head *d, struct err *e)
{
    if (head_admission_open(d, e) < 0)
        return -1;
    head_nodes_open(d);
    d->port = open_port(d, d->opt, e);
    return d->port ? head_metrics_open(d, e) : -1;
}

/* Once we have the port: the file may be that of the head that has it. */
static int open_events(struct driver_head *d, struct err *e)
{
    if (!d->opt->events || d->opt->is_plan)
        return 0;
    d->events = events_open(&d->loop, d->opt->events, d->opt, e);
    return d->events ? 0 : -1;
}

static void start_local(struct driver_head *d, const struct facts *facts,
                        const struct rlimit *nofile)
{
    const struct link_up up = {
        .ctx = d, .send = on_frame, .reader_gone = driver_head_reader_gone};
    const struct options *opt = d->opt;
    const struct node_place place = {.beat_ms = d->net ? opt->beat_ms : 0,
                                     .node_rank = opt->node_rank < 0 ? NODE_RANK_ANY
                                                                     : (uint32_t)opt->node_rank,
                                     .pid = (uint32_t)getpid()};
    d->local = driver_node_new(&d->loop, &d->pump, opt, facts, &place, nofile, &up);
    if (d->control)
        driver_node_note_socket(d->local, control_server_path(d->control));
}

int driver_head_run(struct job *job, const struct options *opt, const struct facts *facts,
                    const struct head_net *net, const struct head_sink *sink, struct err *e)
{
    struct driver_head *d = mem_alloc(1, sizeof *d);
    d->job = job;
    d->sink = sink;
    d->opt = opt;
    d->net = net;
    inbox_init(&d->inbox);
    buf_init(&d->words, 0);
    descriptors_keep();
    int rc = uv_loop_init(&d->loop);
    if (rc < 0) {
        free(d);
        return err_set(e, ERR_SYSTEM, "cannot make an event loop: %s", uv_strerror(rc));
    }
    struct rlimit nofile = descriptors_raise_limit();
    if (open_shared(d, e) < 0 || open_events(d, e) < 0) {
        head_metrics_close(d->metrics);
        if (d->port)
            port_close(d->port, NULL, NULL);
        if (d->links)
            head_links_close(d->links);
        uv_run(&d->loop, UV_RUN_DEFAULT);
        uv_loop_close(&d->loop);
        admission_end(d->admission);
        free(d);
        return -1;
    }
    signals_open(&d->signals, &d->loop, d, on_signal);
    signals_add(&d->signals, opt->end_signals);
    uv_timer_init(&d->loop, &d->timer);
    d->timer.data = d;
    pump_init(&d->pump, &d->loop);
    pump_add(&d->pump, step, settle, d);
    struct event boot = {.type = EV_BOOT};
    boot.u.boot.addr = net ? net->reach : port_address(d->port);
    boot.u.boot.port = port_number(d->port);
    driver_head_post(d, &boot);
    head_control_open(d);
    if (net && net->spread)
        head_nodes_start(d, facts, &nofile);
    else
        start_local(d, facts, &nofile);
    uv_run(&d->loop, UV_RUN_DEFAULT);
    rc = uv_loop_close(&d->loop);
    if (rc < 0)
        log_error("job", "handles were left open: %s", uv_strerror(rc));
    event_queue_fini(&d->queue);
    effects_fini(&d->effects);
    admission_end(d->admission);
    inbox_empty(&d->inbox);
    buf_fini(&d->words);
    head_input_free(d->input);
    head_remotes_free(d->closed);
    free(d);
    return 0;
}
