#include "rendezvous/blob.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct blob *blob_sized(size_t cap)
{
    struct blob *b = mem_realloc(NULL, sizeof *b + cap, 1);
    b->len = 0;
    b->cap = cap;
    b->refs = 1;
    return b;
}

struct blob *blob_new(const void *p, size_t n)
{
    struct blob *b = blob_sized(n);
    if (n)
        memcpy(b->data, p, n);
    b->len = n;
    return b;
}

struct blob *blob_ref(struct blob *b)
{
    b->refs++;
    return b;
}

void blob_unref(struct blob *b)
{
    if (b && --b->refs == 0)
        free(b);
}

struct blob *blob_append(struct blob *b, const void *p, size_t n, size_t limit)
{
    assert(b->refs == 1);
    if (b->cap - b->len < n) {
        size_t cap = b->cap * 2;
        if (limit && cap > limit)
            cap = limit;
        if (cap < b->len + n)
            cap = b->len + n;
        b = mem_realloc(b, sizeof *b + cap, 1);
        b->cap = cap;
    }
    if (n)
        memcpy(b->data + b->len, p, n);
    b->len += n;
    return b;
}
