/* backend_host.h - all-reduce of one node in shared memory, for machines without GPUs.
 *
 * Makes the whole program testable anywhere; its bandwidth says nothing about GPUs. Types
 * float, double, (u)int32, (u)int64; operations sum, min, max. One node only: a ring of node
 * leaders over TCP would go between the two halves of reduce_chunk.
 */
#ifndef MUSTER_WORKER_BACKEND_HOST_H
#define MUSTER_WORKER_BACKEND_HOST_H

#include "worker/backend.h"
#include "worker/shared.h"

enum { HOST_SLOT_BYTES = 1024 * 1024 };

/* Borrows shared, made with HOST_SLOT_BYTES for all ranks; it must outlive the backend. */
struct backend *backend_host_new(struct shared *shared, uint32_t rank, uint32_t nranks);

/* As the operation's supports. */
bool backend_host_supports(enum type type, enum op op);

#endif
