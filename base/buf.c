#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_fini(struct buf *b)
{
    free(b->data);
    *b = (struct buf){0};
}

void buf_reset(struct buf *b)
{
    b->len = 0;
    b->overflowed = false;
    if (b->data)
        b->data[0] = '\0';
}

char *buf_grow(struct buf *b, size_t n)
{
    if (b->max && (n > b->max || b->len > b->max - n)) {
        b->overflowed = true;
        return NULL;
    }
    if (b->cap < b->len + n + 1) {
        size_t cap = b->cap ? b->cap : 64;
        while (cap < b->len + n + 1)
            cap *= 2;
        b->data = mem_realloc(b->data, cap, 1);
        b->cap = cap;
    }
    return b->data + b->len;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    char *to = buf_reserve(b, n);
    if (!to)
        return;
    if (n)
        memcpy(to, p, n);
    buf_commit(b, n);
}

void buf_adds(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_addc(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

/* Into the room that there is; once more where that was too short. */
void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    size_t room = b->data ? b->cap - b->len : 0;
    va_start(ap, fmt);
    int n = vsnprintf(room ? b->data + b->len : NULL, room, fmt, ap);
    va_end(ap);
    char *to = n < 0 ? NULL : buf_reserve(b, (size_t)n);
    if (to && (size_t)n >= room) {
        va_start(ap, fmt);
        vsnprintf(to, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    if (to)
        buf_commit(b, (size_t)n);
    else if (room)
        b->data[b->len] = '\0';
}

static void add_le(struct buf *b, uint64_t v, size_t n)
{
    char bytes[8];
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(v >> (8 * i) & 0xff);
    buf_add(b, bytes, n);
}

void buf_add_u32le(struct buf *b, uint32_t v)
{
    add_le(b, v, 4);
}

void buf_add_u64le(struct buf *b, uint64_t v)
{
    add_le(b, v, 8);
}

void buf_add_json(struct buf *b, const char *s, size_t n)
{
    buf_addc(b, '"');
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        if (c >= 0x80) {
            size_t k = str_utf8_len(s + i, n - i);
            if (k)
                buf_add(b, s + i, k);
            else
                buf_adds(b, "\\ufffd");
            i += k ? k : 1;
            continue;
        }
        if (c == '"' || c == '\\')
            buf_addf(b, "\\%c", c);
        else if (c == '\n')
            buf_adds(b, "\\n");
        else if (c == '\t')
            buf_adds(b, "\\t");
        else if (c < 0x20 || c == 0x7f)
            buf_addf(b, "\\u%04x", c);
        else
            buf_addc(b, (char)c);
        i++;
    }
    buf_addc(b, '"');
}

void buf_consume(struct buf *b, size_t n)
{
    assert(n <= b->len);
    if (!n)
        return;
    memmove(b->data, b->data + n, b->len - n);
    b->len -= n;
    b->data[b->len] = '\0';
}

const char *buf_str(const struct buf *b)
{
    return b->data ? b->data : "";
}

char *buf_steal(struct buf *b)
{
    char *s = b->data ? b->data : mem_strdup("");
    *b = (struct buf){.max = b->max};
    return s;
}
