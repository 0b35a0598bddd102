/* capture.h - a short-lived command and what it says, within a time.
 *
 * Nothing of it stays, whatever ends: its own end and the deadline take along what it has
 * started; when muster is killed, its guard does (guard.h). But for what SIGKILL does not end,
 * a process that sleeps in a driver: it is left (reap.h). Makes this process a subreaper.
 */
#ifndef MUSTER_LAUNCHER_IO_CAPTURE_H
#define MUSTER_LAUNCHER_IO_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct capture_end {
    bool is_complete; /* within the deadline and out's limit; else it was ended by SIGKILL */
    int status;       /* as of waitpid */
    pid_t left;       /* 0, or the process that SIGKILL did not end: status is nothing */
};

/* Runs path with argv and environment, both NULL-terminated, appends to out what it writes to
 * standard output and error, and reaps it, at the latest REAP_MS after deadline_ms. 0, or -1
 * with ERR_SYSTEM if it could not be started. */
int capture(const char *path, char *const *argv, char *const *environment, uint64_t deadline_ms,
            struct buf *out, struct capture_end *end, struct err *e);

/* Says that what did not end within deadline_ms, and what became of it: -1 with
 * ERR_UNAVAILABLE. Of an end that is not complete. */
int capture_late(const struct capture_end *end, const char *what, uint64_t deadline_ms,
                 struct err *e);

#endif
