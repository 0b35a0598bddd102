/* watch.h - when descriptors can be read or written, for many of them through one handle of the
 * loop.
 *
 * A job has three descriptors a worker, each used for a short time; libuv's own handle costs
 * six system calls a descriptor, this two. Decides nothing; callbacks run on the loop's thread,
 * level-triggered.
 */
#ifndef MUSTER_LAUNCHER_IO_WATCH_H
#define MUSTER_LAUNCHER_IO_WATCH_H

#include <uv.h>

#include "base/err.h"

struct watch_set;

/* In the owner's memory, which must stay until the round of callbacks in which the watch ended
 * is over. */
struct watch {
    void (*on_ready)(void *ctx); /* NULL = not watched */
    void *ctx;
};

/* NULL with ERR_SYSTEM. */
struct watch_set *watch_set_new(uv_loop_t *loop, struct err *e);
/* Asynchronous: frees itself once its handle is closed. No callback comes any more. */
void watch_set_close(struct watch_set *set);

/* Calls on_ready whenever fd can be read or has ended. 0, or -1 with ERR_SYSTEM. */
int watch_start(struct watch_set *set, struct watch *w, int fd, void (*on_ready)(void *ctx),
                void *ctx, struct err *e);
/* The same whenever fd can be written or its reader has gone. */
int watch_start_writable(struct watch_set *set, struct watch *w, int fd,
                         void (*on_ready)(void *ctx), void *ctx, struct err *e);
/* Not watched for now; fd stays open. */
void watch_stop(struct watch_set *set, struct watch *w, int fd);
/* The caller closes fd, which ends the watch by itself: fd must not have been duplicated. */
void watch_forget(struct watch *w);

#endif
