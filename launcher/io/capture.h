/* capture.h - a short-lived command and what it says, within a time.
 *
 * Nothing of it stays, whatever ends: its own end and the deadline take along what it has
 * started; when muster is killed, its guard does (guard.h). Makes this process a subreaper.
 */
#ifndef MUSTER_LAUNCHER_IO_CAPTURE_H
#define MUSTER_LAUNCHER_IO_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Runs path with argv and environment, both NULL-terminated, appends to out what it writes to
 * standard output and error, and reaps it. *status is as of waitpid. *is_complete: it ended
 * within deadline_ms and wrote no more than out's limit; else it was ended by
 * SIGKILL. 0, or -1 with ERR_SYSTEM if it could not be started. */
int capture(const char *path, char *const *argv, char *const *environment, uint64_t deadline_ms,
            struct buf *out, bool *is_complete, int *status, struct err *e);

#endif
