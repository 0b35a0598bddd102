#include "launcher/core/line.h"

#include <string.h>

void line_init(struct line *l)
{
    buf_init(&l->part, 0);
}

void line_fini(struct line *l)
{
    buf_fini(&l->part);
}

/* Length up to and including the first line end, 0 if there is none. A "\r" that is the last
 * byte may belong to "\r\n" and ends a line only when the next byte is known. */
static size_t first_end(const char *p, size_t n)
{
    const char *newline = memchr(p, '\n', n);
    size_t span = newline ? (size_t)(newline - p) : n;
    const char *cr = span ? memchr(p, '\r', span) : NULL;
    if (cr && (size_t)(cr - p) + 1 < n && cr[1] != '\n')
        return (size_t)(cr - p) + 1;
    return newline ? span + 1 : 0;
}

/* Length up to and including the last line end, 0 if there is none. */
static size_t last_end(const char *p, size_t n)
{
    const char *newline = memrchr(p, '\n', n);
    size_t end = newline ? (size_t)(newline - p) + 1 : 0;
    for (size_t i = n; i-- > end + 1;)
        if (p[i - 1] == '\r')
            return i;
    return end;
}

static void keep(struct line *l, const char *p, size_t n, size_t limit, line_emit *emit,
                 void *ctx)
{
    buf_add(&l->part, p, n);
    if (l->part.len < limit)
        return;
    emit(ctx, l->part.data, l->part.len);
    buf_reset(&l->part);
}

void line_feed(struct line *l, const char *p, size_t n, bool is_single, size_t limit,
               line_emit *emit, void *ctx)
{
    if (l->part.len && l->part.data[l->part.len - 1] == '\r' && n && *p != '\n') {
        emit(ctx, l->part.data, l->part.len);
        buf_reset(&l->part);
    }
    size_t k = n && l->part.len ? first_end(p, n) : 0;
    if (k) {
        buf_add(&l->part, p, k);
        emit(ctx, l->part.data, l->part.len);
        buf_reset(&l->part);
        p += k;
        n -= k;
    }
    if (!l->part.len) {
        while (n && (k = is_single ? first_end(p, n) : last_end(p, n)) != 0) {
            emit(ctx, p, k);
            p += k;
            n -= k;
        }
    }
    if (n)
        keep(l, p, n, limit, emit, ctx);
}

void line_flush(struct line *l, line_emit *emit, void *ctx)
{
    if (l->part.len)
        emit(ctx, l->part.data, l->part.len);
    buf_reset(&l->part);
}

void line_add_prefixed(struct buf *out, struct str prefix, bool is_begun, const char *p,
                       size_t n)
{
    bool has_cr = n && memchr(p, '\r', n); /* looked for once: few lines have one */
    while (n) {
        const char *newline = has_cr ? NULL : memchr(p, '\n', n);
        size_t k = has_cr ? first_end(p, n) : newline ? (size_t)(newline - p) + 1 : 0;
        k = k ? k : n;
        size_t before = is_begun ? 0 : prefix.n;
        char *to = buf_reserve(out, before + k);
        memcpy(to, prefix.p, before);
        memcpy(to + before, p, k);
        buf_commit(out, before + k);
        is_begun = false;
        p += k;
        n -= k;
    }
}
