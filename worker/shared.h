/* shared.h - memory shared by the ranks of one node: a barrier, counters and slots for data.
 *
 * One anonymous segment (memfd), made by local rank 0 and opened by the others through its
 * /proc path: it has no name to be left behind by a process that is killed, and is not limited
 * by the size of /dev/shm. Waits spin, then yield; they have no deadline: the watchdog of
 * phase.h ends a process that waits too long.
 */
#ifndef MUSTER_WORKER_SHARED_H
#define MUSTER_WORKER_SHARED_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { SHARED_NAME_MAX = 64 };

enum shared_counter { SHARED_ARRIVED, SHARED_REDUCED, SHARED_SPREAD, SHARED_COUNTERS };

struct shared;

/* name: filled with a path that processes of the same user and PID namespace can open until
 * shared_hide. ranks: of this node. slots may be 0: barrier and counters only. The memory is
 * reserved at once, so that its lack is an error here and no SIGBUS later. */
struct shared *shared_create(uint32_t ranks, uint32_t slots, size_t slot_bytes,
                             char name[SHARED_NAME_MAX], struct err *e);
struct shared *shared_open(const char *name, uint32_t ranks, uint32_t slots, size_t slot_bytes,
                           struct err *e);
void shared_hide(struct shared *s);  /* nobody can open it any more; NULL is fine */
void shared_close(struct shared *s); /* unmaps; NULL is fine */

/* Returns once all ranks of the node are in it. */
void shared_barrier(struct shared *s);

/* A local rank's counters only grow. publish makes what was written before it visible to who
 * sees the value; wait returns once the counter of every rank, wait_one once that of one rank
 * has reached it. */
void shared_publish(struct shared *s, uint32_t rank, enum shared_counter c, uint64_t value);
void shared_wait(struct shared *s, enum shared_counter c, uint64_t value);
void shared_wait_one(struct shared *s, uint32_t rank, enum shared_counter c, uint64_t value);

/* slot_bytes of memory. */
void *shared_slot(struct shared *s, uint32_t slot);
size_t shared_slot_bytes(const struct shared *s);

/* Nanoseconds that this process has waited in shared_wait and shared_barrier so far. */
uint64_t shared_waited_ns(const struct shared *s);

#endif
