#include "tests/sim/heap.h"

#include <stdlib.h>

#include "base/mem.h"

static bool is_before(const struct heap_key *a, const struct heap_key *b)
{
    return a->at_ms < b->at_ms || (a->at_ms == b->at_ms && a->sequence < b->sequence);
}

static uint32_t take_slot(struct heap *h)
{
    if (h->nunused)
        return h->unused[--h->nunused];
    array_grow(h->slots, h->nslots, h->slots_cap);
    return (uint32_t)h->nslots++;
}

void heap_push(struct heap *h, uint64_t at_ms, const struct item *item)
{
    uint32_t slot = take_slot(h);
    h->slots[slot] = *item;
    array_grow(h->keys, h->len, h->cap);
    const struct heap_key key = {at_ms, h->sequence++, slot};
    size_t i = h->len++;
    while (i && is_before(&key, &h->keys[(i - 1) / 2])) {
        h->keys[i] = h->keys[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->keys[i] = key;
}

bool heap_pop(struct heap *h, uint64_t *at_ms, struct item *item)
{
    if (!h->len)
        return false;
    *at_ms = h->keys[0].at_ms;
    *item = h->slots[h->keys[0].slot];
    array_grow(h->unused, h->nunused, h->unused_cap);
    h->unused[h->nunused++] = h->keys[0].slot;
    const struct heap_key last = h->keys[--h->len];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < h->len; i = child) {
        child += child + 1 < h->len && is_before(&h->keys[child + 1], &h->keys[child]);
        if (!is_before(&h->keys[child], &last))
            break;
        h->keys[i] = h->keys[child];
    }
    h->keys[i] = last;
    return true;
}

void heap_fini(struct heap *h)
{
    free(h->keys);
    free(h->slots);
    free(h->unused);
    *h = (struct heap){0};
}
