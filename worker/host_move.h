/* host_move.h - how the host backend moves data, a chunk at a time, between all ranks.
 *
 * Two ways. Exchange: every sender puts its chunk into its slot of the memory that the node
 * shares, leaders send the slots round the ring, and each rank takes what it wants; every
 * collective is this and a copy or a reduction. All-reduce, the heavy one: a rank reduces its
 * part of the chunk over its node, leaders reduce what the nodes have round the ring, all read
 * the result. Both are called by all ranks in the same order. Slots are used alternately:
 * whoever writes a slot again has seen all ranks in the chunk between.
 */
#ifndef MUSTER_WORKER_HOST_MOVE_H
#define MUSTER_WORKER_HOST_MOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/pattern.h"
#include "worker/ring.h"
#include "worker/shared.h"

/* The most ranks: a slot then holds a word for each. */
enum { HOST_RANKS_MAX = 4096 };

struct host_setup {
    struct shared *shared; /* made with host_slots and host_slot_bytes */
    struct ring *ring;     /* joined; only of local rank 0 where there are several nodes */
    uint32_t rank, nranks, local_rank, local_ranks, node, nodes;
    const uint32_t *first_of; /* lowest rank of each node, and nranks; one node: may be NULL */
};

/* Of the memory that a node shares, for a job of nranks. */
uint32_t host_slots(uint32_t nranks);
size_t host_slot_bytes(uint32_t nranks);

struct host_mover {
    struct host_setup s;
    uint64_t sequence; /* chunks so far, the same on all ranks */
};

/* Rank r takes part as a sender. */
typedef bool host_sends(const void *ctx, uint32_t r);

/* The memory that a sender fills next, before host_exchange. */
void *host_outgoing(struct host_mover *m);

/* bytes of every sender become visible to all; then host_incoming is what rank r sent, until
 * the exchange after the next. */
void host_exchange(struct host_mover *m, size_t bytes, host_sends *sends, const void *ctx);
const void *host_incoming(const struct host_mover *m, uint32_t r);

/* The all-reduce of one chunk, at most host_slot_bytes. send may be recv. */
void host_allreduce(struct host_mover *m, enum type type, enum op op, const void *send,
                    void *recv, size_t bytes);

/* All ranks of the job meet. */
void host_meet(struct host_mover *m);

#endif
