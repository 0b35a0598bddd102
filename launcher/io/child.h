/* child.h - one live worker: its process and its two pipes.
 *
 * Reports the exit and the end of the pipes; decides nothing. The process stays a zombie until
 * child_reap, so that its process group keeps its number and can be signalled safely even when
 * only grandchildren are left in it.
 */
#ifndef MUSTER_LAUNCHER_IO_CHILD_H
#define MUSTER_LAUNCHER_IO_CHILD_H

#include <sys/types.h>

#include "launcher/core/event.h"
#include "launcher/core/rank_set.h"
#include "launcher/io/output.h"
#include "launcher/io/watch.h"

/* What all children of a node share; outlives them. */
struct child_host {
    struct watch_set *watches;
    struct output *output;
    char *slab; /* read buffer */
    size_t slab_size;
    void *ctx;
    /* tail: last lines of its stderr, valid until child_reap. */
    void (*on_exit)(void *ctx, uint32_t local_rank, const struct worker_end *end,
                    const char *tail);
    void (*on_streams_ended)(void *ctx, uint32_t local_rank);
    void (*on_full)(void *ctx);   /* the output takes no more: pause the children */
    void (*on_output)(void *ctx); /* something was read; NULL = nobody asks */
};

struct child;

struct child_start {
    uint32_t local_rank, rank;
    pid_t pid;
    int pidfd, out, err;                /* owned by the child from here on */
    struct log_file *log_out, *log_err; /* NULL = none; likewise */
    unsigned shown;                     /* STREAM_ bits of what the output gets */
    unsigned bare;                      /* STREAM_ bits of what has no prefix there */
    struct log_file *const *filtered;   /* of both streams, as filters say; borrowed, or NULL */
    const char *const *filters;         /* their words; likewise */
};

/* Owns what start names from here on, also on failure: then NULL with ERR_SYSTEM, and the
 * process is gone. */
struct child *child_new(struct child_host *host, const struct child_start *start,
                        struct err *e);

/* Also of one that has ended: its number stays taken until child_reap. */
pid_t child_pid(const struct child *c);

/* Whether it is still running, as far as was noticed. */
bool child_is_running(const struct child *c);

/* Whether it was stopped by its terminal's job control (SIGTSTP, SIGTTIN, SIGTTOU) since this
 * was last asked. */
bool child_was_suspended(struct child *c);

/* To its whole process group. */
void child_kill(struct child *c, int signo);

/* Stops or goes on reading its pipes. */
void child_pause(struct child *c, bool is_paused);

/* From now on its stderr is also given to on_stderr, before it goes where it goes; NULL ends
 * that. */
void child_capture(struct child *c,
                   void (*on_stderr)(void *ctx, uint32_t local_rank, const char *p, size_t n),
                   void *ctx);

/* Ends the pipes although somebody may still hold them. on_streams_ended is not called. */
void child_close_streams(struct child *c);

/* Collects the zombie and frees the child. Not from within one of its callbacks. A process that
 * is still running is left behind. */
void child_reap(struct child *c);

#endif
