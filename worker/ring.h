/* ring.h - one process of each node in a ring over TCP, for the host backend.
 *
 * Each member listens on its node's address, any port, and takes one connection: from the
 * member before it, which proves itself with a token that only the job's store holds. Data goes
 * one way round. Waits have no deadline: the watchdog of phase.h ends a process that waits too
 * long, and a member that is gone is the launcher's news, so its neighbours just wait.
 */
#ifndef MUSTER_WORKER_RING_H
#define MUSTER_WORKER_RING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/err.h"

struct ring;

/* node: place in the ring of nodes members, nodes >= 2. */
struct ring *ring_new(uint32_t node, uint32_t nodes);
void ring_free(struct ring *r); /* NULL is fine */

/* Listens on the address this node has towards `toward` (a host name or address of another
 * node, or of this one). Appends "port token address" for the member before this one. */
int ring_listen(struct ring *r, const char *toward, struct buf *where, struct err *e);

/* where: what the next member appended. Returns once both neighbours are connected. -1: the
 * next one cannot be reached. */
int ring_join(struct ring *r, const char *where, struct err *e);

/* Sends all of out to the next member and fills all of in from the one before, at once. Changes
 * both lists. Does not return if a neighbour is gone. */
void ring_swap(struct ring *r, struct iovec *out, size_t nthere, struct iovec *in,
               size_t nback);

/* Nanoseconds spent waiting for the neighbours so far. */
uint64_t ring_waited_ns(const struct ring *r);

#endif
