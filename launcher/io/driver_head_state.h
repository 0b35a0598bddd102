/* driver_head_state.h - the state of the head's driver, shared by the files that it is made of.
 *
 * Private to driver_head.c, head_admission.c, head_control.c, head_effects.c, head_metrics.c
 * and head_nodes.c: to everybody else the driver is one call (driver_head.h).
 */
#ifndef MUSTER_LAUNCHER_IO_DRIVER_HEAD_STATE_H
#define MUSTER_LAUNCHER_IO_DRIVER_HEAD_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/buf.h"
#include "launcher/core/event.h"
#include "launcher/core/job.h"
#include "launcher/io/driver_head.h"
#include "launcher/io/inbox.h"
#include "launcher/io/pump.h"
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
    struct head_metrics *metrics;   /* NULL = nobody asked */
    uint64_t began_ms;
    struct inbox inbox; /* frames for the local node */
    struct buf words;   /* about the end, for the nodes */
    struct event_queue queue;
    struct effects effects;
    bool must_suspend;
    bool is_paused;               /* the links, for output that waits */
    const struct head_sink *sink; /* NULL = nobody asks */
};

/* Queues an event of the job, with the time. */
void driver_head_post(struct driver_head *d, struct event *ev);

/* The reader of standard output has gone. ctx: the driver. */
void driver_head_reader_gone(void *ctx);

#endif
