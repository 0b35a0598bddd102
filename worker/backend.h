/* backend.h - what moves the data: NCCL on GPUs, or shared memory on a machine without.
 *
 * A backend owns two buffers of the same size, each followed by a guard band, and runs one
 * all-reduce at a time on parts of them. It knows neither the store nor timing nor verdicts.
 * Every function that can fail returns 0 or a status of status.h with the text in e. Offsets
 * are bytes, multiples of the element size; ranges are [begin, end).
 */
#ifndef MUSTER_WORKER_BACKEND_H
#define MUSTER_WORKER_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "worker/pattern.h"

enum { BACKEND_GUARD_BYTES = 64 * 1024 };

enum buffer { BUFFER_SEND, BUFFER_RECV, BUFFER_COUNT };

struct backend;

/* One all-reduce. In place: sends from the receive buffer. */
struct operation {
    enum type type;
    enum op op;
    uint64_t count;
    bool in_place;
};

struct backend_ops {
    const char *name;

    bool (*supports)(enum type type, enum op op);

    /* Bytes that one buffer may have at most, guard band not counted; 0 = no limit known. */
    uint64_t (*limit)(struct backend *b);

    /* Both buffers, bytes + BACKEND_GUARD_BYTES each. Once. */
    int (*alloc)(struct backend *b, uint64_t bytes, struct err *e);

    /* This rank's data into elements [begin, end); poison into bytes [begin, end). Both and run
     * may return before the work is done; sync ends it. */
    int (*fill)(struct backend *b, enum buffer which, uint64_t begin, uint64_t end,
                const struct pattern *p, struct err *e);
    int (*poison)(struct backend *b, enum buffer which, uint64_t begin, uint64_t end,
                  struct err *e);
    int (*run)(struct backend *b, const struct operation *op, uint64_t offset, struct err *e);
    int (*sync)(struct backend *b, struct err *e);

    /* Returns once every rank is in it. */
    int (*barrier)(struct backend *b, struct err *e);

    /* Compares with the expected data or with poison; adds to t. Waits for its own work. */
    int (*verify)(struct backend *b, enum buffer which, uint64_t begin, uint64_t end,
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

/* The first member of every backend. */
struct backend {
    const struct backend_ops *ops;
};

#endif
