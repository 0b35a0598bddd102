#include "launcher/core/line.h"

#include <assert.h>
#include <stdint.h>
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

/* ---- prefixes ----
 *
 * Of short lines a worker may write ten million a second, and a call to search or to copy eight
 * bytes costs more than the bytes: those are searched and copied as words of a fixed size, for
 * which there has to be room behind either end. */

enum { WORD = 8, SHORT = 2 * WORD };

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte is the lowest");

/* Where the first newline of a word is; WORD if there is none. The lowest byte that a
 * subtraction borrows from is the first that is zero (Hacker's Delight, 6-1). */
static size_t newline_in_word(const char *p)
{
    static const uint64_t ones = UINT64_MAX / 0xff, tops = UINT64_MAX / 0xff * 0x80;
    uint64_t v;
    memcpy(&v, p, WORD);
    v ^= ones * '\n';
    uint64_t zero = (v - ones) & ~v & tops;
    return zero ? (size_t)__builtin_ctzll(zero) / 8 : WORD;
}

/* The length of a line of up to SHORT bytes with its newline; 0 if it is longer. p: as many
 * bytes can be read. */
static size_t short_line(const char *p)
{
    size_t at = newline_in_word(p);
    if (at == WORD)
        at += newline_in_word(p + WORD);
    return at < SHORT ? at + 1 : 0;
}

/* One line, or what is left. */
static size_t any_line(const char *p, size_t n, bool has_cr)
{
    const char *newline = has_cr ? NULL : memchr(p, '\n', n);
    size_t k = has_cr ? first_end(p, n) : newline ? (size_t)(newline - p) + 1 : 0;
    return k ? k : n;
}

void line_add_prefixed(struct buf *out, struct str prefix, bool is_begun, const char *p,
                       size_t n)
{
    char start[SHORT] = {0};
    bool has_cr = n && memchr(p, '\r', n); /* looked for once: few lines have one */
    bool can_be_short = !has_cr && prefix.n <= SHORT;
    size_t last = 0; /* lines are like those before them */
    if (can_be_short)
        memcpy(start, prefix.p, prefix.n);
    while (n) {
        size_t before = is_begun ? 0 : prefix.n;
        size_t k = can_be_short && last <= SHORT && n >= SHORT ? short_line(p) : 0;
        if (k) {
            char *to = buf_reserve(out, before + SHORT);
            memcpy(to, start, SHORT);
            memcpy(to + before, p, SHORT);
        } else {
            k = any_line(p, n, has_cr);
            char *to = buf_reserve(out, before + k);
            memcpy(to, prefix.p, before);
            memcpy(to + before, p, k);
        }
        buf_commit(out, before + k);
        is_begun = false;
        last = k;
        p += k;
        n -= k;
    }
}
