/* reap.h - collects a child, if it ends in time.
 *
 * One that sleeps in a driver or a file system ends when that lets it go, which may be never
 * and which SIGKILL does not change; a thread of it is enough. It is left then, and collected
 * by whoever has it for a child when it ends after all. Nothing else in muster may wait for a
 * child's end without a bound.
 */
#ifndef MUSTER_LAUNCHER_IO_REAP_H
#define MUSTER_LAUNCHER_IO_REAP_H

#include <stdbool.h>
#include <sys/types.h>

/* How long to wait after SIGKILL: a process may have memory of a GPU to give back. */
enum { REAP_MS = 2000 };

/* Waits so long for the end of pid, a child, whose pidfd that is (-1: it is not waited for, but
 * collected if it has ended), and collects it. *status is as of waitpid. False: it has not
 * ended, and *status is 0. */
bool reap(pid_t pid, int pidfd, int limit_ms, int *status);

#endif
