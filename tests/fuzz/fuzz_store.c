/* Eight connections in any order: each record is (connection and kind, length, bytes). Holds
 * the store to its invariants: nobody waits for what is there, a closed connection hears
 * nothing, an empty store has no bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rendezvous/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CONNS = 8 };

struct conn {
    struct store_conn wait; /* first: effects name it */
    struct wire_decoder decoder;
    bool is_open;
};

struct world {
    struct store *store;
    struct store_effects fx;
    struct conn conns[CONNS];
};

static const struct wire_limits limits = {
    .max_key = 300, .max_value = 5000, .max_keys = 64, .max_request = 20000};

static void close_conn(struct world *w, struct conn *c)
{
    if (!c->is_open)
        return;
    c->is_open = false;
    store_step(w->store, &(struct store_event){.kind = STORE_EV_CLOSED, .conn = &c->wait},
               &w->fx);
    wire_decoder_fini(&c->decoder);
}

static void apply(struct world *w)
{
    for (size_t i = 0; i < w->fx.count; i++) {
        struct conn *c = (struct conn *)w->fx.items[i].conn;
        if (!c->is_open)
            abort();
        if (w->fx.items[i].kind == STORE_FX_CLOSE)
            close_conn(w, c);
    }
    store_effects_reset(&w->fx);
}

static void feed(struct world *w, struct conn *c, const uint8_t *data, size_t size)
{
    struct str in = {(const char *)data, size};
    while (c->is_open) {
        struct store_event ev = {.conn = &c->wait};
        enum wire_event got = wire_decode(&c->decoder, &in, &ev.request);
        if (got == WIRE_MORE)
            return;
        if (got == WIRE_BAD) {
            close_conn(w, c);
            return;
        }
        ev.kind = got == WIRE_BEGUN ? STORE_EV_BEGUN : STORE_EV_REQUEST;
        store_step(w->store, &ev, &w->fx);
        apply(w);
    }
}

static bool count_wait(void *ctx, const struct store_conn *c, struct str key)
{
    if (!c->missing || !c->count || key.n > limits.max_key)
        abort();
    ++*(size_t *)ctx;
    return true;
}

static void record(struct world *w, uint8_t head, const uint8_t *data, size_t size)
{
    struct conn *c = &w->conns[head % CONNS];
    if (!c->is_open) {
        store_conn_init(&c->wait);
        wire_decoder_init(&c->decoder, head & 64 ? WIRE_LEGACY : WIRE_MODERN, &limits);
        static const uint8_t validate[] = {0, 0xce, 0xf7, 0x85, 0x3c};
        c->is_open = true;
        if (!(head & 64))
            feed(w, c, validate, sizeof validate);
    }
    if (head & 8)
        feed(w, c, data, size);
    else if ((head >> 4) % 4 == 0)
        close_conn(w, c);
    else if ((head >> 4) % 4 == 1)
        store_step(w->store, &(struct store_event){.kind = STORE_EV_TURN}, &w->fx);
    else
        feed(w, c, data, size);
    apply(w);
    size_t waits = 0, waiting = 0;
    store_each_wait(w->store, count_wait, &waits);
    for (int i = 0; i < CONNS; i++)
        waiting += w->conns[i].is_open && w->conns[i].wait.count;
    if (waits != waiting)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t seed[16] = {7};
    struct world w = {.store = store_new(seed, 100000)};
    store_effects_init(&w.fx);
    for (size_t at = 0; at + 2 <= size;) {
        size_t n = data[at + 1];
        if (n > size - at - 2)
            n = size - at - 2;
        record(&w, data[at], data + at + 2, n);
        at += 2 + n;
    }
    for (int i = 0; i < CONNS; i++)
        close_conn(&w, &w.conns[i]);
    apply(&w);
    if (store_joined(w.store) || (!store_keys(w.store) && store_has_ready(w.store)))
        abort();
    store_free(w.store);
    store_effects_fini(&w.fx);
    return 0;
}
