#include "launcher/core/line.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "launcher/core/newline_mask.h"

void line_init(struct line *l)
{
    buf_init(&l->part, 0);
}

void line_fini(struct line *l)
{
    buf_fini(&l->part);
}

/* Where the next "\n" and the next "\r" of some bytes are: n = there is none, -1 = not looked
 * for yet. Either is looked for only when the one before has been passed, so that each search
 * sees a byte once. */
struct ends {
    const char *p;
    ptrdiff_t n, newline, cr;
};

static struct ends ends_begin(const char *p, size_t n)
{
    return (struct ends){p, (ptrdiff_t)n, -1, -1};
}

static void look(const struct ends *x, char c, ptrdiff_t from, ptrdiff_t *at)
{
    if (*at >= from)
        return;
    const char *found = memchr(x->p + from, c, (size_t)(x->n - from));
    *at = found ? found - x->p : x->n;
}

/* Length from there up to and including the first line end, 0 if there is none. A "\r" that is
 * the last byte may belong to "\r\n" and ends a line only when the next byte is known. */
static size_t first_end(struct ends *x, size_t begin)
{
    ptrdiff_t from = (ptrdiff_t)begin;
    look(x, '\n', from, &x->newline);
    look(x, '\r', from, &x->cr);
    if (x->cr < x->newline && x->cr + 1 < x->n && x->p[x->cr + 1] != '\n')
        return (size_t)(x->cr + 1 - from);
    return x->newline < x->n ? (size_t)(x->newline + 1 - from) : 0;
}

/* Length up to and including the last line end, 0 if there is none. */
static size_t last_end(const char *p, size_t n)
{
    const char *newline = memrchr(p, '\n', n);
    size_t end = newline ? (size_t)(newline - p) + 1 : 0;
    const char *cr = n > end + 1 ? memrchr(p + end, '\r', n - end - 1) : NULL;
    return cr ? (size_t)(cr - p) + 1 : end;
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
    struct ends ends = ends_begin(p, n);
    size_t at = 0, k = n && l->part.len ? first_end(&ends, 0) : 0;
    if (k) {
        buf_add(&l->part, p, k);
        emit(ctx, l->part.data, l->part.len);
        buf_reset(&l->part);
        at = k;
    }
    while (!l->part.len && at < n
           && (k = is_single ? first_end(&ends, at) : last_end(p + at, n - at)) != 0) {
        emit(ctx, p + at, k);
        at += k;
    }
    if (at < n)
        keep(l, p + at, n - at, limit, emit, ctx);
}

void line_flush(struct line *l, line_emit *emit, void *ctx)
{
    if (l->part.len)
        emit(ctx, l->part.data, l->part.len);
    buf_reset(&l->part);
}

/* ---- prefixes ----
 *
 * Of short lines a worker may write ten million a second, and a call to search or to copy eight
 * bytes costs more than the bytes. So the ends of all lines of a block are searched for at
 * once, and what is short is copied in steps of a fixed size, for which there has to be room
 * behind either end. */

enum { STEP = 16, CALL_BYTES = 96 };

struct prefixing {
    struct buf *out;
    struct str prefix;
    char first_step[STEP]; /* of the prefix */
    size_t before;         /* bytes of the prefix that belong before the next line */
};

static char *copy(char *to, const char *p, size_t n)
{
    if (n > CALL_BYTES)
        memcpy(to, p, n);
    else
        for (size_t i = 0; i < n; i += STEP)
            memcpy(to + i, p + i, STEP);
    return to + n;
}

static char *copy_prefix(struct prefixing *x, char *to)
{
    size_t n = x->before;
    if (n > STEP)
        memcpy(to, x->prefix.p, n);
    else
        memcpy(to, x->first_step, STEP);
    x->before = x->prefix.n;
    return to + n;
}

/* The lines from p on that end where the mask of the block says; returns what is left. */
static const char *add_lines(struct prefixing *x, const char *p, const char *block,
                             uint64_t mask)
{
    size_t room = (size_t)(block - p) + NEWLINE_MASK_BYTES * (1 + x->prefix.n) + STEP;
    char *const start = buf_reserve(x->out, room), *to = start;
    for (; mask; mask &= mask - 1) {
        const char *end = block + __builtin_ctzll(mask) + 1;
        to = copy(copy_prefix(x, to), p, (size_t)(end - p));
        p = end;
    }
    buf_commit(x->out, (size_t)(to - start));
    return p;
}

/* All lines but some of the last bytes; where a block has no newline, a call finds the next. */
static const char *add_by_blocks(struct prefixing *x, const char *p, const char *end)
{
    const char *block = p;
    while (block && (size_t)(end - block) >= NEWLINE_MASK_BYTES + STEP) {
        const char *rest = block + NEWLINE_MASK_BYTES;
        uint64_t mask = newline_mask(block);
        if (mask)
            p = add_lines(x, p, block, mask);
        block = mask ? rest : memchr(rest, '\n', (size_t)(end - rest));
    }
    return p;
}

void line_add_prefixed(struct buf *out, struct str prefix, bool is_begun, const char *p,
                       size_t n)
{
    struct prefixing x = {.out = out, .prefix = prefix, .before = is_begun ? 0 : prefix.n};
    struct ends ends = ends_begin(p, n);
    size_t at = 0;
    memcpy(x.first_step, prefix.p, prefix.n < STEP ? prefix.n : STEP);
    if (n && !memchr(p, '\r', n)) /* few lines have one */
        at = (size_t)(add_by_blocks(&x, p, p + n) - p);
    while (at < n) {
        size_t k = first_end(&ends, at);
        k = k ? k : n - at;
        buf_add(out, prefix.p, x.before);
        buf_add(out, p + at, k);
        x.before = prefix.n;
        at += k;
    }
}
