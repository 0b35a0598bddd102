/* count_store REQUESTS - requests of every kind through the decoder and the store, and their
 * answers, without sockets. For callgrind, which counts what serve_all executes
 * (--toggle-collect=serve_all); tests/bench/counts.sh compares. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rendezvous/store.h"
#include "rendezvous/tcpstore_wire.h"

enum { KEYS = 64, VALUE = 64, MAX_BYTES = 1 << 30, ANSWERS = 32 };

/* One request of each kind: SET, GET, ADD, WAIT, COMPARE_SET. */
static void add_five(struct buf *b, unsigned number)
{
    static const char value[VALUE];
    char key[32], counter[32];
    snprintf(key, sizeof key, "/default_pg/0//key%u", number % KEYS);
    snprintf(counter, sizeof counter, "/default_pg/0//count%u", number % KEYS);
    wire_add_query(b, WIRE_SET);
    wire_add_bytes(b, key, strlen(key));
    wire_add_bytes(b, value, VALUE);
    wire_add_query(b, WIRE_GET);
    wire_add_bytes(b, key, strlen(key));
    wire_add_query(b, WIRE_ADD);
    wire_add_bytes(b, counter, strlen(counter));
    wire_add_i64(b, 1);
    wire_add_query(b, WIRE_WAIT);
    buf_add_u64le(b, 1);
    wire_add_bytes(b, key, strlen(key));
    wire_add_query(b, WIRE_COMPARE_SET);
    wire_add_bytes(b, key, strlen(key));
    wire_add_bytes(b, value, VALUE);
    wire_add_bytes(b, value, VALUE);
}

/* How many requests there were. */
static __attribute__((noinline)) unsigned serve_all(struct store *s, struct wire_decoder *d,
                                                    struct store_conn *c, struct str in,
                                                    struct store_effects *fx)
{
    unsigned n = 0;
    struct store_event ev = {.conn = c};
    for (;;) {
        enum wire_event what = wire_decode(d, &in, &ev.request);
        if (what != WIRE_BEGUN && what != WIRE_REQUEST)
            return n;
        ev.kind = what == WIRE_BEGUN ? STORE_EV_BEGUN : STORE_EV_REQUEST;
        store_step(s, &ev, fx);
        n += what == WIRE_REQUEST;
        if (fx->count >= ANSWERS)
            store_effects_reset(fx);
    }
}

int main(int argc, char **argv)
{
    unsigned wanted = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    unsigned char seed[16] = {0};
    struct wire_limits limits = wire_limits_default();
    struct store *s = store_new(seed, MAX_BYTES);
    struct store_effects fx;
    struct wire_decoder d;
    struct store_conn c;
    struct buf in;
    store_effects_init(&fx);
    store_conn_init(&c);
    wire_decoder_init(&d, WIRE_MODERN, &limits);
    buf_init(&in, 0);
    wire_add_validate(&in);
    for (unsigned i = 0; i < wanted / 5; i++)
        add_five(&in, i);
    unsigned n = serve_all(s, &d, &c, (struct str){in.data, in.len}, &fx);
    printf("%u requests\n", n);
    store_step(s, &(struct store_event){.kind = STORE_EV_CLOSED, .conn = &c}, &fx);
    store_effects_fini(&fx);
    wire_decoder_fini(&d);
    store_free(s);
    buf_fini(&in);
    return n > wanted && n <= wanted + 1 ? 0 : 1; /* one is VALIDATE */
}
