/* terminal.h - the terminal that muster is on, lent to one worker: a debugger gets its keys,
 * Ctrl-C and job control as if the shell had started it.
 *
 * Owns an own descriptor of the controlling terminal and its modes as they were found. The
 * worker stays in muster's session, in a process group of its own that is the foreground group
 * while it has the terminal. Which worker, and when, is decided elsewhere.
 */
#ifndef MUSTER_LAUNCHER_IO_TERMINAL_H
#define MUSTER_LAUNCHER_IO_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct terminal;

/* Whether standard input, output and error are all the controlling terminal of this process,
 * and it is in the foreground. */
bool terminal_is_ours(void);

/* From here on SIGTTOU is ignored: muster goes on writing from the background. NULL with
 * ERR_SYSTEM. */
struct terminal *terminal_open(struct err *e);

/* Takes the terminal back, if it was given. NULL is fine. */
void terminal_close(struct terminal *t);

/* Becomes a worker's 0, 1 and 2; owned by the terminal, above 2, close-on-exec. */
int terminal_fd(const struct terminal *t);

/* Whether muster is in the foreground, so that it may give the terminal to somebody. */
bool terminal_can_give(const struct terminal *t);

/* The worker that leads this group has made it the foreground group itself. */
void terminal_note_given(struct terminal *t, pid_t group);

/* To the same group again, after the job was stopped and has been continued; nothing if muster
 * is not in the foreground. */
void terminal_give_again(struct terminal *t);

/* Its worker has ended: muster is in the foreground again, with the modes as they were at
 * first. */
void terminal_take(struct terminal *t);

#endif
