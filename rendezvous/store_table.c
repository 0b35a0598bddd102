#include "rendezvous/store_table.h"

#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { SIZE_FIRST = 64, BUCKET_BYTES = 2 * sizeof(void *) };

/* ---- SipHash-1-3 (Aumasson and Bernstein): names chosen by a peer cannot collide on purpose
 */

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static uint64_t load64(const void *p, size_t n)
{
    uint64_t v = 0;
    memcpy(&v, p, n);
    return le64toh(v);
}

static uint64_t hash_key(const uint8_t seed[16], struct str key)
{
    uint64_t k0 = load64(seed, 8), k1 = load64(seed + 8, 8);
    uint64_t v[4] = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du,
                     k0 ^ 0x6c7967656e657261u, k1 ^ 0x7465646279746573u};
    size_t whole = key.n & ~(size_t)7;
    for (size_t i = 0; i < whole; i += 8) {
        uint64_t word = load64(key.p + i, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    uint64_t last = (uint64_t)key.n << 56;
    if (key.n > whole)
        last |= load64(key.p + whole, key.n - whole);
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- entries */

void table_init(struct table *t, const uint8_t seed[16])
{
    *t = (struct table){.size = SIZE_FIRST};
    memcpy(t->seed, seed, sizeof t->seed);
    t->buckets = mem_alloc(t->size, sizeof(struct entry *));
}

void table_fini(struct table *t)
{
    for (size_t i = 0; i < t->size; i++)
        for (struct entry *e = t->buckets[i], *next; e; e = next) {
            next = e->next;
            while (e->queued)
                blob_unref(entry_pop(t, e));
            entry_clear(t, e);
            free(e);
        }
    free(t->buckets);
    *t = (struct table){0};
}

static struct entry **slot(const struct table *t, uint64_t hash, struct str key)
{
    struct entry **at = &t->buckets[hash & (t->size - 1)];
    while (*at
           && ((*at)->hash != hash || (*at)->key_len != key.n
               || memcmp((*at)->key, key.p, key.n) != 0))
        at = &(*at)->next;
    return at;
}

struct entry *table_find(const struct table *t, struct str key)
{
    return *slot(t, hash_key(t->seed, key), key);
}

static void grow(struct table *t)
{
    size_t size = t->size * 2;
    struct entry **buckets = mem_alloc(size, sizeof(struct entry *));
    for (size_t i = 0; i < t->size; i++)
        for (struct entry *e = t->buckets[i], *next; e; e = next) {
            struct entry **to = &buckets[e->hash & (size - 1)];
            next = e->next;
            e->next = *to;
            *to = e;
        }
    free(t->buckets);
    t->buckets = buckets;
    t->size = size;
}

size_t table_entry_bytes(size_t key_len, size_t value_len)
{
    return sizeof(struct entry) + BUCKET_BYTES + key_len + sizeof(struct blob) + value_len;
}

static size_t own_bytes(const struct entry *e)
{
    return sizeof *e + BUCKET_BYTES + e->key_len;
}

struct entry *table_get(struct table *t, struct str key)
{
    uint64_t hash = hash_key(t->seed, key);
    struct entry **at = slot(t, hash, key);
    if (*at)
        return *at;
    if (t->used == t->size) {
        grow(t);
        at = slot(t, hash, key);
    }
    struct entry *e = mem_alloc(1, sizeof *e + key.n);
    e->hash = hash;
    e->key_len = (uint32_t)key.n;
    memcpy(e->key, key.p, key.n);
    list_init(&e->waiters);
    list_init(&e->parked);
    list_init(&e->queue);
    *at = e;
    t->used++;
    t->bytes += own_bytes(e);
    return e;
}

void table_release(struct table *t, struct entry *e)
{
    if (e->kind != ENTRY_ABSENT || e->queued || e->nodes)
        return;
    assert(list_is_empty(&e->waiters) && list_is_empty(&e->parked));
    struct entry **at = &t->buckets[e->hash & (t->size - 1)];
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    t->used--;
    t->bytes -= own_bytes(e);
    free(e);
}

bool entry_is_present(const struct entry *e)
{
    return e->kind != ENTRY_ABSENT || e->queued;
}

/* ---- values */

static size_t blob_bytes(const struct blob *b)
{
    return sizeof *b + b->cap;
}

/* Forgets the old value and becomes one of another kind. */
static void change(struct table *t, struct entry *e, enum entry_kind kind)
{
    t->keys += kind != ENTRY_ABSENT;
    t->keys -= e->kind != ENTRY_ABSENT;
    if (e->blob) {
        t->bytes -= blob_bytes(e->blob);
        blob_unref(e->blob);
        e->blob = NULL;
    }
    e->kind = kind;
}

void entry_clear(struct table *t, struct entry *e)
{
    change(t, e, ENTRY_ABSENT);
}

void entry_set_number(struct table *t, struct entry *e, int64_t v)
{
    if (e->kind != ENTRY_NUMBER)
        change(t, e, ENTRY_NUMBER);
    e->number = v;
}

/* The blob of a new value: shared if it came in one that is not much too large. */
static struct blob *own_blob(const char *p, size_t n, struct blob *from)
{
    return from ? blob_ref(from) : blob_new(p, n);
}

void entry_set_bytes(struct table *t, struct entry *e, const char *p, size_t n,
                     struct blob *from)
{
    struct blob *b = e->blob;
    if (!from && b && b->refs == 1 && n <= b->cap && n >= b->cap / 2) {
        memcpy(b->data, p, n);
        b->len = n;
        return;
    }
    b = own_blob(p, n, from);
    change(t, e, ENTRY_BYTES);
    e->blob = b;
    t->bytes += blob_bytes(b);
}

void entry_append(struct table *t, struct entry *e, const char *p, size_t n)
{
    char text[ENTRY_NUMBER_MAX];
    if (e->kind != ENTRY_BYTES || e->blob->refs > 1) {
        struct str old = entry_value(e, text);
        struct blob *b = blob_sized(old.n + n);
        if (old.n)
            b = blob_append(b, old.p, old.n, 0);
        change(t, e, ENTRY_BYTES);
        e->blob = b;
    } else {
        t->bytes -= blob_bytes(e->blob);
    }
    e->blob = blob_append(e->blob, p, n, 0);
    t->bytes += blob_bytes(e->blob);
}

struct str entry_value(const struct entry *e, char text[ENTRY_NUMBER_MAX])
{
    switch (e->kind) {
    case ENTRY_ABSENT:
        break;
    case ENTRY_BYTES:
        return (struct str){e->blob->data, e->blob->len};
    case ENTRY_NUMBER: {
        int n = snprintf(text, ENTRY_NUMBER_MAX, "%" PRId64, e->number);
        return (struct str){text, (size_t)n};
    }
    }
    return (struct str){"", 0};
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* As strtoll(text, NULL, 10) with its range error. */
static int parse_number(struct str s, int64_t *v)
{
    size_t i = 0;
    while (i < s.n && is_blank(s.p[i]))
        i++;
    bool minus = i < s.n && s.p[i] == '-';
    if (i < s.n && (s.p[i] == '-' || s.p[i] == '+'))
        i++;
    size_t first = i;
    int64_t sum = 0;
    for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++) {
        int digit = s.p[i] - '0';
        if (__builtin_mul_overflow(sum, 10, &sum)
            || __builtin_add_overflow(sum, minus ? -digit : digit, &sum))
            return -1;
    }
    *v = sum;
    return i > first ? 0 : -1;
}

int entry_number(const struct entry *e, int64_t *v)
{
    if (e->kind == ENTRY_BYTES)
        return parse_number((struct str){e->blob->data, e->blob->len}, v);
    *v = e->kind == ENTRY_NUMBER ? e->number : 0;
    return 0;
}

/* ---- queues */

void entry_push(struct table *t, struct entry *e, const char *p, size_t n, struct blob *from)
{
    struct queue_item *item = mem_alloc(1, sizeof *item);
    item->value = own_blob(p, n, from);
    list_push(&e->queue, &item->link);
    e->queued++;
    t->bytes += sizeof *item + blob_bytes(item->value);
}

struct blob *entry_pop(struct table *t, struct entry *e)
{
    struct queue_item *item = list_first(&e->queue, struct queue_item, link);
    struct blob *value = item->value;
    list_remove(&item->link);
    e->queued--;
    t->bytes -= sizeof *item + blob_bytes(value);
    free(item);
    return value;
}
