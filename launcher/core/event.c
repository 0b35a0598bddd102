#include "launcher/core/event.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/signal_names.h"

struct effect *effects_add(struct effects *fx, enum effect_type type)
{
    array_grow(fx->items, fx->len, fx->cap);
    struct effect *item = &fx->items[fx->len++];
    memset(item, 0, sizeof *item);
    item->type = type;
    return item;
}

void effects_clear(struct effects *fx)
{
    fx->len = 0;
}

void effects_fini(struct effects *fx)
{
    free(fx->items);
    *fx = (struct effects){0};
}

void event_queue_push(struct event_queue *q, const struct event *ev)
{
    if (q->len == q->cap) {
        size_t cap = q->cap ? q->cap * 2 : 32;
        struct event *items = mem_alloc(cap, sizeof *items);
        for (size_t i = 0; i < q->len; i++)
            items[i] = q->items[(q->head + i) % q->cap];
        free(q->items);
        q->items = items;
        q->head = 0;
        q->cap = cap;
    }
    q->items[(q->head + q->len++) % q->cap] = *ev;
}

bool event_queue_pop(struct event_queue *q, struct event *ev)
{
    if (!q->len)
        return false;
    *ev = q->items[q->head];
    q->head = (q->head + 1) % q->cap;
    q->len--;
    return true;
}

void event_queue_fini(struct event_queue *q)
{
    free(q->items);
    *q = (struct event_queue){0};
}

bool worker_end_is_failure(const struct worker_end *end)
{
    return end->kind != END_EXIT || end->code != 0;
}

void worker_end_format(const struct worker_end *end, struct buf *out)
{
    switch (end->kind) {
    case END_EXIT:
        buf_addf(out, "exit %d", end->code);
        return;
    case END_SIGNAL:
        buf_addf(out, "signal %d (%s)%s", end->code, signal_name(end->code),
                 end->core ? ", core dumped" : "");
        return;
    case END_EXEC:
        buf_addf(out, "could not be started: %s", strerror(end->code));
        return;
    case END_UNKNOWN:
        buf_adds(out, "fate unknown");
        return;
    }
}
