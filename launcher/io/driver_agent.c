#include "launcher/io/driver_agent.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/streams.h"
#include "launcher/io/agent_input.h"
#include "launcher/io/agent_setup.h"
#include "launcher/io/descriptors.h"
#include "launcher/io/driver_node.h"
#include "launcher/io/inbox.h"
#include "launcher/io/pump.h"
#include "launcher/io/say.h"
#include "launcher/io/signals.h"
#include "launcher/io/subtree.h"

/* The link opens, then the node machine begins; it ends by the head's BYE or because the link
 * is lost, whatever comes first; then everything is closed. */
enum {
    UNSENT_MAX = 256 * 1024, /* of output, before the workers are no longer read */
    STARTED_MS = 60000,      /* for a node that muster has started to reach the head */
};

struct driver_agent {
    const struct agent *agent;
    uv_loop_t loop;
    struct pump pump;
    struct signals signals;
    struct link *link;        /* NULL once it has ended */
    struct driver_node *node; /* NULL before the link has opened and after the end */
    struct inbox inbox;
    struct buf bytes;
    struct rlimit nofile;
    struct addr head;          /* that has proved itself */
    const struct options *opt; /* NULL until the head has told */
    const struct facts *facts;
    struct agent_setup setup;  /* what it told */
    struct agent_input *input; /* its standard input; NULL = it has none for us */
    bool reads_input;          /* some worker does */
    uv_poll_t lifeline;
    struct subtree *subtree; /* those that it has started; NULL = none */
    int status;
    char *words; /* the head's, about the end; NULL = none */
    bool has_end, is_closing;
};

static void end_with(struct driver_agent *d, int status)
{
    if (d->has_end)
        return;
    d->has_end = true;
    d->status = status;
}

static void close_all(struct driver_agent *d)
{
    if (d->is_closing)
        return;
    d->is_closing = true;
    if (d->node)
        driver_node_close(d->node);
    d->node = NULL;
    agent_input_close(d->input);
    d->input = NULL;
    if (d->link)
        link_finish(d->link);
    subtree_close(d->subtree);
    d->subtree = NULL;
    if (d->lifeline.data)
        uv_close((uv_handle_t *)&d->lifeline, NULL);
    signals_close(&d->signals);
    pump_close(&d->pump);
}

/* ---- the node's way up ---- */

static void send_up(void *ctx, const struct frame *frame)
{
    struct driver_agent *d = ctx;
    if (!d->link)
        return;
    buf_reset(&d->bytes);
    link_wire_frame(frame, &d->bytes);
    link_send(d->link, (struct str){d->bytes.data, d->bytes.len});
}

static void on_signal(void *ctx, int signo);

static void on_reader_gone(void *ctx)
{
    on_signal(ctx, SIGPIPE);
}

/* ---- callbacks ---- */

static void on_signal(void *ctx, int signo)
{
    struct driver_agent *d = ctx;
    struct event ev = {.type = EV_SIGNAL};
    ev.u.signal.signo = signo;
    if (signo == SIGCHLD && d->node) {
        driver_node_child_signal(d->node);
    } else if (d->node) {
        driver_node_post(d->node, &ev);
    } else if (signo != SIGCHLD && signo != SIGCONT && signo != SIGTSTP) { /* nobody to ask */
        end_with(d, 128 + signo);
        close_all(d);
    }
}

/* ---- those that it starts ---- */

static void tell(const struct driver_agent *d, enum status_kind kind, const char *text)
{
    const struct status_line s = {kind, 0, text};
    if (d->agent->on_status)
        d->agent->on_status(&s);
}

static void on_below_status(void *ctx, const struct status_line *s)
{
    const struct driver_agent *d = ctx;
    if (d->agent->on_status)
        d->agent->on_status(s);
}

static void on_below_process(void *ctx, pid_t pid, bool is_running)
{
    const struct driver_agent *d = ctx;
    if (d->node && is_running)
        driver_node_keep(d->node, pid);
    else if (d->node)
        driver_node_release(d->node, pid);
}

static void keep_process(void *ctx, pid_t pid)
{
    on_below_process(ctx, pid, true);
}

static void start_subtree(struct driver_agent *d)
{
    const struct subtree_events events = {d, on_below_status, on_below_process};
    if (d->agent->boot)
        d->subtree = subtree_start(&d->loop, d->agent->boot, &d->nofile, &events);
}

/* ---- the beginning of the node ---- */

static void relay(void *ctx, uint32_t rank, enum output_fd fd, const char *p, size_t n)
{
    struct driver_agent *d = ctx;
    if (!d->link)
        return;
    const struct wire_output output = {rank, fd == OUTPUT_ERR ? 2 : 1, {p, n}};
    buf_reset(&d->bytes);
    link_wire_output(&output, &d->bytes);
    link_send(d->link, (struct str){d->bytes.data, d->bytes.len});
}

static void ask_more(void *ctx)
{
    struct driver_agent *d = ctx;
    if (!d->link)
        return;
    buf_reset(&d->bytes);
    link_wire_more(&d->bytes);
    link_send(d->link, (struct str){d->bytes.data, d->bytes.len});
}

/* Only if one of our workers reads it, and once it runs. */
static void watch_input(struct driver_agent *d, const struct frame *frame)
{
    if (!d->input)
        return;
    if (frame->type == FRAME_PLAN) {
        const struct order *o = frame->u.plan.order;
        d->reads_input = streams_is_input_shared(d->opt);
        for (uint32_t i = 0; i < o->nworkers; i++)
            d->reads_input = d->reads_input || streams_reads_input(d->opt, o->first_rank + i);
    } else if (frame->type == FRAME_START && d->reads_input) {
        agent_input_begin(d->input);
    }
}

static bool is_way_full(void *ctx)
{
    const struct driver_agent *d = ctx;
    return d->link && link_unsent(d->link) > UNSENT_MAX;
}

static void on_drained(void *ctx, struct link *link)
{
    struct driver_agent *d = ctx;
    (void)link;
    if (d->node)
        driver_node_flowing(d->node);
}

static void begin(struct driver_agent *d, int64_t node_rank, uint32_t nnodes)
{
    struct link_up up = {.ctx = d, .send = send_up, .reader_gone = on_reader_gone};
    const struct node_place place = {
        .beat_ms = d->opt->beat_ms,
        .node_rank = node_rank < 0 ? NODE_RANK_ANY : (uint32_t)node_rank,
        .nnodes = nnodes,
        .pid = (uint32_t)getpid(),
        .via = d->head.host,
        .reach = *d->setup.reach.host ? d->setup.reach.host : NULL};
    if (!d->agent->opt) {
        struct err e;
        up.relay = relay;
        up.is_full = is_way_full;
        d->input = agent_input_new(&d->loop, d, ask_more, &e);
        if (d->input)
            up.input = agent_input_fd(d->input);
        else
            log_warn("stdin", "%s", e.text);
    }
    d->node = driver_node_new(&d->loop, &d->pump, d->opt, d->facts, &place, &d->nofile, &up);
    if (d->subtree)
        subtree_each_process(d->subtree, keep_process, d);
}

static void say_who(struct driver_agent *d)
{
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    const struct wire_who who = {d->agent->node, d->agent->task,
                                 d->agent->name ? d->agent->name : host};
    buf_reset(&d->bytes);
    link_wire_who(&who, &d->bytes);
    link_send(d->link, (struct str){d->bytes.data, d->bytes.len});
}

static void on_open(void *ctx, struct link *link, const struct link_peer *peer)
{
    struct driver_agent *d = ctx;
    (void)link;
    d->head = d->agent->heads[peer->candidate];
    log_debug("link", "the head at %s has proved itself", peer->address);
    if (d->opt)
        begin(d, d->opt->node_rank, d->opt->nnodes_max);
    else
        say_who(d);
}

/* The command line of the head, in the environment that it gives. */
static void on_setup(struct driver_agent *d, const struct wire_setup *setup)
{
    struct err e;
    if (d->opt) /* once is enough */
        return;
    if (agent_setup(&d->setup, OPTIONS_RUN, setup, &e) == 0) {
        d->opt = &d->setup.options;
        d->facts = &d->setup.facts;
        tell(d, STATUS_LINKED, "");
        begin(d, setup->node, 0);
        return;
    }
    struct frame refusal = {.type = FRAME_REFUSED};
    refusal.u.refused.err = &e;
    refusal.u.refused.host = setup->host;
    refusal.u.refused.node_rank = setup->node;
    send_up(d, &refusal); /* the head ends the job, and this node with it */
}

static void on_message_frame(struct driver_agent *d, const struct frame *frame)
{
    if (frame->type == FRAME_BYE) {
        end_with(d, d->agent->opt ? frame->u.bye.status : 0);
        d->words = d->words ? d->words : mem_strdup(frame->u.bye.text);
    } else if (frame->type == FRAME_REFUSED) {
        end_with(d, err_exit_status(frame->u.refused.err->code));
        if (d->agent->opt) /* else the head is who says it */
            log_error("node", "%s", frame->u.refused.err->text);
    }
    watch_input(d, frame);
    if (d->node)
        driver_node_receive(d->node, frame);
}

static void on_frame(void *ctx, struct link *link, struct str bytes)
{
    struct driver_agent *d = ctx;
    struct err e;
    const struct wire_message *m = inbox_add(&d->inbox, bytes, &e);
    if (m && m->kind == WIRE_KIND_FRAME) {
        on_message_frame(d, &m->u.frame);
    } else if (m && m->kind == WIRE_KIND_SETUP && !d->agent->opt) {
        on_setup(d, &m->u.setup);
    } else if (m && m->kind == WIRE_KIND_INPUT && d->input) {
        agent_input_take(d->input, m->u.input);
    } else if (m && m->kind == WIRE_KIND_INPUT) {
        log_debug("link", "standard input that nobody reads");
    } else {
        log_error("link", "the head sent what it should not: %s",
                  m ? "a message of another kind" : e.text);
        end_with(d, err_exit_status(ERR_UNAVAILABLE)); /* all has been said */
        link_close(link);
    }
}

static void on_closed(void *ctx, struct link *link, const struct err *why)
{
    struct driver_agent *d = ctx;
    struct event ev = {.type = EV_LINK_LOST};
    (void)link;
    d->link = NULL;
    if (!d->has_end && why)
        log_error("link", d->node ? "the head is lost: %s" : "%s", why->text);
    else if (!d->has_end)
        log_error("link", "the head ended the connection without a word");
    end_with(d, why && why->code == ERR_AUTH ? 77 : 69);
    if (d->node)
        driver_node_post(d->node, &ev);
    else
        close_all(d);
}

/* ---- life ---- */

/* The command that started this node has ended, with the head behind it; or with another node,
 * whose end is not ours. */
static void on_lifeline(uv_poll_t *poll, int status, int events)
{
    struct driver_agent *d = poll->data;
    char byte;
    (void)status;
    (void)events;
    if (read(d->agent->lifeline, &byte, 1) > 0)
        return;
    uv_poll_stop(poll);
    if (d->link && !(d->agent->is_inner && d->opt))
        link_close(d->link);
}

static bool step(void *ctx)
{
    (void)ctx;
    return false; /* its events are the node's */
}

static void settle(void *ctx)
{
    struct driver_agent *d = ctx;
    inbox_empty(&d->inbox);
    if (d->node && driver_node_is_done(d->node))
        close_all(d);
}

static void on_try(void *ctx, struct link *link, size_t candidate, const struct err *why)
{
    const struct driver_agent *d = ctx;
    (void)link;
    if (!addr_is_loopback(d->agent->heads[candidate].host)) /* of a head elsewhere no news */
        tell(d, STATUS_TRY, why->text);
}

static struct link *dial(struct driver_agent *d, struct err *e)
{
    struct link_options options = link_options_default();
    options.key = d->agent->key;
    options.until_ms = d->opt ? d->opt->join_timeout_ms : STARTED_MS;
    options.on_drained = on_drained;
    options.ctx = d;
    options.on_open = on_open;
    options.on_try = on_try;
    options.on_frame = on_frame;
    options.on_closed = on_closed;
    return link_dial(&d->loop, d->agent->heads, d->agent->nheads, &options, e);
}

static void run(struct driver_agent *d)
{
    struct err e;
    signals_open(&d->signals, &d->loop, d, on_signal);
    pump_init(&d->pump, &d->loop);
    pump_add(&d->pump, step, settle, d);
    if (d->agent->lifeline >= 0
        && uv_poll_init(&d->loop, &d->lifeline, d->agent->lifeline) == 0) {
        d->lifeline.data = d;
        uv_poll_start(&d->lifeline, UV_READABLE, on_lifeline);
    }
    start_subtree(d);
    d->link = dial(d, &e);
    if (!d->link) {
        log_error("link", "%s", e.text);
        end_with(d, err_exit_status(e.code));
        close_all(d);
    }
    uv_run(&d->loop, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&d->loop);
    if (rc < 0)
        log_error("node", "handles were left open: %s", uv_strerror(rc));
}

int driver_agent_run(const struct agent *agent)
{
    struct driver_agent *d = mem_alloc(1, sizeof *d);
    d->agent = agent;
    d->opt = agent->opt;
    d->facts = agent->facts;
    inbox_init(&d->inbox);
    buf_init(&d->bytes, 0);
    descriptors_keep();
    d->nofile = descriptors_raise_limit();
    int rc = uv_loop_init(&d->loop);
    if (rc < 0) {
        log_error("", "cannot make an event loop: %s", uv_strerror(rc));
        end_with(d, err_exit_status(ERR_SYSTEM));
    } else {
        run(d);
    }
    if (d->words && agent->opt) /* likewise */
        say(d->words, strlen(d->words), SAY_REPORT_MS);
    int status = d->status;
    agent_setup_fini(&d->setup);
    inbox_empty(&d->inbox);
    buf_fini(&d->bytes);
    free(d->words);
    free(d);
    return status;
}
