#include "launcher/io/driver_head.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/note.h"
#include "launcher/io/driver_node.h"
#include "launcher/io/pump.h"
#include "launcher/io/say.h"
#include "launcher/io/events.h"
#include "launcher/io/signals.h"
#include "rendezvous/port.h"

struct driver_head {
    uv_loop_t loop;
    struct pump pump;
    struct signals signals;
    uv_timer_t timer;
    struct port *port;
    struct job *job;
    struct events *events;     /* NULL = nobody asked */
    struct driver_node *local; /* the node of this process */
    struct event_queue queue;
    struct effects effects;
    bool must_suspend;
    const struct plan_sink *sink; /* of a plan only, else NULL */
};

static void post(struct driver_head *d, struct event *ev)
{
    ev->now_ms = now_ms();
    event_queue_push(&d->queue, ev);
}

/* ---- what happens: callbacks to events ---- */

static void on_timer(uv_timer_t *timer)
{
    struct event ev = {.type = EV_TICK};
    post(timer->data, &ev);
}

static void on_signal(void *ctx, int signo)
{
    struct driver_head *d = ctx;
    if (signo == SIGCHLD) {
        driver_node_child_signal(d->local);
        return;
    }
    struct event ev = {.type = EV_SIGNAL};
    ev.u.signal.signo = signo;
    post(d, &ev);
}

static void on_reader_gone(void *ctx)
{
    on_signal(ctx, SIGPIPE);
}

static void on_frame(void *ctx, const struct frame *frame)
{
    struct event ev = {.type = EV_FRAME};
    ev.u.frame.node = 0;
    ev.u.frame.frame = *frame;
    post(ctx, &ev);
}

static void on_server_note(void *ctx, const struct server_note *note)
{
    (void)ctx;
    struct buf words;
    buf_init(&words, 0);
    server_note_format(note, &words);
    log_line(note->kind == SERVER_NOTE_GATE_CLOSED || note->kind == SERVER_NOTE_OLD_GENERATION
                 ? LOG_DEBUG
                 : LOG_INFO,
             "store", "store: %s", buf_str(&words));
    buf_fini(&words);
}

/* ---- effects ---- */

static void all_closed(struct driver_head *d)
{
    driver_node_close(d->local);
    port_close(d->port, NULL, NULL);
    signals_close(&d->signals);
    pump_close(&d->pump);
    uv_close((uv_handle_t *)&d->timer, NULL);
}

static void tell_plan(struct driver_head *d)
{
    if (d->sink && job_verdict(d->job)->kind == VERDICT_OK)
        d->sink->on_plan(d->sink->ctx, driver_node_plan(d->local),
                         driver_node_program(d->local));
}

static void apply_store_reset(struct driver_head *d, uint32_t generation)
{
    port_generation_next(d->port);
    struct event ev = {.type = EV_STORE_READY};
    ev.u.store_ready.generation = generation;
    post(d, &ev);
}

static void apply(struct driver_head *d, const struct effect *fx)
{
    switch (fx->type) {
    case FX_SEND:
        driver_node_receive(d->local, &fx->u.send.frame);
        return;
    case FX_NOTE:
        say_note("job", &fx->u.note);
        return;
    case FX_STORE_GATE:
        port_gate_close(d->port);
        return;
    case FX_STORE_RESET:
        apply_store_reset(d, fx->u.store_reset.generation);
        return;
    case FX_SUSPEND:
        d->must_suspend = true;
        return;
    case FX_DONE:
        tell_plan(d);
        all_closed(d);
        return;
    case FX_PREPARE:
    case FX_SPAWN:
    case FX_KILL:
    case FX_SWEEP:
    case FX_CLOSE_STREAMS:
    case FX_REAP:
    case FX_DROP_OUTPUT:
    case EFFECT_TYPE_COUNT:
        return; /* a node's */
    }
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
        apply(d, &d->effects.items[i]);
    return true;
}

static void settle(void *ctx)
{
    struct driver_head *d = ctx;
    if (d->must_suspend) {
        d->must_suspend = false;
        raise(SIGSTOP); /* the workers are stopped; SIGCONT wakes us, and on_signal them */
    }
    uint64_t deadline = job_deadline(d->job), now = now_ms();
    if (job_done(d->job))
        return;
    if (deadline == UINT64_MAX)
        uv_timer_stop(&d->timer);
    else
        uv_timer_start(&d->timer, on_timer, deadline > now ? deadline - now : 0, 0);
}

/* ---- set-up ---- */

/* Descriptors that muster inherited are its parent's business: workers get 0, 1 and 2. */
static void keep_descriptors(void)
{
    if (syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC, Linux 5.11 */) == 0)
        return;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        int fd = atoi(entry->d_name);
        if (fd > STDERR_FILENO && fd != dirfd(dir))
            fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    if (dir)
        closedir(dir);
}

/* Raises our own soft limit of open files; workers get back what we were started with. */
static struct rlimit raise_nofile(void)
{
    struct rlimit original = {1024, 1024};
    if (getrlimit(RLIMIT_NOFILE, &original) == 0 && original.rlim_cur < original.rlim_max) {
        struct rlimit raised = {original.rlim_max, original.rlim_max};
        setrlimit(RLIMIT_NOFILE, &raised);
    }
    return original;
}

static struct port *open_port(struct driver_head *d, const struct options *opt, struct err *e)
{
    struct port_options port = port_options_default();
    port.address = "127.0.0.1";
    port.port = opt->master_port;
    port.ctx = d;
    port.on_note = on_server_note;
    if (getrandom(port.seed, sizeof port.seed, 0) < 0)
        return err_sys(e, errno, "getrandom"), NULL;
    return port_open(&d->loop, &port, e);
}

int driver_head_run(struct job *job, const struct options *opt, const struct facts *facts,
                    struct err *e)
{
    return driver_head_plan(job, opt, facts, NULL, e);
}

int driver_head_plan(struct job *job, const struct options *opt, const struct facts *facts,
                     const struct plan_sink *sink, struct err *e)
{
    struct driver_head *d = mem_alloc(1, sizeof *d);
    d->job = job;
    d->sink = sink;
    keep_descriptors();
    if (opt->events && !opt->is_plan && !(d->events = events_open(opt->events, opt, e))) {
        free(d);
        return -1;
    }
    int rc = uv_loop_init(&d->loop);
    if (rc < 0) {
        events_close(d->events);
        free(d);
        return err_set(e, ERR_SYSTEM, "cannot make an event loop: %s", uv_strerror(rc));
    }
    struct rlimit nofile = raise_nofile();
    d->port = open_port(d, opt, e);
    if (!d->port) {
        uv_run(&d->loop, UV_RUN_DEFAULT);
        uv_loop_close(&d->loop);
        events_close(d->events);
        free(d);
        return -1;
    }
    signals_open(&d->signals, &d->loop, d, on_signal);
    signals_add(&d->signals, opt->end_signals);
    uv_timer_init(&d->loop, &d->timer);
    d->timer.data = d;
    pump_init(&d->pump, &d->loop);
    pump_add(&d->pump, step, settle, d);
    const struct link_up up = {d, on_frame, on_reader_gone};
    struct event boot = {.type = EV_BOOT};
    boot.u.boot.addr = port_address(d->port);
    boot.u.boot.port = port_number(d->port);
    post(d, &boot);
    d->local = driver_node_new(&d->loop, &d->pump, opt, facts, &nofile, &up);
    uv_run(&d->loop, UV_RUN_DEFAULT);
    rc = uv_loop_close(&d->loop);
    if (rc < 0)
        log_error("job", "handles were left open: %s", uv_strerror(rc));
    events_close(d->events);
    event_queue_fini(&d->queue);
    effects_fini(&d->effects);
    free(d);
    return 0;
}
