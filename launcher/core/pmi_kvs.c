#include "launcher/core/pmi_kvs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct entry {
    char *key, *value; /* one allocation */
    uint32_t next;     /* of the same slot; index + 1, 0 = none */
    bool is_foreign;   /* from another node */
};

struct pmi_kvs {
    struct entry *entries; /* in the order of their puts */
    size_t len, cap;
    size_t ntold; /* entries before it are no news */
    size_t nbytes;
    uint32_t *slots; /* index + 1, 0 = none */
    size_t nslots;   /* a power of two */
};

enum { SLOTS_FIRST = 64 };

struct pmi_kvs *pmi_kvs_new(void)
{
    struct pmi_kvs *kvs = mem_alloc(1, sizeof *kvs);
    kvs->nslots = SLOTS_FIRST;
    kvs->slots = mem_alloc(kvs->nslots, sizeof *kvs->slots);
    return kvs;
}

void pmi_kvs_free(struct pmi_kvs *kvs)
{
    if (!kvs)
        return;
    for (size_t i = 0; i < kvs->len; i++)
        free(kvs->entries[i].key);
    free(kvs->entries);
    free(kvs->slots);
    free(kvs);
}

/* FNV-1a */
static uint32_t *slot_of(const struct pmi_kvs *kvs, struct str key)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < key.n; i++)
        hash = (hash ^ (unsigned char)key.p[i]) * UINT64_C(1099511628211);
    return &kvs->slots[hash & (kvs->nslots - 1)];
}

static void link_entry(struct pmi_kvs *kvs, size_t i)
{
    uint32_t *slot = slot_of(kvs, str_from(kvs->entries[i].key));
    kvs->entries[i].next = *slot;
    *slot = (uint32_t)i + 1;
}

static void grow_slots(struct pmi_kvs *kvs)
{
    free(kvs->slots);
    kvs->nslots *= 2;
    kvs->slots = mem_alloc(kvs->nslots, sizeof *kvs->slots);
    for (size_t i = 0; i < kvs->len; i++)
        link_entry(kvs, i);
}

const char *pmi_kvs_find(const struct pmi_kvs *kvs, struct str key)
{
    for (uint32_t at = *slot_of(kvs, key); at; at = kvs->entries[at - 1].next)
        if (str_eq(key, kvs->entries[at - 1].key))
            return kvs->entries[at - 1].value;
    return NULL;
}

static const char *put(struct pmi_kvs *kvs, struct str key, struct str value, bool is_foreign)
{
    if (pmi_kvs_find(kvs, key))
        return "duplicate_key";
    size_t size = key.n + value.n + 2;
    if (size > PMI_KVS_BYTES_MAX - kvs->nbytes)
        return "no_room";
    kvs->nbytes += size;
    if (kvs->len == kvs->nslots)
        grow_slots(kvs);
    array_grow(kvs->entries, kvs->len, kvs->cap);
    struct entry *entry = &kvs->entries[kvs->len];
    *entry = (struct entry){.key = mem_printf("%.*s%c%.*s", STR_ARG(key), '\0', STR_ARG(value)),
                            .is_foreign = is_foreign};
    entry->value = entry->key + key.n + 1;
    link_entry(kvs, kvs->len++);
    return NULL;
}

const char *pmi_kvs_put(struct pmi_kvs *kvs, struct str key, struct str value)
{
    return put(kvs, key, value, false);
}

void pmi_kvs_news(struct pmi_kvs *kvs, struct buf *out)
{
    for (; kvs->ntold < kvs->len; kvs->ntold++)
        if (!kvs->entries[kvs->ntold].is_foreign)
            buf_addf(out, "%s=%s\n", kvs->entries[kvs->ntold].key,
                     kvs->entries[kvs->ntold].value);
}

void pmi_kvs_merge(struct pmi_kvs *kvs, struct str lines)
{
    struct str line;
    while (str_split(&lines, '\n', &line)) {
        const char *equals = line.n ? memchr(line.p, '=', line.n) : NULL;
        if (!equals || equals == line.p)
            continue;
        struct str key = {line.p, (size_t)(equals - line.p)};
        put(kvs, key, (struct str){equals + 1, line.n - key.n - 1}, true);
    }
}
