/* store_table.h - the hash table of the store: one entry a name, with its value, queue and
 * waiters.
 *
 * Owns entries and counts their bytes. Decides nothing about queries: store.c does. An entry
 * without value, queue and waiters frees itself in table_release. Pure; the seed of the hash
 * comes from outside.
 */
#ifndef MUSTER_RENDEZVOUS_STORE_TABLE_H
#define MUSTER_RENDEZVOUS_STORE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/str.h"
#include "rendezvous/blob.h"

enum entry_kind { ENTRY_ABSENT, ENTRY_BYTES, ENTRY_NUMBER };

enum {
    ENTRY_NUMBER_MAX = 24, /* bytes of a 64-bit number as text, and more */
};

struct queue_item {
    struct list link;
    struct blob *value;
};

struct entry {
    struct entry *next; /* same bucket */
    uint64_t hash;
    struct list waiters; /* store_node.link of WAIT, oldest first */
    struct list parked;  /* store_node.link of BARRIER, oldest first */
    struct list queue;   /* queue_item.link, oldest first */
    size_t queued;
    size_t nodes;      /* wait nodes that point here, those already taken off a list included */
    struct blob *blob; /* of ENTRY_BYTES */
    int64_t number;    /* of ENTRY_NUMBER: the value is its decimal text */
    enum entry_kind kind;
    uint32_t key_len;
    char key[];
};

struct table {
    struct entry **buckets;
    size_t size;  /* a power of two */
    size_t used;  /* entries, placeholders included */
    size_t keys;  /* entries with a value */
    size_t bytes; /* of entries, values and queues */
    uint8_t seed[16];
};

/* The caller's memory. seed: random, so that a client cannot choose keys that collide. */
void table_init(struct table *t, const uint8_t seed[16]);
void table_fini(struct table *t);

struct entry *table_find(const struct table *t, struct str key); /* NULL if absent */
struct entry *table_get(struct table *t, struct str key);        /* made if absent */
void table_release(struct table *t, struct entry *e);            /* frees it if empty */
size_t table_entry_bytes(size_t key_len, size_t value_len);      /* what one may cost */

/* The value: bytes (from has the blob if it may be shared), a number, none. */
void entry_set_bytes(struct table *t, struct entry *e, const char *p, size_t n,
                     struct blob *from);
void entry_set_number(struct table *t, struct entry *e, int64_t v);
void entry_append(struct table *t, struct entry *e, const char *p, size_t n);
void entry_clear(struct table *t, struct entry *e);

/* The value as bytes; a number is written to text. Empty if there is none. */
struct str entry_value(const struct entry *e, char text[ENTRY_NUMBER_MAX]);

/* The value as ADD reads it: C strtoll, base 10. -1 if it is no number in range. A missing
 * value is 0. */
int entry_number(const struct entry *e, int64_t *v);

void entry_push(struct table *t, struct entry *e, const char *p, size_t n, struct blob *from);
struct blob *entry_pop(struct table *t, struct entry *e); /* the caller's; queued must be > 0 */

/* A value or a queue that is not empty. */
bool entry_is_present(const struct entry *e);

#endif
