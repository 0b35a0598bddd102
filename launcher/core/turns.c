#include "launcher/core/turns.h"

#include <stddef.h>

enum { STDIO_BLOCK_BYTES = 4096 }; /* buffers of C, Fortran and Python are multiples of it */

void turns_init(struct turns *t, enum turns_cut cut, bool is_shared)
{
    *t = (struct turns){.cut = cut, .is_shared = is_shared};
    list_init(&t->waiting);
}

void turn_init(struct turn *turn, uint32_t rank)
{
    *turn = (struct turn){.rank = rank};
    list_init(&turn->link);
}

static bool needs_cut(const struct turns *t, const struct turn *turn)
{
    if (!t->is_open || t->owner == turn)
        return false;
    switch (t->cut) {
    case TURNS_CUT_NEVER:
        return false;
    case TURNS_CUT_RANKS:
        return t->rank != turn->rank;
    case TURNS_CUT_STREAMS:
        return true;
    }
    return false;
}

bool turns_take(struct turns *t, struct turn *turn, bool ends_line, uint64_t now_ms)
{
    bool is_cut = needs_cut(t, turn);
    t->is_open = !ends_line;
    t->owner = ends_line ? NULL : turn;
    t->rank = turn->rank;
    t->grown_ms = now_ms;
    return is_cut;
}

bool turns_goes_on(const struct turns *t, const struct turn *turn)
{
    return t->is_open && t->owner == turn;
}

void turns_wait(struct turns *t, struct turn *turn, bool is_left, bool is_new, size_t n,
                uint64_t now_ms)
{
    turn->is_due = false;
    turn->is_block = n % STDIO_BLOCK_BYTES == 0;
    bool is_waiting = !list_is_empty(&turn->link);
    if (is_left && is_waiting && !is_new)
        return;
    list_remove(&turn->link);
    if (!is_left)
        return;
    turn->since_ms = now_ms;
    list_push(&t->waiting, &turn->link);
}

void turns_leave(struct turns *t, struct turn *turn)
{
    list_remove(&turn->link);
    if (t->owner == turn)
        t->owner = NULL;
}

static uint64_t deadline_of(const struct turns *t, const struct turn *turn)
{
    if (turn->is_block)
        return UINT64_MAX;
    uint64_t quiet = turn->since_ms + TURNS_QUIET_MS, yield = t->grown_ms + TURNS_YIELD_MS;
    bool is_in_the_way = t->is_open && t->owner && t->owner != turn && t->rank != turn->rank;
    return is_in_the_way && yield > quiet ? yield : quiet;
}

static struct turn *next(const struct turns *t)
{
    struct turn *best = NULL;
    if (t->cut == TURNS_CUT_NEVER && t->is_shared)
        return NULL;
    for (struct list *l = t->waiting.next; l != &t->waiting; l = l->next) {
        struct turn *turn = list_entry(l, struct turn, link);
        if (!best || deadline_of(t, turn) < deadline_of(t, best))
            best = turn;
    }
    return best;
}

uint64_t turns_deadline(const struct turns *t)
{
    const struct turn *turn = next(t);
    return turn ? deadline_of(t, turn) : UINT64_MAX;
}

struct turn *turns_due(struct turns *t, uint64_t now_ms)
{
    struct turn *turn = next(t);
    if (!turn || deadline_of(t, turn) > now_ms)
        return NULL;
    bool is_second = turn->is_due;
    turn->is_due = !is_second;
    return is_second ? turn : NULL;
}
