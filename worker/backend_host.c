#include "worker/backend_host.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "worker/host_math.h"
#include "worker/status.h"

struct host {
    struct backend base;
    struct host_mover mover;
    uint32_t left_out;
    uint64_t bytes; /* of a buffer with its guard band */
    unsigned char *buffers[BUFFER_COUNT];
};

static struct host *host_of(struct backend *b)
{
    return (struct host *)(void *)b;
}

static bool host_supports(const struct backend *b, enum type type, enum op op)
{
    (void)b;
    (void)type;
    (void)op;
    return true;
}

static uint64_t host_limit(struct backend *b)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0)
        return 0;
    /* Half of the machine for the two buffers of all its ranks. */
    return (uint64_t)pages * (uint64_t)page / 4 / host_of(b)->mover.s.local_ranks;
}

static int host_alloc(struct backend *b, uint64_t bytes, struct err *e)
{
    struct host *h = host_of(b);
    h->bytes = bytes + BACKEND_GUARD_BYTES;
    for (int i = 0; i < BUFFER_COUNT; i++) {
        void *p =
            mmap(NULL, h->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) {
            err_set(e, ERR_NO_MEMORY, "no memory for a buffer of %llu bytes",
                    (unsigned long long)h->bytes);
            return err_exit_status(ERR_NO_MEMORY);
        }
        h->buffers[i] = p;
    }
    return 0;
}

static int host_fill(struct backend *b, enum buffer which, const struct pattern_span *span,
                     const struct pattern *p, struct err *e)
{
    (void)e;
    pattern_fill(p, span, host_of(b)->buffers[which]);
    return 0;
}

static int host_poison(struct backend *b, enum buffer which, uint64_t begin, uint64_t end,
                       struct err *e)
{
    (void)e;
    pattern_poison(host_of(b)->buffers[which], begin, end);
    return 0;
}

static void run_allreduce(struct host *h, const struct operation *op, const unsigned char *send,
                          unsigned char *recv)
{
    size_t most = shared_slot_bytes(h->mover.s.shared);
    uint64_t left = op->count * type_bytes(op->type);
    while (left > 0) {
        size_t chunk = left < most ? (size_t)left : most;
        host_allreduce(&h->mover, op->type, op->op, send, recv, chunk);
        send += chunk;
        recv += chunk;
        left -= chunk;
    }
}

/* One operation, cut along its blocks: each chunk has elements [at, at + n) of every block. */
struct chunk {
    const struct host *host;
    const struct operation *op;
    uint64_t at, n;
    size_t size; /* of an element */
};

static bool is_sender(const void *ctx, uint32_t r)
{
    const struct chunk *c = ctx;
    const struct collective_group g = {r, c->host->mover.s.nranks, c->op->root};
    return r != c->host->left_out && collective_sends(c->op->collective, &g);
}

/* Where the chunk of rank r has what this rank wants. */
static const unsigned char *wanted(const struct chunk *c, uint32_t r)
{
    const struct host_mover *m = &c->host->mover;
    uint32_t blocks = collective_blocks_sent(c->op->collective, m->s.nranks);
    uint64_t at = blocks > 1 ? m->s.rank * c->n : 0;
    return (const unsigned char *)host_incoming(m, r) + at * c->size;
}

static void take_reduced(const struct chunk *c, unsigned char *to)
{
    const struct host_setup *s = &c->host->mover.s;
    uint32_t senders = 0;
    for (uint32_t r = 0; r < s->nranks; r++) {
        if (!is_sender(c, r))
            continue;
        if (senders++ == 0)
            memcpy(to, wanted(c, r), c->n * c->size);
        else
            host_reduce(c->op->type, c->op->op, to, wanted(c, r), c->n);
    }
    host_finish(c->op->type, c->op->op, to, c->n, senders);
}

static void take(const struct chunk *c, unsigned char *recv)
{
    const struct host_setup *s = &c->host->mover.s;
    const struct operation *op = c->op;
    const struct collective_group g = {s->rank, s->nranks, op->root};
    if (!collective_receives(op->collective, &g) || s->rank == c->host->left_out)
        return;
    if (collective_reduces(op->collective)) {
        take_reduced(c, recv + c->at * c->size);
        return;
    }
    for (uint32_t k = 0; k < collective_blocks_received(op->collective, s->nranks); k++) {
        int64_t source =
            collective_received(op->collective, &g, op->count, op->in_place, 0, k).source;
        memcpy(recv + (k * op->count + c->at) * c->size, wanted(c, (uint32_t)source),
               c->n * c->size);
    }
}

static void run_exchange(struct host *h, const struct operation *op, const unsigned char *send,
                         unsigned char *recv)
{
    struct chunk c = {.host = h, .op = op, .size = type_bytes(op->type)};
    uint32_t blocks = collective_blocks_sent(op->collective, h->mover.s.nranks);
    uint64_t most = shared_slot_bytes(h->mover.s.shared) / c.size / blocks;
    for (; c.at < op->count; c.at += c.n) {
        c.n = op->count - c.at < most ? op->count - c.at : most;
        unsigned char *out = host_outgoing(&h->mover);
        for (uint32_t k = 0; k < blocks && is_sender(&c, h->mover.s.rank); k++)
            memcpy(out + k * c.n * c.size, send + (k * op->count + c.at) * c.size,
                   c.n * c.size);
        host_exchange(&h->mover, blocks * c.n * c.size, is_sender, &c);
        take(&c, recv);
    }
}

static int host_run(struct backend *b, const struct operation *op, uint64_t offset,
                    struct err *e)
{
    (void)e;
    struct host *h = host_of(b);
    size_t size = type_bytes(op->type);
    uint32_t rank = h->mover.s.rank;
    uint64_t out = collective_send_at(op->collective, op->count, op->in_place, rank),
             in = collective_recv_at(op->collective, op->count, op->in_place, rank);
    const unsigned char *send =
        h->buffers[op->in_place ? BUFFER_RECV : BUFFER_SEND] + offset + out * size;
    unsigned char *recv = h->buffers[BUFFER_RECV] + offset + in * size;
    if (op->collective == COLLECTIVE_ALLREDUCE && h->left_out == BACKEND_NOBODY)
        run_allreduce(h, op, send, recv);
    else
        run_exchange(h, op, send, recv);
    return 0;
}

static bool is_transferring(const void *ctx, uint32_t r)
{
    const struct transfer *t = ctx;
    uint32_t peer = t->peer_of[r];
    return (t->up && peer > r) || (t->down && peer < r);
}

static int host_transfer(struct backend *b, const struct transfer *t, struct err *e)
{
    (void)e;
    struct host *h = host_of(b);
    size_t most = shared_slot_bytes(h->mover.s.shared);
    uint32_t rank = h->mover.s.rank, peer = t->peer_of[rank];
    for (uint64_t at = 0; at < t->bytes; at += most) {
        size_t n = t->bytes - at < most ? (size_t)(t->bytes - at) : most;
        if (is_transferring(t, rank))
            memcpy(host_outgoing(&h->mover), h->buffers[BUFFER_SEND] + at, n);
        host_exchange(&h->mover, n, is_transferring, t);
        if (is_transferring(t, peer))
            memcpy(h->buffers[BUFFER_RECV] + at, host_incoming(&h->mover, peer), n);
    }
    return 0;
}

static int host_leave_out(struct backend *b, uint32_t rank, struct err *e)
{
    (void)e;
    host_of(b)->left_out = rank;
    return 0;
}

static int host_sync(struct backend *b, struct err *e)
{
    (void)b;
    (void)e;
    return 0;
}

static int host_barrier(struct backend *b, struct err *e)
{
    (void)e;
    host_meet(&host_of(b)->mover);
    return 0;
}

static int host_verify(struct backend *b, enum buffer which, const struct pattern_span *span,
                       const struct pattern *p, struct pattern_tally *t, struct err *e)
{
    (void)e;
    pattern_check(p, span, host_of(b)->buffers[which], t);
    return 0;
}

static int host_poison_check(struct backend *b, enum buffer which, uint64_t begin, uint64_t end,
                             struct pattern_tally *t, struct err *e)
{
    (void)e;
    pattern_poison_check(host_of(b)->buffers[which], begin, end, t);
    return 0;
}

static int host_peek(struct backend *b, enum buffer which, uint64_t offset, void *to, size_t n,
                     struct err *e)
{
    (void)e;
    memcpy(to, host_of(b)->buffers[which] + offset, n);
    return 0;
}

static int host_poke(struct backend *b, enum buffer which, uint64_t offset, const void *from,
                     size_t n, struct err *e)
{
    (void)e;
    memcpy(host_of(b)->buffers[which] + offset, from, n);
    return 0;
}

static uint64_t host_waited_ns(const struct backend *b)
{
    const struct host_setup *s = &((const struct host *)(const void *)b)->mover.s;
    return shared_waited_ns(s->shared) + (s->ring ? ring_waited_ns(s->ring) : 0);
}

static int host_close(struct backend *b, struct err *e)
{
    (void)e;
    struct host *h = host_of(b);
    for (int i = 0; i < BUFFER_COUNT; i++)
        if (h->buffers[i])
            munmap(h->buffers[i], h->bytes);
    free(h);
    return 0;
}

static const struct backend_ops host_ops = {
    .name = "host",
    .supports = host_supports,
    .limit = host_limit,
    .alloc = host_alloc,
    .fill = host_fill,
    .poison = host_poison,
    .run = host_run,
    .sync = host_sync,
    .transfer = host_transfer,
    .leave_out = host_leave_out,
    .barrier = host_barrier,
    .verify = host_verify,
    .poison_check = host_poison_check,
    .peek = host_peek,
    .poke = host_poke,
    .waited_ns = host_waited_ns,
    .close = host_close,
};

struct backend *backend_host_new(const struct host_setup *setup)
{
    struct host *h = mem_alloc(1, sizeof *h);
    h->base.ops = &host_ops;
    h->mover.s = *setup;
    h->left_out = BACKEND_NOBODY;
    return &h->base;
}
