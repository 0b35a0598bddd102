/* guard.h - a small process that outlives muster and ends what is left of its job.
 *
 * When muster is killed, SIGKILL reaches its workers by the kernel, but not what these have
 * started; that becomes the child of a stranger. The guard waits for the end of a pipe that
 * muster alone holds and then ends every process that carries the job's mark (a limit that each
 * worker inherits on, see docs/design/0009-guard.md) or is in a session of a worker, or in the
 * process group of the one that owns the terminal. It does nothing while muster lives, and
 * muster does without it where it cannot be had.
 */
#ifndef MUSTER_LAUNCHER_IO_GUARD_H
#define MUSTER_LAUNCHER_IO_GUARD_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct guard;

/* Forks it: a child of muster, in a session of its own, without any of muster's descriptors,
 * deaf to every signal that can be blocked. NULL with ERR_SYSTEM when there is none. As PID 1
 * muster needs none, for the kernel does the same for it: then NULL with ERR_OK. */
struct guard *guard_start(struct err *e);

/* Returns once the guard is all that guard_start says of it, or has died. Until then it may be
 * taken for muster: by who kills by a part of a command line, by the guard of an outer job. To
 * be called before there is anything to be left; g may be NULL. */
void guard_await(struct guard *g);

/* For descendants_except(). g must not be NULL. */
pid_t guard_pid(const struct guard *g);

/* What workers get as their soft limit RLIMIT_LOCKS; 0 = nothing: the hard limit leaves no
 * room, the kernel does not do it, or there is no guard (g is NULL). */
uint64_t guard_mark(const struct guard *g);

/* The worker of that local rank leads the session pid, or, if it owns the terminal, the process
 * group pid; 0 = it has been collected, so that the number may become a stranger's. g may be
 * NULL. */
void guard_note_session(struct guard *g, uint32_t local_rank, pid_t pid);

/* A folder that this job has made: if muster is killed, the guard removes it once the job's
 * processes are ended. Of a few of them; more, or too long a path, are forgotten. g may be
 * NULL. */
void guard_note_folder(struct guard *g, const char *path);

/* The control socket, which the guard removes at once. Else likewise. */
void guard_note_socket(struct guard *g, const char *path);

/* Sends the guard its end, once no worker is left: it dies while muster tidies up. To be
 * followed by guard_stop; g may be NULL. */
void guard_dismiss(struct guard *g);

/* Ends the guard, if it was not dismissed, collects it and frees g, which may be NULL. */
void guard_stop(struct guard *g);

#endif
