#include "launcher/io/driver_head.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/note.h"
#include "launcher/core/report.h"
#include "launcher/io/admission.h"
#include "launcher/core/job_control.h"
#include "launcher/core/strangers.h"
#include "launcher/core/streams.h"
#include "launcher/io/control_server.h"
#include "launcher/io/descriptors.h"
#include "launcher/io/driver_node.h"
#include "launcher/io/head_input.h"
#include "launcher/io/head_links.h"
#include "launcher/io/inbox.h"
#include "launcher/io/proc_stat.h"
#include "launcher/io/head_remotes.h"
#include "launcher/io/pump.h"
#include "launcher/io/remote_output.h"
#include "launcher/io/say.h"
#include "launcher/io/events.h"
#include "launcher/io/signals.h"
#include "launcher/io/spread.h"
#include "rendezvous/port.h"

struct driver_head {
    uv_loop_t loop;
    struct pump pump;
    struct signals signals;
    uv_timer_t timer;
    struct port *port;
    struct job *job;
    struct events *events;     /* NULL = nobody asked */
    struct driver_node *local; /* the node of this process: link 0; NULL = all are elsewhere */
    struct head_remotes *remotes; /* who starts those; NULL = they come by themselves */
    struct head_remotes *closed;  /* the same once it is closed: events point into it */
    struct remote_output *output; /* of those; NULL likewise */
    struct head_input *input;     /* for those; NULL likewise */
    const struct options *opt;
    const struct head_net *net; /* NULL: there is no other */
    struct head_links *links;   /* NULL likewise */
    struct admission *admission;
    struct control_server *control; /* NULL = it could not be had, or nothing will run */
    uint64_t began_ms;
    struct inbox inbox; /* frames for the local node */
    struct buf words;   /* about the end, for the nodes */
    struct event_queue queue;
    struct effects effects;
    bool must_suspend;
    bool is_paused;               /* the links, for output that waits */
    const struct head_sink *sink; /* NULL = nobody asks */
};

static void post(struct driver_head *d, struct event *ev)
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
        post(d, &ev);
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

/* ---- nodes of other processes ---- */

static void on_link(void *ctx, struct uv_tcp_s *tcp, struct str first)
{
    struct driver_head *d = ctx;
    head_links_accept(d->links, tcp, first, admission_user(d->admission, tcp));
}

static void on_remote_failed(void *ctx, uint32_t node, const struct err *why)
{
    struct event ev = {.type = EV_NODE_FAILED};
    ev.u.node_failed.node = node;
    ev.u.node_failed.err = why;
    post(ctx, &ev);
}

static void on_remote_state(void *ctx, uint32_t node, const char *host, const char *state)
{
    struct event ev = {.type = EV_NODE_STATE};
    ev.u.node_state.node = node;
    ev.u.node_state.host = host;
    ev.u.node_state.state = state;
    post(ctx, &ev);
}

static int setup_node(void *ctx, uint32_t link, const struct wire_who *who, struct buf *out)
{
    struct driver_head *d = ctx;
    (void)link;
    return d->remotes ? head_remotes_setup(d->remotes, who, out) : -1;
}

static void pause_links(struct driver_head *d, bool is_paused)
{
    struct event ev = {.type = is_paused ? EV_LINKS_PAUSED : EV_LINKS_RESUMED};
    if (d->links)
        head_links_pause(d->links, is_paused);
    if (is_paused != d->is_paused)
        post(d, &ev);
    d->is_paused = is_paused;
}

static void on_output(void *ctx, uint32_t link, const struct wire_output *output)
{
    struct driver_head *d = ctx;
    uint32_t n;
    const struct job_rank *ranks = job_ranks(d->job, &n);
    (void)link;
    if (output->rank >= n)
        return;
    remote_output_write(d->output, ranks[output->rank].local_rank, ranks[output->rank].host,
                        output);
    if (remote_output_is_full(d->output))
        pause_links(d, true);
}

static void on_more(void *ctx, uint32_t link)
{
    const struct driver_head *d = ctx;
    if (d->input)
        head_input_more(d->input, link);
}

static void send_input(void *ctx, uint32_t link, struct str bytes)
{
    const struct driver_head *d = ctx;
    if (d->links)
        head_links_send_input(d->links, link, bytes);
}

static void on_output_blocked(void *ctx, bool is_blocked)
{
    struct driver_head *d = ctx;
    struct event ev = {.type = is_blocked ? EV_OUTPUT_BLOCKED : EV_OUTPUT_FLOWING};
    if (!is_blocked)
        pause_links(d, false);
    post(d, &ev);
}

static void on_link_frame(void *ctx, uint32_t link, const struct frame *frame)
{
    struct event ev = {.type = EV_FRAME};
    ev.u.frame.node = link;
    ev.u.frame.frame = *frame;
    post(ctx, &ev);
}

static void on_link_lost(void *ctx, uint32_t link, const struct err *err)
{
    struct event ev = {.type = EV_NODE_LOST};
    ev.u.node_lost.node = link;
    ev.u.node_lost.err = err;
    post(ctx, &ev);
}

/* ---- who is served ---- */

static void on_unproven(void *ctx, const struct peer_ip *ip, bool is_named,
                        const struct err *why)
{
    struct driver_head *d = ctx;
    if (!strangers_is_one(is_named, why))
        log_debug("link", "a node's connection ended before a proof: %s", why->text);
    else if (d->admission)
        admission_stranger(d->admission, ip, why->text);
}

static bool is_node(void *ctx, const struct peer_ip *ip)
{
    const struct driver_head *d = ctx;
    struct buf host;
    if (d->links && head_links_has_peer(d->links, ip))
        return true;
    buf_init(&host, 0);
    peer_ip_format(ip, &host);
    bool is_known = job_has_node_at(d->job, buf_str(&host));
    buf_fini(&host);
    return is_known;
}

/* A worker that has given up its rights, or a node that another user of this machine runs. */
static bool is_user(void *ctx, uint32_t uid)
{
    const struct driver_head *d = ctx;
    uint32_t n, user;
    const struct job_rank *ranks = job_ranks(d->job, &n);
    for (uint32_t i = 0; d->local && ranks && i < n; i++) {
        struct proc_stat stat;
        pid_t pid = (pid_t)ranks[i].pid;
        if (pid && !ranks[i].has_ended && proc_stat_user(pid, &user) && user == uid
            && proc_stat_read(pid, &stat) && stat.parent == getpid())
            return true;
    }
    return d->links && head_links_has_user(d->links, uid);
}

static bool admit(void *ctx, const struct sockaddr *near, const struct sockaddr *far)
{
    struct driver_head *d = ctx;
    return admission_admit(d->admission, near, far);
}

static void on_server_note(void *ctx, const struct server_note *note)
{
    struct driver_head *d = ctx;
    struct buf words;
    if (note->kind == SERVER_NOTE_NOT_ADMITTED) /* told by who has not admitted it */
        return;
    buf_init(&words, 0);
    server_note_format(note, &words);
    if (server_note_is_stranger(note) && d->admission)
        admission_stranger(d->admission, &note->ip, buf_str(&words));
    else
        log_line(note->kind == SERVER_NOTE_GATE_CLOSED
                         || note->kind == SERVER_NOTE_OLD_GENERATION
                     ? LOG_DEBUG
                     : LOG_INFO,
                 "store", "store: %s", buf_str(&words));
    buf_fini(&words);
}

/* ---- other commands of this user ---- */

static void on_request(void *ctx, enum control_verb verb)
{
    struct event ev;
    if (job_control_event(verb, &ev))
        post(ctx, &ev);
}

static bool must_wait(void *ctx, enum control_verb verb)
{
    const struct driver_head *d = ctx;
    return job_control_must_wait(d->job, verb);
}

static void answer_request(void *ctx, enum control_verb verb, struct buf *out)
{
    const struct driver_head *d = ctx;
    struct control_facts facts = {
        .now_ms = now_ms(), .began_ms = d->began_ms, .pid = (uint32_t)getpid()};
    char *cwd = getcwd(NULL, 0);
    facts.cwd = cwd;
    if (d->local) {
        facts.node = driver_node_machine(d->local);
        facts.log_dir = driver_node_log_dir(d->local, &facts.layout);
    }
    job_control_answer(d->job, verb, &facts, out);
    free(cwd);
}

static void open_control(struct driver_head *d)
{
    const struct control_events events = {d, on_request, must_wait, answer_request};
    struct err e;
    d->began_ms = now_ms();
    if (d->opt->is_plan)
        return;
    d->control = control_server_open(&d->loop, d->opt->job_id, &events, &e);
    if (!d->control)
        log_debug("control", "muster ps and the like will not see this job: %s", e.text);
}

/* ---- effects ---- */

static void all_closed(struct driver_head *d)
{
    control_server_close(d->control);
    d->control = NULL;
    if (d->local)
        driver_node_close(d->local);
    if (d->output)
        remote_output_close(d->output);
    d->output = NULL;
    if (d->remotes)
        head_remotes_close(d->remotes);
    head_input_close(d->input);
    d->closed = d->remotes;
    d->remotes = NULL;
    if (d->links)
        head_links_close(d->links);
    d->links = NULL;
    port_close(d->port, NULL, NULL);
    signals_close(&d->signals);
    events_close(d->events);
    d->events = NULL;
    pump_close(&d->pump);
    uv_close((uv_handle_t *)&d->timer, NULL);
}

static void tell_sink(struct driver_head *d)
{
    const struct head_sink *sink = d->sink;
    if (sink && sink->on_plan && d->local && job_verdict(d->job)->kind == VERDICT_OK)
        sink->on_plan(sink->ctx, driver_node_plan(d->local), driver_node_program(d->local));
    if (sink && sink->on_done)
        sink->on_done(sink->ctx, d->job, d->port);
}

static void apply_store_reset(struct driver_head *d, uint32_t generation)
{
    port_generation_next(d->port);
    struct event ev = {.type = EV_STORE_READY};
    ev.u.store_ready.generation = generation;
    post(d, &ev);
}

/* Says to the nodes how the job ended, in the words that it says itself. */
static void add_words(struct driver_head *d, struct frame *frame)
{
    if (!d->words.len)
        report_format(d->job, d->opt, &d->words);
    frame->u.bye.text = d->words.len ? buf_str(&d->words) : NULL;
}

/* What fences carry is the job's, or another event's, until its next step; the node steps
 * later. */
static void receive_local(struct driver_head *d, const struct frame *frame)
{
    struct err e;
    if (!d->local)
        return;
    if (frame->type == FRAME_GATHERED || frame->type == FRAME_WANTED) {
        struct buf bytes;
        buf_init(&bytes, 0);
        link_wire_frame(frame, &bytes);
        const struct wire_message *m =
            inbox_add(&d->inbox, (struct str){bytes.data, bytes.len}, &e);
        assert(m); /* it is what we have written */
        frame = &m->u.frame;
        buf_fini(&bytes);
    }
    driver_node_receive(d->local, frame);
}

static void apply_send(struct driver_head *d, uint32_t link, const struct frame *frame)
{
    if (link == 0) {
        receive_local(d, frame);
        return;
    }
    struct frame copy = *frame;
    if (frame->type == FRAME_BYE && job_done(d->job)) /* else a spare has had enough */
        add_words(d, &copy);
    if (d->links)
        head_links_send(d->links, link, &copy);
}

static void apply(struct driver_head *d, const struct effect *fx)
{
    switch (fx->type) {
    case FX_SEND:
        apply_send(d, fx->u.send.node, &fx->u.send.frame);
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
    case FX_DROP_NODE:
        if (d->links)
            head_links_drop(d->links, fx->u.drop_node.node);
        return;
    case FX_DROP_OUTPUT:
        if (d->output)
            remote_output_drop(d->output);
        return;
    case FX_DONE:
        tell_sink(d);
        all_closed(d);
        return;
    case FX_PREPARE:
    case FX_SPAWN:
    case FX_KILL:
    case FX_SWEEP:
    case FX_CLOSE_STREAMS:
    case FX_REAP:
    case FX_LOOK:
    case FX_STACKS:
    case FX_WORLD:
    case FX_WANTED:
    case FX_GATHERED:
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
    port.admit = admit;
    if (d->net)
        port.on_link = on_link;
    port.on_note = on_server_note;
    if (getrandom(port.seed, sizeof port.seed, 0) < 0)
        return err_sys(e, errno, "getrandom"), NULL;
    return port_open(&d->loop, &port, e);
}

/* From here on nodes may come. 0, or -1 with ERR_SYSTEM. */
static int open_links(struct driver_head *d, struct err *e)
{
    const struct admission_asks asks = {d, is_node, is_user};
    d->admission = admission_new(&d->loop, d->opt->is_store_open, d->net != NULL, &asks, e);
    if (!d->admission)
        return -1;
    struct head_links_events events = {.ctx = d,
                                       .on_frame = on_link_frame,
                                       .on_lost = on_link_lost,
                                       .on_unproven = on_unproven};
    if (!d->net)
        return 0;
    if (d->net->spread) {
        events.setup = setup_node;
        events.on_output = on_output;
        events.on_more = on_more;
    }
    d->links = head_links_new(&d->loop, d->net->key, d->net->nnodes, &events);
    return 0;
}

static void start_local(struct driver_head *d, const struct facts *facts,
                        const struct rlimit *nofile)
{
    const struct link_up up = {.ctx = d, .send = on_frame, .reader_gone = on_reader_gone};
    const struct options *opt = d->opt;
    const struct node_place place = {.beat_ms = d->net ? opt->beat_ms : 0,
                                     .node_rank = opt->node_rank < 0 ? NODE_RANK_ANY
                                                                     : (uint32_t)opt->node_rank,
                                     .pid = (uint32_t)getpid()};
    d->local = driver_node_new(&d->loop, &d->pump, opt, facts, &place, nofile, &up);
}

static void start_remotes(struct driver_head *d, const struct facts *facts,
                          const struct rlimit *nofile)
{
    const struct head_remotes_events events = {d, on_remote_failed, on_remote_state};
    const struct output_events output = {
        .ctx = d, .on_blocked = on_output_blocked, .on_reader_gone = on_reader_gone};
    struct err e;
    d->remotes = head_remotes_new(&d->loop, d->net->spread, nofile, &events);
    d->output = remote_output_new(&d->loop, d->opt, facts, &output);
    d->input = head_input_new(
        &d->loop, streams_is_input_shared(d->opt) ? spread_nodes(d->net->spread) : 1, d,
        send_input, &e);
    if (!d->input)
        log_warn("stdin", "%s", e.text);
    head_remotes_start(d->remotes, port_number(d->port));
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
    if ((opt->events && !opt->is_plan
         && !(d->events = events_open(&d->loop, opt->events, opt, e)))
        || open_links(d, e) < 0 || !(d->port = open_port(d, opt, e))) {
        if (d->links)
            head_links_close(d->links);
        events_close(d->events);
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
    post(d, &boot);
    open_control(d);
    if (net && net->spread)
        start_remotes(d, facts, &nofile);
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
