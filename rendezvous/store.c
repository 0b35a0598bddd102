#include "rendezvous/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rendezvous/store_table.h"

struct store {
    struct table table;
    struct list ready;   /* store_node.link: their keys have appeared, oldest first */
    struct list waiting; /* store_conn.link, oldest first */
    size_t max_bytes;
    size_t wait_bytes; /* of node arrays */
    size_t joined;
};

/* ---- effects */

void store_effects_init(struct store_effects *fx)
{
    *fx = (struct store_effects){0};
    buf_init(&fx->bytes, 0);
}

void store_effects_reset(struct store_effects *fx)
{
    for (size_t i = 0; i < fx->count; i++)
        blob_unref(fx->items[i].blob);
    fx->count = fx->total = 0;
    buf_reset(&fx->bytes);
}

void store_effects_fini(struct store_effects *fx)
{
    store_effects_reset(fx);
    free(fx->items);
    buf_fini(&fx->bytes);
}

static struct store_effect *emit(struct store_effects *fx, enum store_effect_kind kind,
                                 struct store_conn *c)
{
    array_grow(fx->items, fx->count, fx->cap);
    struct store_effect *item = &fx->items[fx->count++];
    *item = (struct store_effect){.kind = kind, .conn = c, .at = fx->bytes.len};
    return item;
}

/* Bytes for c; joined to its last effect where they follow it. */
static void reply(struct store_effects *fx, struct store_conn *c, const void *p, size_t n)
{
    struct store_effect *last = fx->count ? &fx->items[fx->count - 1] : NULL;
    if (!last || last->conn != c || last->kind != STORE_FX_BYTES)
        last = emit(fx, STORE_FX_BYTES, c);
    buf_add(&fx->bytes, p, n);
    last->len += n;
    fx->total += n;
}

static void reply_i64(struct store_effects *fx, struct store_conn *c, int64_t v)
{
    uint64_t le = wire_u64((const char *)&v);
    reply(fx, c, &le, sizeof le);
}

static void reply_byte(struct store_effects *fx, struct store_conn *c, char byte)
{
    reply(fx, c, &byte, 1);
}

static void reply_vec(struct store_effects *fx, struct store_conn *c, struct str value,
                      struct blob *blob)
{
    reply_i64(fx, c, (int64_t)value.n);
    if (!blob || value.n <= STORE_COPY_MAX) {
        reply(fx, c, value.p, value.n);
        return;
    }
    emit(fx, STORE_FX_BLOB, c)->blob = blob_ref(blob);
    fx->total += value.n;
}

/* The value of an entry, which may be NULL: then it is empty. */
static void reply_value(struct store_effects *fx, struct store_conn *c, const struct entry *e)
{
    char text[ENTRY_NUMBER_MAX];
    struct str value = e ? entry_value(e, text) : (struct str){"", 0};
    reply_vec(fx, c, value, e ? e->blob : NULL);
}

static void refuse(struct store_effects *fx, struct store_conn *c, enum store_refusal why,
                   struct str key)
{
    struct store_effect *item = emit(fx, STORE_FX_CLOSE, c);
    item->why = why;
    item->len = key.n;
    buf_add(&fx->bytes, key.p, key.n);
}

/* ---- waiting */

void store_conn_init(struct store_conn *c)
{
    *c = (struct store_conn){0};
    list_init(&c->link);
    list_init(&c->one.link);
}

/* Takes a node off its list and its entry. */
static void node_drop(struct store *s, struct store_node *node)
{
    struct entry *e = node->entry;
    if (!e)
        return;
    list_remove(&node->link);
    node->entry = NULL;
    e->nodes--;
    table_release(&s->table, e);
}

/* The connection waits no more. */
static void wait_end(struct store *s, struct store_conn *c)
{
    for (size_t i = 0; i < c->count; i++)
        node_drop(s, &c->nodes[i]);
    if (c->nodes != &c->one) {
        s->wait_bytes -= c->count * sizeof *c->nodes;
        free(c->nodes);
    }
    c->nodes = NULL;
    c->count = c->missing = 0;
    list_remove(&c->link);
}

/* The key of this node has appeared; true if that was the last one missing. */
static bool node_signal(struct store *s, struct store_node *node, struct store_effects *fx)
{
    struct store_conn *c = node->conn;
    node_drop(s, node);
    if (--c->missing)
        return false;
    wait_end(s, c);
    reply_byte(fx, c, WIRE_STOP_WAITING);
    return true;
}

/* Moves a whole list of nodes to the end of the ready ones. */
static void make_ready(struct store *s, struct list *from)
{
    if (list_is_empty(from))
        return;
    struct list *first = from->next, *last = from->prev, *tail = s->ready.prev;
    tail->next = first;
    first->prev = tail;
    last->next = &s->ready;
    s->ready.prev = last;
    list_init(from);
}

static void wake_slice(struct store *s, struct store_effects *fx)
{
    for (int i = 0; i < STORE_WAKE_SLICE && !list_is_empty(&s->ready); i++)
        node_signal(s, list_first(&s->ready, struct store_node, link), fx);
}

static void wait_begin(struct store *s, struct store_conn *c, size_t count, uint64_t now_ms,
                       bool is_barrier)
{
    assert(!c->count);
    c->nodes = count == 1 ? &c->one : mem_alloc(count, sizeof *c->nodes);
    if (count > 1)
        s->wait_bytes += count * sizeof *c->nodes;
    c->count = count;
    c->since_ms = now_ms;
    c->is_barrier = is_barrier;
    list_push(&s->waiting, &c->link);
}

static void wait_add(struct store_conn *c, struct entry *e, struct list *list)
{
    struct store_node *node = &c->nodes[c->missing++];
    node->entry = e;
    node->conn = c;
    list_push(list, &node->link);
    e->nodes++;
}

/* ---- queries */

/* What every query handler gets. */
struct call {
    struct store *s;
    struct store_conn *conn;
    const struct wire_request *request;
    struct store_effects *fx;
    uint64_t now_ms;
};

static struct str field(const struct wire_field *f)
{
    return (struct str){f->p, f->n};
}

static struct str first_key(const struct call *k)
{
    return field(&k->request->items[0].key);
}

static struct entry *first_entry(const struct call *k)
{
    return table_find(&k->s->table, first_key(k));
}

static void store_value(struct store *s, struct entry *e, const struct wire_field *value)
{
    entry_set_bytes(&s->table, e, value->p, value->n, value->blob);
    make_ready(s, &e->waiters);
}

static void do_set(const struct call *k)
{
    for (size_t i = 0; i < k->request->count; i++)
        store_value(k->s, table_get(&k->s->table, field(&k->request->items[i].key)),
                    &k->request->items[i].value);
}

static void do_append(const struct call *k)
{
    const struct wire_item *item = &k->request->items[0];
    struct entry *e = table_get(&k->s->table, field(&item->key));
    entry_append(&k->s->table, e, item->value.p, item->value.n);
    make_ready(k->s, &e->waiters);
}

static void do_compare_set(const struct call *k)
{
    const struct wire_item *item = &k->request->items[0];
    struct str expected = field(&item->value);
    struct entry *e = first_entry(k);
    bool exists = e && e->kind != ENTRY_ABSENT;
    char text[ENTRY_NUMBER_MAX];
    struct str now = exists ? entry_value(e, text) : (struct str){"", 0};
    if (now.n == expected.n && memcmp(now.p, expected.p, now.n) == 0) {
        e = e ? e : table_get(&k->s->table, first_key(k));
        store_value(k->s, e, &item->desired);
    } else if (!exists) {
        reply_vec(k->fx, k->conn, expected, item->value.blob);
        return;
    }
    reply_value(k->fx, k->conn, e);
}

static void do_get(const struct call *k)
{
    for (size_t i = 0; i < k->request->count; i++)
        reply_value(k->fx, k->conn, table_find(&k->s->table, field(&k->request->items[i].key)));
}

/* Adds to a counter and wakes those that waited for it to exist; NULL after a refusal. */
static struct entry *count_up(const struct call *k, int64_t delta)
{
    int64_t v = 0;
    struct entry *e = table_get(&k->s->table, first_key(k));
    if (entry_number(e, &v) != 0) {
        refuse(k->fx, k->conn, STORE_REFUSED_NOT_NUMBER, first_key(k));
        return NULL;
    }
    entry_set_number(&k->s->table, e, (int64_t)((uint64_t)v + (uint64_t)delta));
    make_ready(k->s, &e->waiters);
    return e;
}

static void do_add(const struct call *k)
{
    struct entry *e = count_up(k, k->request->number);
    if (!e)
        return;
    reply_i64(k->fx, k->conn, e->number);
    if (!k->conn->has_joined && str_eq(first_key(k), "init/")) {
        k->conn->has_joined = true;
        k->s->joined++;
    }
}

static void do_barrier(const struct call *k)
{
    struct entry *e = count_up(k, 1);
    if (!e)
        return;
    if (e->number >= k->request->number) {
        reply_byte(k->fx, k->conn, WIRE_STOP_WAITING);
        make_ready(k->s, &e->parked);
        return;
    }
    wait_begin(k->s, k->conn, 1, k->now_ms, true);
    wait_add(k->conn, e, &e->parked);
}

static bool is_present(const struct store *s, const struct wire_field *key)
{
    const struct entry *e = table_find(&s->table, field(key));
    return e && entry_is_present(e);
}

static size_t first_missing(const struct call *k)
{
    size_t i = 0;
    while (i < k->request->count && is_present(k->s, &k->request->items[i].key))
        i++;
    return i;
}

static void do_check(const struct call *k)
{
    reply_byte(k->fx, k->conn, first_missing(k) == k->request->count ? 0 : 1);
}

static void do_wait(const struct call *k)
{
    size_t first = first_missing(k), n = k->request->count;
    if (first == n) {
        reply_byte(k->fx, k->conn, WIRE_STOP_WAITING);
        return;
    }
    wait_begin(k->s, k->conn, n - first, k->now_ms, false);
    for (size_t i = first; i < n; i++) {
        struct entry *e = table_get(&k->s->table, field(&k->request->items[i].key));
        if (!entry_is_present(e))
            wait_add(k->conn, e, &e->waiters);
    }
}

static void do_delete(const struct call *k)
{
    struct entry *e = first_entry(k);
    bool exists = e && e->kind != ENTRY_ABSENT;
    if (exists) {
        entry_clear(&k->s->table, e);
        table_release(&k->s->table, e);
    }
    reply_i64(k->fx, k->conn, exists);
}

static void do_list_keys(const struct call *k)
{
    const struct table *t = &k->s->table;
    reply_i64(k->fx, k->conn, (int64_t)t->keys);
    for (size_t i = 0; i < t->size; i++)
        for (const struct entry *e = t->buckets[i]; e; e = e->next)
            if (e->kind != ENTRY_ABSENT)
                reply_vec(k->fx, k->conn, (struct str){e->key, e->key_len}, NULL);
}

static void do_push(const struct call *k)
{
    const struct wire_field *value = &k->request->items[0].value;
    struct entry *e = table_get(&k->s->table, first_key(k));
    entry_push(&k->s->table, e, value->p, value->n, value->blob);
    /* One waiter is woken; those before it that wait for more lose this key from their list. A
     * connection that named the key twice has its nodes side by side. */
    bool woken = false;
    while (!woken && !list_is_empty(&e->waiters)) {
        struct store_conn *c = list_first(&e->waiters, struct store_node, link)->conn;
        while (!woken && !list_is_empty(&e->waiters)) {
            struct store_node *node = list_first(&e->waiters, struct store_node, link);
            if (node->conn != c)
                break;
            woken = node_signal(k->s, node, k->fx);
        }
    }
}

static void do_pop(const struct call *k)
{
    struct entry *e = first_entry(k);
    reply_i64(k->fx, k->conn, e ? (int64_t)e->queued : 0);
    if (!e || !e->queued)
        return;
    struct blob *value = entry_pop(&k->s->table, e);
    reply_vec(k->fx, k->conn, (struct str){value->data, value->len}, value);
    blob_unref(value);
    table_release(&k->s->table, e);
}

static void do_queue_len(const struct call *k)
{
    const struct entry *e = first_entry(k);
    reply_i64(k->fx, k->conn, e ? (int64_t)e->queued : 0);
}

static void do_ping(const struct call *k)
{
    k->conn->nonce = (uint32_t)k->request->number;
    uint64_t le = wire_u64((const char *)&k->request->number);
    reply(k->fx, k->conn, &le, 4);
}

/* The most bytes that a request may add. */
static size_t request_bytes(const struct wire_request *r)
{
    size_t sum = 0;
    for (size_t i = 0; i < r->count; i++)
        sum +=
            sizeof(struct store_node)
            + table_entry_bytes(r->items[i].key.n, r->items[i].value.n + r->items[i].desired.n);
    return sum;
}

static bool is_growing(enum wire_query query)
{
    return query == WIRE_SET || query == WIRE_COMPARE_SET || query == WIRE_ADD
           || query == WIRE_WAIT || query == WIRE_APPEND || query == WIRE_MULTI_SET
           || query == WIRE_QUEUE_PUSH || query == WIRE_BARRIER;
}

static void do_request(const struct call *k)
{
    switch (k->request->query) {
    case WIRE_VALIDATE:
        break;
    case WIRE_SET:
    case WIRE_MULTI_SET:
        do_set(k);
        break;
    case WIRE_COMPARE_SET:
        do_compare_set(k);
        break;
    case WIRE_GET:
    case WIRE_MULTI_GET:
        do_get(k);
        break;
    case WIRE_ADD:
        do_add(k);
        break;
    case WIRE_CHECK:
        do_check(k);
        break;
    case WIRE_WAIT:
        do_wait(k);
        break;
    case WIRE_GETNUMKEYS:
        reply_i64(k->fx, k->conn, (int64_t)k->s->table.keys);
        break;
    case WIRE_DELETE_KEY:
        do_delete(k);
        break;
    case WIRE_APPEND:
        do_append(k);
        break;
    case WIRE_CANCEL_WAIT:
        reply_byte(k->fx, k->conn, WIRE_WAIT_CANCELED);
        break;
    case WIRE_PING:
        do_ping(k);
        break;
    case WIRE_QUEUE_PUSH:
        do_push(k);
        break;
    case WIRE_QUEUE_POP:
        do_pop(k);
        break;
    case WIRE_QUEUE_LEN:
        do_queue_len(k);
        break;
    case WIRE_LIST_KEYS:
        do_list_keys(k);
        break;
    case WIRE_BARRIER:
        do_barrier(k);
        break;
    case WIRE_QUERY_COUNT:
        assert(false);
    }
}

static void on_request(struct store *s, const struct store_event *ev, struct store_effects *fx)
{
    struct call k = {s, ev->conn, ev->request, fx, ev->now_ms};
    assert(!ev->conn->is_closed);
    if (ev->conn->count)
        wait_end(s, ev->conn);
    if (is_growing(ev->request->query)
        && store_bytes(s) + request_bytes(ev->request) > s->max_bytes) {
        refuse(fx, ev->conn, STORE_REFUSED_FULL,
               ev->request->count ? first_key(&k) : (struct str){"", 0});
        return;
    }
    bool was_ready = store_has_ready(s);
    do_request(&k);
    if (!was_ready && store_has_ready(s))
        wake_slice(s, fx);
}

void store_step(struct store *s, const struct store_event *ev, struct store_effects *out)
{
    switch (ev->kind) {
    case STORE_EV_BEGUN:
        if (ev->conn->count)
            wait_end(s, ev->conn);
        break;
    case STORE_EV_REQUEST:
        on_request(s, ev, out);
        break;
    case STORE_EV_CLOSED:
        if (ev->conn->count)
            wait_end(s, ev->conn);
        s->joined -= ev->conn->has_joined;
        ev->conn->has_joined = false;
        ev->conn->is_closed = true;
        break;
    case STORE_EV_TURN:
        wake_slice(s, out);
        break;
    }
}

/* ---- life and questions */

struct store *store_new(const uint8_t seed[16], size_t max_bytes)
{
    struct store *s = mem_alloc(1, sizeof *s);
    table_init(&s->table, seed);
    list_init(&s->ready);
    list_init(&s->waiting);
    s->max_bytes = max_bytes;
    return s;
}

void store_free(struct store *s)
{
    if (!s)
        return;
    while (!list_is_empty(&s->waiting))
        wait_end(s, list_first(&s->waiting, struct store_conn, link));
    table_fini(&s->table);
    free(s);
}

bool store_has_ready(const struct store *s)
{
    return !list_is_empty(&s->ready);
}

size_t store_keys(const struct store *s)
{
    return s->table.keys;
}

size_t store_bytes(const struct store *s)
{
    return s->table.bytes + s->wait_bytes;
}

static_assert((int)STORE_NUMBER_MAX == (int)ENTRY_NUMBER_MAX, "one size of numbers as text");

bool store_find(const struct store *s, struct str key, char text[STORE_NUMBER_MAX],
                struct str *value)
{
    const struct entry *e = table_find(&s->table, key);
    if (!e || e->kind == ENTRY_ABSENT)
        return false;
    *value = entry_value(e, text);
    return true;
}

size_t store_joined(const struct store *s)
{
    return s->joined;
}

void store_each_wait(const struct store *s,
                     bool (*fn)(void *ctx, const struct store_conn *c, struct str key),
                     void *ctx)
{
    for (const struct list *l = s->waiting.next; l != &s->waiting; l = l->next) {
        const struct store_conn *c =
            (const struct store_conn *)((const char *)l - offsetof(struct store_conn, link));
        size_t i = 0;
        while (!c->nodes[i].entry)
            i++;
        const struct entry *e = c->nodes[i].entry;
        if (!fn(ctx, c, (struct str){e->key, e->key_len}))
            return;
    }
}
