/* exec_pipe.h - through which the workers of one generation report that they could not execute
 * their program. Its end of file means that all of them have executed.
 */
#ifndef MUSTER_LAUNCHER_IO_EXEC_PIPE_H
#define MUSTER_LAUNCHER_IO_EXEC_PIPE_H

#include "launcher/io/spawn.h"
#include "launcher/io/watch.h"

struct exec_pipe {
    int read, write; /* -1 = closed; write is for struct spawn */
    struct watch_set *watches;
    struct watch watch;
    void *ctx;
    void (*on_failure)(void *ctx, const struct spawn_failure *failure);
};

/* Closed. */
void exec_pipe_init(struct exec_pipe *p);

/* Before the first worker. 0, or -1 with ERR_SYSTEM. */
int exec_pipe_open(struct exec_pipe *p, struct watch_set *watches,
                   void (*on_failure)(void *ctx, const struct spawn_failure *failure),
                   void *ctx, struct err *e);

/* Once the last worker is forked: muster's own write end goes. */
void exec_pipe_all_forked(struct exec_pipe *p);

/* Reports what has been written so far. A worker's exit may be noticed before its report: so
 * this is asked first. */
void exec_pipe_read(struct exec_pipe *p);

/* Once they are reaped; also of a closed one. */
void exec_pipe_close(struct exec_pipe *p);

#endif
