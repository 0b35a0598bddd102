/* backend.h - what moves the data: NCCL on GPUs, or memory and TCP on machines without.
 *
 * A backend owns two buffers of the same size, each followed by a guard band, and runs one
 * operation at a time on parts of them. It knows neither the store nor timing nor verdicts.
 * Every function that can fail returns 0 or a status of status.h with the text in e. Offsets
 * are bytes, multiples of the element size; ranges are [begin, end).
 */
#ifndef MUSTER_WORKER_BACKEND_H
#define MUSTER_WORKER_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "worker/collective.h"
#include "worker/pattern.h"

enum { BACKEND_GUARD_BYTES = 64 * 1024 };

enum buffer { BUFFER_SEND, BUFFER_RECV, BUFFER_COUNT };

struct backend;

/* One collective; count = elements of a block. In place: sends from the receive buffer. */
struct operation {
    enum collective collective;
    enum type type;
    enum op op;
    uint32_t root;
    uint64_t count;
    bool in_place;
};

/* Bytes between pairs of ranks, from the sender's send buffer to the receiver's receive buffer,
 * both from 0 on. peer_of[r] = r: rank r is idle. up: the lower rank of a pair sends to the
 * upper one; down: the other way; both may be set. */
struct transfer {
    const uint32_t *peer_of;
    bool up, down;
    uint64_t bytes;
};

struct backend_ops {
    const char *name;

    bool (*supports)(const struct backend *b, enum type type, enum op op);

    /* Bytes that one buffer may have at most, guard band not counted; 0 = no limit known. */
    uint64_t (*limit)(struct backend *b);

    /* Both buffers, bytes + BACKEND_GUARD_BYTES each. Once. */
    int (*alloc)(struct backend *b, uint64_t bytes, struct err *e);

    /* Data of a rank into a span; poison into bytes [begin, end). Both and run may return
     * before the work is done; sync ends it. */
    int (*fill)(struct backend *b, enum buffer which, const struct pattern_span *span,
                const struct pattern *p, struct err *e);
    int (*poison)(struct backend *b, enum buffer which, uint64_t begin, uint64_t end,
                  struct err *e);
    int (*run)(struct backend *b, const struct operation *op, uint64_t offset, struct err *e);
    int (*sync)(struct backend *b, struct err *e);

    /* All ranks call it with the same transfer, idle ones too. May return early, as run. */
    int (*transfer)(struct backend *b, const struct transfer *t, struct err *e);

    /* All ranks call it: until the next call, all-reduces out of place are between all ranks
     * but one, which calls run as well. BACKEND_NOBODY: between all again. STATUS_BACKEND if
     * the library cannot. */
    int (*leave_out)(struct backend *b, uint32_t rank, struct err *e);

    /* Returns once every rank is in it. */
    int (*barrier)(struct backend *b, struct err *e);

    /* Compares with the expected data or with poison; adds to t. Waits for its own work. */
    int (*verify)(struct backend *b, enum buffer which, const struct pattern_span *span,
                  const struct pattern *p, struct pattern_tally *t, struct err *e);
    int (*poison_check)(struct backend *b, enum buffer which, uint64_t begin, uint64_t end,
                        struct pattern_tally *t, struct err *e);

    /* A few bytes from or to a buffer. */
    int (*peek)(struct backend *b, enum buffer which, uint64_t offset, void *to, size_t n,
                struct err *e);
    int (*poke)(struct backend *b, enum buffer which, uint64_t offset, const void *from,
                size_t n, struct err *e);

    /* Nanoseconds this rank waited for others inside run so far; 0 where run does not wait. */
    uint64_t (*waited_ns)(const struct backend *b);

    /* Ends the connection to the other ranks and frees all, also after an error. */
    int (*close)(struct backend *b, struct err *e);
};

#define BACKEND_NOBODY UINT32_MAX

/* The first member of every backend. */
struct backend {
    const struct backend_ops *ops;
};

#endif
