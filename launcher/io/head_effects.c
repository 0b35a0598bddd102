#include "launcher/io/head_effects.h"

#include <assert.h>

#include "launcher/core/note.h"
#include "launcher/core/report.h"
#include "launcher/io/control_server.h"
#include "launcher/io/driver_node.h"
#include "launcher/io/events.h"
#include "launcher/io/head_input.h"
#include "launcher/io/head_links.h"
#include "launcher/io/head_metrics.h"
#include "launcher/io/head_remotes.h"
#include "launcher/io/remote_output.h"
#include "launcher/io/say.h"
#include "rendezvous/port.h"

static void all_closed(struct driver_head *d)
{
    head_metrics_close(d->metrics);
    d->metrics = NULL;
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
    driver_head_post(d, &ev);
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

void head_effects_apply(struct driver_head *d, const struct effect *fx)
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
    case FX_SAMPLE:
    case FX_WORLD:
    case FX_WANTED:
    case FX_GATHERED:
    case EFFECT_TYPE_COUNT:
        return; /* a node's */
    }
}
