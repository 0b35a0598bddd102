#include "launcher/core/spares.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void drop_text(struct spare *spare)
{
    free((char *)(uintptr_t)spare->hello.u.hello.host);
    free((char *)(uintptr_t)spare->hello.u.hello.via);
    free((char *)(uintptr_t)spare->hello.u.hello.reach);
}

void spares_fini(struct spares *s)
{
    for (size_t i = 0; i < s->n; i++)
        drop_text(&s->list[i]);
    free(s->list);
    *s = (struct spares){0};
}

void spares_add(struct spares *s, uint32_t link, const struct frame *hello, uint64_t now_ms)
{
    if (s->n == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 4;
        s->list = mem_realloc(s->list, s->capacity, sizeof *s->list);
    }
    struct spare *spare = &s->list[s->n++];
    *spare = (struct spare){.link = link, .hello = *hello, .last_heard_ms = now_ms};
    spare->hello.u.hello.host = mem_strdup(hello->u.hello.host);
    spare->hello.u.hello.via = mem_strdup(hello->u.hello.via);
    spare->hello.u.hello.reach = mem_strdup(hello->u.hello.reach);
}

struct spare *spares_find(const struct spares *s, uint32_t link)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i].link == link)
            return &s->list[i];
    return NULL;
}

void spares_remove(struct spares *s, struct spare *spare)
{
    size_t i = (size_t)(spare - s->list);
    drop_text(spare);
    memmove(spare, spare + 1, (s->n - i - 1) * sizeof *spare);
    s->n--;
}

void spares_hear_all(struct spares *s, uint64_t now_ms)
{
    for (size_t i = 0; i < s->n; i++)
        s->list[i].last_heard_ms = now_ms;
}
