/* collective.h - the collectives as tables: who sends what where, and what a time means.
 *
 * An operation works on one region of a buffer, count elements a block; n = number of ranks.
 * Names, sizes and factors are those of nccl-tests (PERFORMANCE.md there). Pure; knows neither
 * NCCL nor memory.
 */
#ifndef MUSTER_WORKER_COLLECTIVE_H
#define MUSTER_WORKER_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/pattern.h"

/* X(name, option, title, blocks sent, blocks received, senders, receivers, in place, reduces,
 * busbw / algbw). In place, all is in the receive buffer: SAME = both begin at the region's
 * start, AT_SEND (AT_RECV) = what is sent (received) is the rank's own block, NEVER. */
#define COLLECTIVE_TABLE(X)                                                                    \
    X(ALLREDUCE, "allreduce", "all_reduce", ONE, ONE, ALL, ALL, SAME, true, TWICE)             \
    X(ALLGATHER, "allgather", "all_gather", ONE, EACH, ALL, ALL, AT_SEND, false, SHARE)        \
    X(REDUCESCATTER, "reducescatter", "reduce_scatter", EACH, ONE, ALL, ALL, AT_RECV, true,    \
      SHARE)                                                                                   \
    X(BROADCAST, "broadcast", "broadcast", ONE, ONE, ROOT, ALL, SAME, false, UNIT)             \
    X(REDUCE, "reduce", "reduce", ONE, ONE, ALL, ROOT, SAME, true, UNIT)                       \
    X(ALLTOALL, "alltoall", "alltoall", EACH, EACH, ALL, ALL, NEVER, false, SHARE)             \
    X(GATHER, "gather", "gather", ONE, EACH, ALL, ROOT, AT_SEND, false, SHARE)                 \
    X(SCATTER, "scatter", "scatter", EACH, ONE, ROOT, ALL, AT_RECV, false, SHARE)              \
    X(SENDRECV, "sendrecv", "sendrecv", ONE, ONE, ALL, ALL, NEVER, false, UNIT)                \
    X(HYPERCUBE, "hypercube", "hypercube", ONE, EACH, ALL, ALL, AT_SEND, false, UNIT)

enum collective {
#define X(name, ...) COLLECTIVE_##name,
    COLLECTIVE_TABLE(X)
#undef X
        COLLECTIVE_COUNT
};

/* The group a collective runs in, seen by one rank. */
struct collective_group {
    uint32_t rank, nranks, root;
};

/* As --test spells it, and as messages do; static text. */
const char *collective_name(enum collective c);
const char *collective_title(enum collective c);

/* Whether it takes an operation; has a --root; may work on its own output. */
bool collective_reduces(enum collective c);
bool collective_is_rooted(enum collective c);
bool collective_has_in_place(enum collective c);
bool collective_is_same_everywhere(enum collective c);     /* all ranks receive the same */
bool collective_takes(enum collective c, uint32_t nranks); /* hypercube: powers of two */

/* Elements a block for a size asked for in bytes; blocks of several in a buffer are multiples
 * of 16 bytes, and none is empty. */
uint64_t collective_count(enum collective c, uint64_t bytes, size_t element, uint32_t nranks);

/* S, the bytes that enter the bandwidth; and the bytes of a region. */
uint64_t collective_bytes(enum collective c, uint64_t count, size_t element, uint32_t nranks);
uint64_t collective_region(enum collective c, uint64_t count, size_t element, uint32_t nranks);

/* busbw / algbw; 0 for one rank, where there is no bus. */
double collective_factor(enum collective c, uint32_t nranks);

/* Blocks that a sending (receiving) rank has in a region. */
uint32_t collective_blocks_sent(enum collective c, uint32_t nranks);
uint32_t collective_blocks_received(enum collective c, uint32_t nranks);
bool collective_sends(enum collective c, const struct collective_group *g);
bool collective_receives(enum collective c, const struct collective_group *g);

/* Elements of a region, from its start, where the rank's own data begins (in the receive buffer
 * if in_place, else in the send buffer), and where it receives. */
uint64_t collective_send_at(enum collective c, uint64_t count, bool in_place, uint32_t rank);
uint64_t collective_recv_at(enum collective c, uint64_t count, bool in_place, uint32_t rank);

/* Of the region that begins at element `first` of the buffer: what the rank sends, and block k
 * of what it receives. Element 0 of what a rank sends is element `first` of the pattern. */
struct pattern_span collective_sent(enum collective c, const struct collective_group *g,
                                    uint64_t count, bool in_place, uint64_t first);
struct pattern_span collective_received(enum collective c, const struct collective_group *g,
                                        uint64_t count, bool in_place, uint64_t first,
                                        uint32_t k);

#endif
