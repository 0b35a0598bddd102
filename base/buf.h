/* buf.h - a byte buffer that grows up to a limit.
 *
 * Appending past the limit drops the append and marks the buffer as overflowed, so that a
 * caller may write a whole message and ask once. Always NUL-terminated after the last byte (the
 * NUL is not counted), so text can be read in place.
 */
#ifndef MUSTER_BASE_BUF_H
#define MUSTER_BASE_BUF_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
    char *data; /* NULL until the first append */
    size_t len, cap;
    size_t max; /* most bytes it may hold; 0 = no limit */
    bool overflowed;
};

/* max: limit in bytes, 0 for none. Nothing is allocated yet. */
void buf_init(struct buf *b, size_t max);
void buf_fini(struct buf *b);

/* Empties it and forgets the overflow; keeps the memory. */
void buf_reset(struct buf *b);

/* What buf_reserve does where there is a limit, or no room yet. */
char *buf_grow(struct buf *b, size_t n);

/* Room for n more bytes, to be filled by the caller and counted by buf_commit; NULL if the
 * limit forbids it. Inline where there is room already: called for every line of output. */
static inline char *buf_reserve(struct buf *b, size_t n)
{
    return !b->max && n < b->cap - b->len ? b->data + b->len : buf_grow(b, n);
}

static inline void buf_commit(struct buf *b, size_t n)
{
    assert(b->len + n < b->cap);
    b->len += n;
    b->data[b->len] = '\0';
}

/* Append bytes, a text without its NUL, one byte, what printf would print. All of it or, where
 * the limit forbids it, nothing: then overflowed is true. */
void buf_add(struct buf *b, const void *p, size_t n);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Little-endian integers. */
void buf_add_u32le(struct buf *b, uint32_t v);
void buf_add_u64le(struct buf *b, uint64_t v);

/* s as a JSON string with its quotes (RFC 8259): control characters, quotes and backslashes
 * escaped; bytes that are not UTF-8 become U+FFFD. */
void buf_add_json(struct buf *b, const char *s, size_t n);

/* Removes the first n bytes (n <= len). */
void buf_consume(struct buf *b, size_t n);

/* The text so far; "" for an empty buffer. Valid until the next change. */
const char *buf_str(const struct buf *b);

/* Gives the text away (free with free(), never NULL) and leaves an empty buffer. */
char *buf_steal(struct buf *b);

#endif
