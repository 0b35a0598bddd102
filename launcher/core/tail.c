#include "launcher/core/tail.h"

void tail_init(struct tail *t)
{
    buf_init(&t->bytes, 0);
}

void tail_fini(struct tail *t)
{
    buf_fini(&t->bytes);
}

void tail_add(struct tail *t, const char *p, size_t n)
{
    if (n > TAIL_BYTES) {
        p += n - TAIL_BYTES;
        n = TAIL_BYTES;
    }
    if (t->bytes.len + n > 2 * TAIL_BYTES)
        buf_consume(&t->bytes, t->bytes.len + n - 2 * TAIL_BYTES);
    buf_add(&t->bytes, p, n);
    for (char *c = t->bytes.data + t->bytes.len - n; n; c++, n--)
        if (!*c)
            *c = '?';
}

const char *tail_text(const struct tail *t)
{
    if (!t->bytes.len)
        return "";
    const char *end = t->bytes.data + t->bytes.len, *p = end;
    size_t lines = 0;
    while (p > t->bytes.data && (size_t)(end - p) < TAIL_BYTES) {
        if (p[-1] == '\n' && p != end && ++lines == TAIL_LINES)
            break;
        p--;
    }
    return p;
}
