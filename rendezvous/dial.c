#include "rendezvous/dial.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

enum state { DIAL_WAITING, DIAL_TRYING, DIAL_OUT };

struct candidate {
    enum state state;
    uint64_t due_ms;   /* DIAL_WAITING */
    uint64_t pause_ms; /* after its next failure */
    bool has_failed;
    enum dial_failure how;
    struct err why;
};

struct dial {
    uint64_t until_ms;
    size_t n;
    size_t begun; /* candidates tried at least once: the first so many */
    struct candidate candidates[];
};

struct dial *dial_new(size_t n, uint64_t now_ms, uint64_t until_ms)
{
    struct dial *d = mem_alloc(1, sizeof *d + n * sizeof *d->candidates);
    assert(n > 0);
    d->n = n;
    d->until_ms = until_ms;
    for (size_t i = 0; i < n; i++) {
        d->candidates[i].due_ms = now_ms + i * DIAL_STAGGER_MS;
        d->candidates[i].pause_ms = DIAL_RETRY_MIN_MS;
    }
    return d;
}

void dial_free(struct dial *d)
{
    free(d);
}

/* The first tries of those that follow are due from this time on. */
static void stagger(struct dial *d, uint64_t from_ms)
{
    for (size_t i = d->begun; i < d->n; i++)
        d->candidates[i].due_ms = from_ms + (i - d->begun) * DIAL_STAGGER_MS;
}

bool dial_next(struct dial *d, uint64_t now_ms, size_t *candidate)
{
    if (now_ms >= d->until_ms)
        return false;
    for (size_t i = 0; i < d->n; i++) {
        struct candidate *c = &d->candidates[i];
        if (c->state != DIAL_WAITING || c->due_ms > now_ms)
            continue;
        c->state = DIAL_TRYING;
        if (i == d->begun) {
            d->begun++;
            stagger(d, now_ms + DIAL_STAGGER_MS);
        }
        *candidate = i;
        return true;
    }
    return false;
}

void dial_failed(struct dial *d, size_t candidate, enum dial_failure how, const struct err *why,
                 uint64_t now_ms)
{
    struct candidate *c = &d->candidates[candidate];
    assert(candidate < d->n && c->state == DIAL_TRYING);
    if (!c->has_failed || how >= c->how) {
        c->how = how;
        c->why = *why;
    }
    c->has_failed = true;
    c->state = how == DIAL_REFUSED ? DIAL_OUT : DIAL_WAITING;
    c->due_ms = now_ms + c->pause_ms;
    c->pause_ms = c->pause_ms * 2 < DIAL_RETRY_MAX_MS ? c->pause_ms * 2 : DIAL_RETRY_MAX_MS;
    if (candidate + 1 == d->begun)
        stagger(d, now_ms);
}

uint64_t dial_deadline(const struct dial *d)
{
    uint64_t first = d->until_ms;
    for (size_t i = 0; i < d->n; i++) {
        const struct candidate *c = &d->candidates[i];
        if (c->state == DIAL_WAITING && c->due_ms < first)
            first = c->due_ms;
    }
    return first;
}

bool dial_is_over(const struct dial *d, uint64_t now_ms)
{
    bool is_out = true;
    for (size_t i = 0; i < d->n && is_out; i++)
        is_out = d->candidates[i].state == DIAL_OUT;
    return is_out || now_ms >= d->until_ms;
}

const struct err *dial_reason(const struct dial *d)
{
    const struct candidate *best = NULL;
    for (size_t i = 0; i < d->n; i++) {
        const struct candidate *c = &d->candidates[i];
        if (c->has_failed && (!best || c->how > best->how))
            best = c;
    }
    return best ? &best->why : NULL;
}
