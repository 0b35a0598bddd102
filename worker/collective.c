#include "worker/collective.h"

#include <assert.h>

enum blocks { ONE, EACH };
enum party { ALL, ROOT };
enum overlap { SAME, AT_SEND, AT_RECV, NEVER };
enum factor { UNIT, SHARE, TWICE };

enum { BLOCK_ALIGNMENT = 16 };

static const struct {
    const char *name, *title;
    enum blocks sent, received;
    enum party senders, receivers;
    enum overlap in_place;
    bool reduces;
    enum factor factor;
} table[] = {
#define X(name, text, title, sent, received, senders, receivers, in_place, reduces, factor)    \
    [COLLECTIVE_##                                                                             \
        name] = {text, title, sent, received, senders, receivers, in_place, reduces, factor},
    COLLECTIVE_TABLE(X)
#undef X
};
static_assert(sizeof table / sizeof table[0] == COLLECTIVE_COUNT, "one row a collective");

const char *collective_name(enum collective c)
{
    return table[c].name;
}

const char *collective_title(enum collective c)
{
    return table[c].title;
}

bool collective_reduces(enum collective c)
{
    return table[c].reduces;
}

bool collective_is_rooted(enum collective c)
{
    return table[c].senders == ROOT || table[c].receivers == ROOT;
}

bool collective_has_in_place(enum collective c)
{
    return table[c].in_place != NEVER;
}

bool collective_is_same_everywhere(enum collective c)
{
    return c == COLLECTIVE_ALLREDUCE || c == COLLECTIVE_ALLGATHER || c == COLLECTIVE_BROADCAST
           || c == COLLECTIVE_HYPERCUBE;
}

bool collective_takes(enum collective c, uint32_t nranks)
{
    return c != COLLECTIVE_HYPERCUBE || (nranks & (nranks - 1)) == 0;
}

static uint32_t blocks(enum blocks b, uint32_t nranks)
{
    return b == EACH ? nranks : 1;
}

uint32_t collective_blocks_sent(enum collective c, uint32_t nranks)
{
    return blocks(table[c].sent, nranks);
}

uint32_t collective_blocks_received(enum collective c, uint32_t nranks)
{
    return blocks(table[c].received, nranks);
}

/* Blocks of a region. */
static uint32_t blocks_most(enum collective c, uint32_t nranks)
{
    return table[c].sent == EACH || table[c].received == EACH ? nranks : 1;
}

uint64_t collective_count(enum collective c, uint64_t bytes, size_t element, uint32_t nranks)
{
    uint32_t n = blocks_most(c, nranks);
    uint64_t block = bytes / n, unit = n > 1 ? BLOCK_ALIGNMENT : element;
    block -= block % unit;
    return (block ? block : unit) / element;
}

uint64_t collective_region(enum collective c, uint64_t count, size_t element, uint32_t nranks)
{
    return blocks_most(c, nranks) * count * element;
}

uint64_t collective_bytes(enum collective c, uint64_t count, size_t element, uint32_t nranks)
{
    if (c == COLLECTIVE_HYPERCUBE)
        return (nranks > 1 ? nranks - 1 : 1) * count * element;
    return collective_region(c, count, element, nranks);
}

double collective_factor(enum collective c, uint32_t nranks)
{
    double share = (nranks - 1.0) / nranks;
    if (nranks == 1)
        return 0;
    return table[c].factor == TWICE ? 2 * share : table[c].factor == SHARE ? share : 1;
}

bool collective_sends(enum collective c, const struct collective_group *g)
{
    return table[c].senders == ALL || g->rank == g->root;
}

bool collective_receives(enum collective c, const struct collective_group *g)
{
    return table[c].receivers == ALL || g->rank == g->root;
}

uint64_t collective_send_at(enum collective c, uint64_t count, bool in_place, uint32_t rank)
{
    return in_place && table[c].in_place == AT_SEND ? rank * count : 0;
}

uint64_t collective_recv_at(enum collective c, uint64_t count, bool in_place, uint32_t rank)
{
    return in_place && table[c].in_place == AT_RECV ? rank * count : 0;
}

struct pattern_span collective_sent(enum collective c, const struct collective_group *g,
                                    uint64_t count, bool in_place, uint64_t first)
{
    uint64_t at = collective_send_at(c, count, in_place, g->rank);
    uint64_t n = collective_sends(c, g) ? collective_blocks_sent(c, g->nranks) * count : 0;
    return (struct pattern_span){first + at, first + at + n, 0 - at, g->rank};
}

/* Whose data block k is. */
static int64_t source_of(enum collective c, const struct collective_group *g, uint32_t k)
{
    if (table[c].reduces)
        return -1;
    if (table[c].senders == ROOT)
        return g->root;
    return c == COLLECTIVE_SENDRECV ? (g->rank + g->nranks - 1) % g->nranks : k;
}

struct pattern_span collective_received(enum collective c, const struct collective_group *g,
                                        uint64_t count, bool in_place, uint64_t first,
                                        uint32_t k)
{
    uint64_t at = collective_recv_at(c, count, in_place, g->rank) + k * count,
             from = table[c].sent == EACH ? g->rank * count : 0,
             n = collective_receives(c, g) ? count : 0;
    return (struct pattern_span){first + at, first + at + n, from - at, source_of(c, g, k)};
}
