#include "worker/host_move.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "worker/host_math.h"

enum {
    SLOT_MOST = 1024 * 1024,
    SLOT_LEAST = 64 * 1024,
    ALL_SLOTS_MOST = 128 * 1024 * 1024,
    TURNS = 2, /* slots of a rank, used alternately */
};

/* One of each rank of the job, and one for results of all nodes. */
uint32_t host_slots(uint32_t nranks)
{
    return TURNS * (nranks + 1);
}

size_t host_slot_bytes(uint32_t nranks)
{
    size_t bytes = SLOT_MOST;
    while (bytes > SLOT_LEAST && bytes * host_slots(nranks) > ALL_SLOTS_MOST)
        bytes /= 2;
    return bytes;
}

/* Of the chunk with that number; owner nranks: the result's. */
static unsigned char *slot(const struct host_mover *m, uint32_t owner, uint64_t sequence)
{
    return shared_slot(m->s.shared, owner * TURNS + (uint32_t)(sequence % TURNS));
}

static bool is_leader(const struct host_mover *m)
{
    return m->s.local_rank == 0;
}

static bool has_ring(const struct host_mover *m)
{
    return m->s.nodes > 1;
}

static uint32_t node_before(const struct host_mover *m, uint32_t steps)
{
    return (m->s.node + m->s.nodes - steps) % m->s.nodes;
}

/* The slots of a node's senders, as a list. */
static size_t list_slots(struct host_mover *m, uint32_t node, size_t bytes, host_sends *sends,
                         const void *ctx, struct iovec *list)
{
    size_t n = 0;
    for (uint32_t r = m->s.first_of[node]; r < m->s.first_of[node + 1]; r++)
        if (sends(ctx, r))
            list[n++] = (struct iovec){slot(m, r, m->sequence), bytes};
    return n;
}

/* Ring all-gather: what came last goes on to the next. */
static void spread_slots(struct host_mover *m, size_t bytes, host_sends *sends, const void *ctx)
{
    struct iovec *out = mem_alloc(m->s.nranks, sizeof *out),
                 *in = mem_alloc(m->s.nranks, sizeof *in);
    for (uint32_t step = 0; step + 1 < m->s.nodes; step++) {
        size_t nthere = list_slots(m, node_before(m, step), bytes, sends, ctx, out),
               nback = list_slots(m, node_before(m, step + 1), bytes, sends, ctx, in);
        ring_swap(m->s.ring, out, nthere, in, nback);
    }
    free(out);
    free(in);
}

void *host_outgoing(struct host_mover *m)
{
    return slot(m, m->s.rank, m->sequence + 1);
}

const void *host_incoming(const struct host_mover *m, uint32_t r)
{
    return slot(m, r, m->sequence);
}

void host_exchange(struct host_mover *m, size_t bytes, host_sends *sends, const void *ctx)
{
    struct shared *s = m->s.shared;
    m->sequence++;
    shared_publish(s, m->s.local_rank, SHARED_ARRIVED, m->sequence);
    if (!has_ring(m) || is_leader(m))
        shared_wait(s, SHARED_ARRIVED, m->sequence);
    if (!has_ring(m))
        return;
    if (is_leader(m)) {
        spread_slots(m, bytes, sends, ctx);
        shared_publish(s, 0, SHARED_SPREAD, m->sequence);
    }
    shared_wait_one(s, 0, SHARED_SPREAD, m->sequence);
}

/* Elements [begin, end) of n are part k of parts. */
static void part_of(size_t n, uint32_t k, uint32_t parts, size_t *begin, size_t *end)
{
    *begin = n * k / parts;
    *end = n * (k + 1) / parts;
}

/* What is reduced in a chunk. */
struct reduction {
    enum type type;
    enum op op;
    size_t size, n; /* bytes of an element, elements */
};

static void reduce_own_part(struct host_mover *m, const struct reduction *x, uint32_t first)
{
    size_t begin, end;
    part_of(x->n, m->s.local_rank, m->s.local_ranks, &begin, &end);
    unsigned char *mine = slot(m, m->s.rank, m->sequence) + begin * x->size;
    for (uint32_t r = first; r < first + m->s.local_ranks; r++)
        if (r != m->s.rank)
            host_reduce(x->type, x->op, mine, slot(m, r, m->sequence) + begin * x->size,
                        end - begin);
    if (!has_ring(m))
        host_finish(x->type, x->op, mine, end - begin, m->s.nranks);
}

static void gather_parts(const struct host_mover *m, const struct reduction *x, uint32_t first,
                         unsigned char *to)
{
    for (uint32_t k = 0; k < m->s.local_ranks; k++) {
        size_t begin, end;
        part_of(x->n, k, m->s.local_ranks, &begin, &end);
        memcpy(to + begin * x->size, slot(m, first + k, m->sequence) + begin * x->size,
               (end - begin) * x->size);
    }
}

static struct iovec piece(const struct host_mover *m, const struct reduction *x,
                          unsigned char *base, uint32_t k)
{
    size_t begin, end;
    part_of(x->n, k % m->s.nodes, m->s.nodes, &begin, &end);
    return (struct iovec){base + begin * x->size, (end - begin) * x->size};
}

/* Ring all-reduce of the nodes' sums: reduce-scatter, then all-gather, nodes - 1 steps each. */
static void reduce_nodes(struct host_mover *m, const struct reduction *x, unsigned char *sum)
{
    uint32_t nodes = m->s.nodes;
    unsigned char *came = mem_alloc(x->n / nodes + 1, x->size);
    for (uint32_t step = 0; step + 1 < nodes; step++) {
        struct iovec out = piece(m, x, sum, node_before(m, step)),
                     into = piece(m, x, sum, node_before(m, step + 1)),
                     in = {came, into.iov_len};
        ring_swap(m->s.ring, &out, 1, &in, 1);
        host_reduce(x->type, x->op, into.iov_base, came, into.iov_len / x->size);
    }
    for (uint32_t step = 0; step + 1 < nodes; step++) {
        struct iovec out = piece(m, x, sum, node_before(m, step) + 1),
                     in = piece(m, x, sum, node_before(m, step + 1) + 1);
        ring_swap(m->s.ring, &out, 1, &in, 1);
    }
    free(came);
    host_finish(x->type, x->op, sum, x->n, m->s.nranks);
}

void host_allreduce(struct host_mover *m, enum type type, enum op op, const void *send,
                    void *recv, size_t bytes)
{
    struct shared *s = m->s.shared;
    uint32_t me = m->s.local_rank, first = m->s.rank - me;
    const struct reduction x = {type, op, type_bytes(type), bytes / type_bytes(type)};
    memcpy(host_outgoing(m), send, bytes);
    m->sequence++;
    shared_publish(s, me, SHARED_ARRIVED, m->sequence);
    shared_wait(s, SHARED_ARRIVED, m->sequence);
    reduce_own_part(m, &x, first);
    shared_publish(s, me, SHARED_REDUCED, m->sequence);
    if (!has_ring(m)) {
        shared_wait(s, SHARED_REDUCED, m->sequence);
        gather_parts(m, &x, first, recv);
        return;
    }
    if (is_leader(m)) {
        unsigned char *sum = slot(m, m->s.nranks, m->sequence);
        shared_wait(s, SHARED_REDUCED, m->sequence);
        gather_parts(m, &x, first, sum);
        reduce_nodes(m, &x, sum);
        shared_publish(s, 0, SHARED_SPREAD, m->sequence);
    }
    shared_wait_one(s, 0, SHARED_SPREAD, m->sequence);
    memcpy(recv, slot(m, m->s.nranks, m->sequence), bytes);
}

static bool first_of_node(const void *ctx, uint32_t r)
{
    const struct host_setup *s = ctx;
    for (uint32_t node = 0; node < s->nodes; node++)
        if (s->first_of[node] == r)
            return true;
    return false;
}

/* One byte of each node's leader round the ring. */
void host_meet(struct host_mover *m)
{
    host_exchange(m, 1, first_of_node, &m->s);
}
