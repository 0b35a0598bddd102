/* sink.h - one descriptor that is written without ever blocking the loop: muster's own standard
 * output or error, whoever reads it.
 *
 * Owns how to write there (a file, a pipe or terminal opened once more, a socket, or what must
 * not be opened again), the bytes that wait, and when its reader is gone. What the bytes are is
 * output.h's.
 */
#ifndef MUSTER_LAUNCHER_IO_SINK_H
#define MUSTER_LAUNCHER_IO_SINK_H

#include <stdbool.h>
#include <uv.h>

#include "base/buf.h"

/* How to write without ever blocking. */
enum sink_kind {
    SINK_FILE,   /* a regular file or device: does not block for long */
    SINK_POLLED, /* pipe or terminal opened once more, non-blocking: our flags do not leak to
                    who shares it */
    SINK_SOCKET, /* MSG_DONTWAIT */
    SINK_CAREFUL /* cannot be opened again: write only what poll promises to fit */
};

struct sink {
    struct buf pending; /* append here, then sink_flush */
    bool is_waiting;    /* for its reader: it flushes itself, later */
    bool is_dead;       /* nobody reads any more: append nothing */
    /* the sink's own */
    enum sink_kind kind;
    int fd;
    bool is_own_fd;
    uv_poll_t poll;
    void *ctx;
    void (*on_waiting)(void *ctx); /* is_waiting has changed */
    void (*on_dead)(void *ctx);    /* is_dead is true from here on */
    void (*on_closed)(void *ctx);
};

/* fd is borrowed and keeps its flags; a pipe is made to hold up to 1 MiB where the system lets
 * it, for whoever shares it. on_waiting and on_dead are called from sink_flush and
 * from the loop. A descriptor that is not open is dead from the start, without a call. */
void sink_open(struct sink *sink, uv_loop_t *loop, int fd, void *ctx,
               void (*on_waiting)(void *ctx), void (*on_dead)(void *ctx));

/* Writes what waits, as far as it is taken. */
void sink_flush(struct sink *sink);

/* Forgets what waits. Returns how many bytes were lost. */
size_t sink_drop(struct sink *sink);

/* The memory is the caller's again in on_closed, which may be called at once; what still waits
 * is lost. */
void sink_close(struct sink *sink, void (*on_closed)(void *ctx));

#endif
