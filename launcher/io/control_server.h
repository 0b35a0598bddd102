/* control_server.h - the control socket of a job: serves other muster commands of the same
 * user, in the words of control.h. Carries only; what a request means says the owner.
 *
 * A job can do without: what cannot be had is a debug line.
 */
#ifndef MUSTER_LAUNCHER_IO_CONTROL_SERVER_H
#define MUSTER_LAUNCHER_IO_CONTROL_SERVER_H

#include <uv.h>

#include "launcher/core/control.h"

struct control_server;

struct control_events {
    void *ctx;
    /* A request came; what it leads to is begun before it is answered. */
    void (*on_request)(void *ctx, enum control_verb verb);
    /* Asked until it is false. */
    bool (*must_wait)(void *ctx, enum control_verb verb);
    /* Appends the answer. */
    void (*answer)(void *ctx, enum control_verb verb, struct buf *out);
};

/* NULL with ERR_SYSTEM or ERR_LIMIT. */
struct control_server *control_server_open(uv_loop_t *loop, const char *job_id,
                                           const struct control_events *events, struct err *e);

/* Of the socket; valid as long as s is. */
const char *control_server_path(const struct control_server *s);

/* Answers whoever need not wait any more: after each round of callbacks. */
void control_server_settle(struct control_server *s);

/* Answers those that wait, removes the socket. Asynchronous: frees itself when its handles are
 * closed. NULL is fine. */
void control_server_close(struct control_server *s);

#endif
