#include "launcher/core/start_tree.h"

#include <stdlib.h>

#include "base/mem.h"
#include "launcher/core/tree_shape.h"

enum who { DELEGATED, OWN };

struct start_host {
    enum who who;
    bool is_linked, is_up, has_failed;
    bool is_taken;   /* its children: taken over, those of them that had no link */
    uint32_t count;  /* of its subtree, itself included */
    uint64_t due_ms; /* when its children are taken over; UINT64_MAX = not now */
};

/* When somebody's children are taken over. An alarm is valid while it is the due_ms of its
 * host. All last equally long, so they are in order of time. */
struct alarm {
    uint64_t due_ms;
    uint32_t host;
};

struct start_tree {
    uint32_t n;
    struct start_host *hosts;
    uint32_t *ready; /* the head is to start them: each stands there at most once */
    uint32_t nready, next_ready;
    struct alarm *alarms;
    size_t nalarms, alarms_cap, next_alarm;
};

static void make_ready(struct start_tree *t, uint32_t i)
{
    t->hosts[i].who = OWN;
    t->ready[t->nready++] = i;
}

struct start_tree *start_tree_new(uint32_t n, uint32_t radix)
{
    struct start_tree *t = mem_alloc(1, sizeof *t);
    t->n = n;
    radix = radix ? radix : n;
    t->hosts = mem_alloc(n, sizeof *t->hosts);
    t->ready = mem_alloc(n, sizeof *t->ready);
    for (uint32_t i = 0; i < n; i++) {
        struct tree_place place = tree_shape_find(n, radix, i);
        t->hosts[i] = (struct start_host){.count = place.count, .due_ms = UINT64_MAX};
        if (place.parent == TREE_HEAD)
            make_ready(t, i);
    }
    return t;
}

void start_tree_free(struct start_tree *t)
{
    if (!t)
        return;
    free(t->hosts);
    free(t->ready);
    free(t->alarms);
    free(t);
}

static bool is_missing(const struct start_host *h)
{
    return h->who == DELEGATED && !h->is_linked && !h->has_failed;
}

static void take_over(struct start_tree *t, uint32_t i)
{
    struct start_host *h = &t->hosts[i];
    h->due_ms = UINT64_MAX;
    h->is_taken = h->is_taken || h->count > 1;
    for (uint32_t child = i + 1; child < i + h->count; child += t->hosts[child].count)
        if (is_missing(&t->hosts[child]))
            make_ready(t, child);
}

static void arm(struct start_tree *t, uint32_t i, uint64_t now_ms)
{
    struct start_host *h = &t->hosts[i];
    if (h->count == 1 || h->is_taken)
        return;
    h->due_ms = now_ms + START_TREE_MS;
    array_grow(t->alarms, t->nalarms, t->alarms_cap);
    t->alarms[t->nalarms++] = (struct alarm){h->due_ms, i};
}

void start_tree_began(struct start_tree *t, uint32_t i, uint64_t now_ms)
{
    if (i < t->n && !t->hosts[i].is_up)
        arm(t, i, now_ms);
}

void start_tree_up(struct start_tree *t, uint32_t i, uint64_t now_ms)
{
    if (i >= t->n || t->hosts[i].is_up)
        return;
    t->hosts[i].is_up = true;
    arm(t, i, now_ms);
}

void start_tree_linked(struct start_tree *t, uint32_t i, uint64_t now_ms)
{
    if (i >= t->n)
        return;
    t->hosts[i].is_linked = true;
    start_tree_up(t, i, now_ms);
}

void start_tree_ended(struct start_tree *t, uint32_t i)
{
    if (i < t->n)
        take_over(t, i);
}

bool start_tree_failed(struct start_tree *t, uint32_t i, bool is_own, bool is_way)
{
    if (i >= t->n)
        return is_own;
    struct start_host *h = &t->hosts[i];
    if (h->has_failed || (!is_own && h->who == OWN)) /* there is another command */
        return false;
    if (!is_own && is_way && !h->is_linked) {
        make_ready(t, i);
        return false;
    }
    take_over(t, i);
    h->has_failed = !h->is_linked;
    return h->has_failed;
}

bool start_tree_is_own(const struct start_tree *t, uint32_t i)
{
    return i < t->n && t->hosts[i].who == OWN;
}

bool start_tree_is_below(const struct start_tree *t, uint32_t i, uint32_t above)
{
    return i < t->n && above < i && i - above < t->hosts[above].count;
}

uint32_t start_tree_below(const struct start_tree *t, uint32_t i)
{
    return i < t->n && !t->hosts[i].is_taken ? t->hosts[i].count - 1 : 0;
}

static bool is_valid(const struct start_tree *t, const struct alarm *a)
{
    return t->hosts[a->host].due_ms == a->due_ms;
}

static const struct alarm *first_alarm(const struct start_tree *t)
{
    for (size_t k = t->next_alarm; k < t->nalarms; k++)
        if (is_valid(t, &t->alarms[k]))
            return &t->alarms[k];
    return NULL;
}

static void ring(struct start_tree *t, uint64_t now_ms)
{
    for (; t->next_alarm < t->nalarms; t->next_alarm++) {
        const struct alarm *a = &t->alarms[t->next_alarm];
        if (!is_valid(t, a))
            continue;
        if (a->due_ms > now_ms)
            break;
        take_over(t, a->host);
    }
}

bool start_tree_next(struct start_tree *t, uint64_t now_ms, uint32_t *i)
{
    ring(t, now_ms);
    while (t->next_ready < t->nready) {
        *i = t->ready[t->next_ready++];
        if (!t->hosts[*i].is_linked)
            return true;
    }
    return false;
}

uint64_t start_tree_due_ms(const struct start_tree *t)
{
    const struct alarm *a = first_alarm(t);
    return t->next_ready < t->nready ? 0 : a ? a->due_ms : UINT64_MAX;
}
