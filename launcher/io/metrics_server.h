/* metrics_server.h - the HTTP side of --metrics: serves one page, /metrics, to whoever asks,
 * and at / a pointer to it. Carries only; what stands in the page says the owner.
 *
 * On the loop that watches the workers, so that everything is bounded: how many connections
 * there are, how long each may take, how much of a request is read. A connection has one
 * request and its answer.
 */
#ifndef MUSTER_LAUNCHER_IO_METRICS_SERVER_H
#define MUSTER_LAUNCHER_IO_METRICS_SERVER_H

#include <uv.h>

#include "base/buf.h"
#include "base/err.h"

struct metrics_server;

struct metrics_events {
    void *ctx;
    /* Somebody asks for the page; what that leads to is begun before it is answered. */
    void (*on_request)(void *ctx);
    /* Asked until it is false. */
    bool (*must_wait)(void *ctx);
    /* Appends the page. */
    void (*answer)(void *ctx, struct buf *out);
};

/* where: as listen_addr_parse takes it; a name is looked up, which blocks. NULL with ERR_USAGE:
 * the address is not ours, or the port is taken. Nothing is left behind once the loop has run.
 */
struct metrics_server *metrics_server_open(uv_loop_t *loop, const char *where,
                                           const struct metrics_events *events, struct err *e);

/* "http://127.0.0.1:9410/metrics", with the port that it has. */
const char *metrics_server_url(const struct metrics_server *s);

/* Answers whoever need not wait any more: after each round of callbacks. */
void metrics_server_settle(struct metrics_server *s);

/* Answers those that wait, then ends every connection. Asynchronous: frees itself when its
 * handles are closed. NULL is fine. */
void metrics_server_close(struct metrics_server *s);

#endif
