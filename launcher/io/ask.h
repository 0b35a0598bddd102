/* ask.h - asks a program: runs it to its end, with a deadline, and keeps what it says.
 *
 * For short questions before there is a job (which order, are these words right); no loop is
 * needed. What runs longer is a worker's business: spawn.h.
 */
#ifndef MUSTER_LAUNCHER_IO_ASK_H
#define MUSTER_LAUNCHER_IO_ASK_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Runs path with argv and envp; both of its outputs are appended to answer, up to answer's
 * limit. *status: as waitpid gives it. 0, or -1 with ERR_SYSTEM (it did not start) or
 * ERR_TIMEOUT (it was killed: the deadline, or too much to say). */
int ask(const char *path, char *const *argv, char *const *envp, uint64_t deadline_ms,
        struct buf *answer, int *status, struct err *e);

#endif
