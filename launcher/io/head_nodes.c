#include "launcher/io/head_nodes.h"

#include "base/log.h"
#include "launcher/core/streams.h"
#include "launcher/io/admission.h"
#include "launcher/io/head_admission.h"
#include "launcher/io/head_input.h"
#include "launcher/io/head_links.h"
#include "launcher/io/head_remotes.h"
#include "launcher/io/remote_output.h"
#include "launcher/io/spread.h"
#include "rendezvous/port.h"

void head_nodes_accept(void *ctx, struct uv_tcp_s *tcp, struct str first)
{
    struct driver_head *d = ctx;
    head_links_accept(d->links, tcp, first, admission_user(d->admission, tcp));
}

static void on_remote_failed(void *ctx, uint32_t node, const struct err *why)
{
    struct event ev = {.type = EV_NODE_FAILED};
    ev.u.node_failed.node = node;
    ev.u.node_failed.err = why;
    driver_head_post(ctx, &ev);
}

static void on_remote_state(void *ctx, uint32_t node, const char *host, const char *state)
{
    struct event ev = {.type = EV_NODE_STATE};
    ev.u.node_state.node = node;
    ev.u.node_state.host = host;
    ev.u.node_state.state = state;
    driver_head_post(ctx, &ev);
}

static int setup_node(void *ctx, uint32_t link, const struct wire_who *who, struct buf *out)
{
    struct driver_head *d = ctx;
    return d->remotes ? head_remotes_setup(d->remotes, link, who, out) : -1;
}

static void pause_links(struct driver_head *d, bool is_paused)
{
    struct event ev = {.type = is_paused ? EV_LINKS_PAUSED : EV_LINKS_RESUMED};
    if (d->links)
        head_links_pause(d->links, is_paused);
    if (is_paused != d->is_paused)
        driver_head_post(d, &ev);
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
    driver_head_post(d, &ev);
}

static void on_link_frame(void *ctx, uint32_t link, const struct frame *frame)
{
    struct event ev = {.type = EV_FRAME};
    ev.u.frame.node = link;
    ev.u.frame.frame = *frame;
    driver_head_post(ctx, &ev);
}

static void on_link_lost(void *ctx, uint32_t link, const struct err *err)
{
    const struct driver_head *d = ctx;
    struct event ev = {.type = EV_NODE_LOST};
    ev.u.node_lost.node = link;
    if (d->remotes)
        ev.u.node_lost.place = head_remotes_place(d->remotes, link);
    ev.u.node_lost.err = err;
    driver_head_post(ctx, &ev);
}

void head_nodes_open(struct driver_head *d)
{
    struct head_links_events events = {.ctx = d,
                                       .on_frame = on_link_frame,
                                       .on_lost = on_link_lost,
                                       .on_unproven = head_admission_unproven};
    if (!d->net)
        return;
    if (d->net->spread) {
        events.setup = setup_node;
        events.on_output = on_output;
        events.on_more = on_more;
    }
    d->links = head_links_new(&d->loop, d->net->key, d->net->nnodes, &events);
}

void head_nodes_start(struct driver_head *d, const struct facts *facts,
                      const struct rlimit *nofile)
{
    const struct head_remotes_events events = {d, on_remote_failed, on_remote_state};
    const struct output_events output = {
        .ctx = d, .on_blocked = on_output_blocked, .on_reader_gone = driver_head_reader_gone};
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
