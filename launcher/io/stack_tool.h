/* stack_tool.h - one run of a program that prints the stacks of a process: py-spy, eu-stack or
 * gdb, as a child of muster's own, without a shell, its output bounded.
 *
 * Owns the child until it has ended and its output too. Does not know which process is worth a
 * look, nor for how long: the caller ends a run that takes too long.
 */
#ifndef MUSTER_LAUNCHER_IO_STACK_TOOL_H
#define MUSTER_LAUNCHER_IO_STACK_TOOL_H

#include "launcher/core/stack_text.h"
#include "launcher/io/helper.h"
#include "launcher/io/watch.h"

enum { STACK_TOOL_BYTES_MAX = 256 * 1024 };

struct stack_tool {
    const struct helper_host *host;
    struct watch exit, out;
    pid_t pid;
    int pidfd, fd; /* -1 = over */
    struct buf text;
    void *ctx;
    void (*on_end)(void *ctx); /* text is complete */
};

/* "py-spy", "eu-stack", "gdb". */
const char *stack_tool_name(enum stack_format tool);

/* Starts it on a process; host outlives the run. on_end is called once, later, unless
 * stack_tool_close comes first. 0, or -1 with ERR_NOT_FOUND (not installed) or ERR_SYSTEM. */
int stack_tool_start(struct stack_tool *t, const struct helper_host *host,
                     enum stack_format tool, pid_t pid, void (*on_end)(void *ctx), void *ctx,
                     struct err *e);

/* Ends it at once, without waiting for its death; calls on_end. */
void stack_tool_kill(struct stack_tool *t);

/* Ends it, and without a callback frees what it holds. */
void stack_tool_close(struct stack_tool *t);

#endif
