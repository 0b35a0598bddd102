#include "worker/backend_host.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "worker/status.h"

struct host {
    struct backend base;
    struct shared *shared;
    uint32_t rank, nranks;
    uint64_t bytes;    /* of a buffer with its guard band */
    uint64_t sequence; /* chunks reduced so far, the same on all ranks */
    unsigned char *buffers[BUFFER_COUNT];
};

/* X(type, C type): what the host backend computes with. Integers are unsigned where they add,
 * so that they wrap. */
#define HOST_TYPES(X)                                                                          \
    X(FLOAT, float, float)                                                                     \
    X(DOUBLE, double, double)                                                                  \
    X(INT32, int32_t, uint32_t)                                                                \
    X(UINT32, uint32_t, uint32_t)                                                              \
    X(INT64, int64_t, uint64_t)                                                                \
    X(UINT64, uint64_t, uint64_t)

#define X(name, compare, add)                                                                  \
    static void reduce_##name(enum op op, void *into, const void *from, size_t n)              \
    {                                                                                          \
        add *sum = into;                                                                       \
        const add *addend = from;                                                              \
        compare *best = into;                                                                  \
        const compare *other = from;                                                           \
        if (op == OP_SUM)                                                                      \
            for (size_t i = 0; i < n; i++)                                                     \
                sum[i] += addend[i];                                                           \
        else if (op == OP_MIN)                                                                 \
            for (size_t i = 0; i < n; i++)                                                     \
                best[i] = other[i] < best[i] ? other[i] : best[i];                             \
        else                                                                                   \
            for (size_t i = 0; i < n; i++)                                                     \
                best[i] = other[i] > best[i] ? other[i] : best[i];                             \
    }
HOST_TYPES(X)
#undef X

typedef void reduce_fn(enum op op, void *into, const void *from, size_t n);

static reduce_fn *const reducers[TYPE_COUNT] = {
#define X(name, compare, add) [TYPE_##name] = reduce_##name,
    HOST_TYPES(X)
#undef X
};

bool backend_host_supports(enum type type, enum op op)
{
    return reducers[type] && (op == OP_SUM || op == OP_MIN || op == OP_MAX);
}

static struct host *host_of(struct backend *b)
{
    return (struct host *)(void *)b;
}

static uint64_t host_limit(struct backend *b)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0)
        return 0;
    /* Half of the machine for the two buffers of all ranks. */
    return (uint64_t)pages * (uint64_t)page / 4 / host_of(b)->nranks;
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

static int host_fill(struct backend *b, enum buffer which, uint64_t begin, uint64_t end,
                     const struct pattern *p, struct err *e)
{
    (void)e;
    struct host *h = host_of(b);
    pattern_fill(p, h->rank, h->buffers[which], begin, end);
    return 0;
}

static int host_poison(struct backend *b, enum buffer which, uint64_t begin, uint64_t end,
                       struct err *e)
{
    (void)e;
    pattern_poison(host_of(b)->buffers[which], begin, end);
    return 0;
}

/* Bytes [*at, *at + *n) of a chunk are the part that a rank reduces. */
static void part_of(const struct host *h, size_t size, size_t bytes, uint32_t rank, size_t *at,
                    size_t *n)
{
    size_t elements = bytes / size, begin = elements * rank / h->nranks,
           end = elements * (rank + 1) / h->nranks;
    *at = begin * size;
    *n = (end - begin) * size;
}

/* Reduce-scatter and all-gather of at most one slot. A rank reduces its part in its own slot,
 * which nobody else reads there before it is published. A slot is written again two chunks
 * later; whoever gets that far has seen all ranks publish the chunk between, and they did so
 * after they had read this one. */
static void reduce_chunk(struct host *h, const struct operation *op, const unsigned char *send,
                         unsigned char *recv, size_t bytes)
{
    struct shared *s = h->shared;
    unsigned which = (unsigned)(h->sequence++ % SHARED_SLOTS);
    size_t size = type_bytes(op->type), at, n;
    unsigned char *mine = shared_slot(s, h->rank, which);
    memcpy(mine, send, bytes);
    shared_publish(s, h->rank, SHARED_ARRIVED, h->sequence);
    shared_wait(s, SHARED_ARRIVED, h->sequence);
    part_of(h, size, bytes, h->rank, &at, &n);
    for (uint32_t r = 0; r < h->nranks; r++)
        if (r != h->rank)
            reducers[op->type](op->op, mine + at,
                               (const unsigned char *)shared_slot(s, r, which) + at, n / size);
    shared_publish(s, h->rank, SHARED_REDUCED, h->sequence);
    shared_wait(s, SHARED_REDUCED, h->sequence);
    for (uint32_t r = 0; r < h->nranks; r++) {
        part_of(h, size, bytes, r, &at, &n);
        memcpy(recv + at, (const unsigned char *)shared_slot(s, r, which) + at, n);
    }
}

static int host_run(struct backend *b, const struct operation *op, uint64_t offset,
                    struct err *e)
{
    (void)e;
    struct host *h = host_of(b);
    uint64_t left = op->count * type_bytes(op->type);
    const unsigned char *send = h->buffers[op->in_place ? BUFFER_RECV : BUFFER_SEND] + offset;
    unsigned char *recv = h->buffers[BUFFER_RECV] + offset;
    while (left > 0) {
        size_t chunk = left < HOST_SLOT_BYTES ? (size_t)left : HOST_SLOT_BYTES;
        reduce_chunk(h, op, send, recv, chunk);
        send += chunk;
        recv += chunk;
        left -= chunk;
    }
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
    shared_barrier(host_of(b)->shared);
    return 0;
}

static int host_verify(struct backend *b, enum buffer which, uint64_t begin, uint64_t end,
                       const struct pattern *p, struct pattern_tally *t, struct err *e)
{
    (void)e;
    pattern_check(p, host_of(b)->buffers[which], begin, end, t);
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
    return shared_waited_ns(((const struct host *)(const void *)b)->shared);
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
    .supports = backend_host_supports,
    .limit = host_limit,
    .alloc = host_alloc,
    .fill = host_fill,
    .poison = host_poison,
    .run = host_run,
    .sync = host_sync,
    .barrier = host_barrier,
    .verify = host_verify,
    .poison_check = host_poison_check,
    .peek = host_peek,
    .poke = host_poke,
    .waited_ns = host_waited_ns,
    .close = host_close,
};

struct backend *backend_host_new(struct shared *shared, uint32_t rank, uint32_t nranks)
{
    struct host *h = mem_alloc(1, sizeof *h);
    h->base.ops = &host_ops;
    h->shared = shared;
    h->rank = rank;
    h->nranks = nranks;
    return &h->base;
}
