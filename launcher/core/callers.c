#include "launcher/core/callers.h"

#include <stddef.h>

struct call *callers_idle(const struct list *calls)
{
    for (struct list *at = calls->next; at != calls; at = at->next) {
        struct call *c = list_entry(at, struct call, link);
        if (!c->is_waiting && !c->is_answered)
            return c;
    }
    return NULL;
}

static struct call *first_due(const struct list *calls)
{
    struct call *first = NULL;
    for (struct list *at = calls->next; at != calls; at = at->next) {
        struct call *c = list_entry(at, struct call, link);
        if (!first || c->deadline_ms < first->deadline_ms)
            first = c;
    }
    return first;
}

uint64_t callers_deadline(const struct list *calls)
{
    const struct call *first = first_due(calls);
    return first ? first->deadline_ms : UINT64_MAX;
}

struct call *callers_late(const struct list *calls, uint64_t now_ms)
{
    struct call *first = first_due(calls);
    return first && first->deadline_ms <= now_ms ? first : NULL;
}
