/* descendants.h - the processes below this one: what workers started and left behind.
 *
 * muster is a child subreaper, so a process whose parent died becomes muster's child and is
 * found here, whatever session or group it moved to. Not ours, and left alone: children that
 * muster already had when it was started (a shell that went on as muster by `exec`), and what
 * these leave behind. If there are any, an orphan is ours when it carries the job's mark
 * (guard.h), or, where there is no mark, when it is not in muster's own session: that may be
 * wrong then, for a daemon of a stranger, and for what the owner of the terminal has left.
 * Reads /proc.
 */
#ifndef MUSTER_LAUNCHER_IO_DESCENDANTS_H
#define MUSTER_LAUNCHER_IO_DESCENDANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct descendants;

/* Becomes a subreaper and remembers the children that are there already. Before the first
 * worker is started. */
struct descendants *descendants_adopt(void);

/* From now on children may also be those of other threads than the first. */
void descendants_have_threads(struct descendants *d);

/* What each worker carries from now on (guard_mark); 0 = nothing. */
void descendants_know_mark(struct descendants *d, uint64_t mark);

/* A child that muster started for itself: it is left alone too, until it has ended. */
void descendants_except(struct descendants *d, pid_t pid);

/* A child that muster started for itself and whose end it waits for by itself: it is left alone
 * and never collected, until it is released. */
void descendants_keep(struct descendants *d, pid_t pid);
void descendants_release(struct descendants *d, pid_t pid);

void descendants_free(struct descendants *d);

/* Collects zombies among our direct children for which is_known says no; those it knows are
 * left alone. */
void descendants_collect(struct descendants *d, bool (*is_known)(void *ctx, pid_t pid),
                         void *ctx);

/* Sends signo (0 = only count) to every live descendant, direct children first; SIGKILL also to
 * their whole process groups, which a process that keeps forking cannot outrun; in muster's own
 * session only to those that a descendant leads, for others there are the user's. Returns how
 * many there are. A zombie does not count unless threads of it are alive. */
uint32_t descendants_signal(struct descendants *d, int signo);

#endif
