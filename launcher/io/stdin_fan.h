/* stdin_fan.h - standard input for every worker: each gets each byte, in order, and the end.
 *
 * One chunk at a time: the next is read once all who still read have taken this one, so the
 * slowest sets the pace, nothing is lost and memory is bounded (one chunk, and what the kernel
 * keeps in each pipe). A worker that has closed its input or has ended holds up nobody. Never
 * blocks the loop.
 */
#ifndef MUSTER_LAUNCHER_IO_STDIN_FAN_H
#define MUSTER_LAUNCHER_IO_STDIN_FAN_H

#include <stdint.h>

#include "base/err.h"
#include "launcher/io/watch.h"

struct stdin_fan;

/* fd: what is read, borrowed; its flags are left as they are. */
struct stdin_fan *stdin_fan_new(struct watch_set *watches, int fd);

/* From now on what nobody reads any more, from a start on until workers are awaited again, is
 * read and lost: who writes it writes to others too, and must not wait for us. fd can be
 * watched. */
void stdin_fan_never_stall(struct stdin_fan *f);

/* For a generation of nworkers: nobody reads yet. What the last one had not taken is lost. */
void stdin_fan_begin(struct stdin_fan *f, uint32_t nworkers);

/* *read_end becomes the worker's standard input; the caller closes it. 0, or -1 with
 * ERR_SYSTEM. */
int stdin_fan_add(struct stdin_fan *f, uint32_t local_rank, int *read_end, struct err *e);

/* All have been added; or, with no workers, none will be for now. */
void stdin_fan_start(struct stdin_fan *f);

/* That worker has ended. */
void stdin_fan_drop(struct stdin_fan *f, uint32_t local_rank);

/* NULL is fine. Not from within a round of callbacks. */
void stdin_fan_free(struct stdin_fan *f);

#endif
