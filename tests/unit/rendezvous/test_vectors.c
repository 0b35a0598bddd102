/* All recorded conversations against decoder and store alone, in three chunkings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "rendezvous/store.h"
#include "transcript.h"

struct conn {
    struct store_conn wait; /* first: effects name it */
    struct wire_decoder decoder;
    struct buf prefix, out;
    size_t read;
    bool is_open, is_known;
};

struct world {
    struct store *store;
    struct store_effects fx;
    struct wire_limits limits;
    struct conn conns[TRANSCRIPT_CONNS];
};

static void end_conn(struct world *w, struct conn *c)
{
    if (!c->is_open)
        return;
    struct store_event ev = {.kind = STORE_EV_CLOSED, .conn = &c->wait};
    store_step(w->store, &ev, &w->fx);
    if (c->is_known)
        wire_decoder_fini(&c->decoder);
    c->is_open = c->is_known = false;
}

static void apply(struct world *w)
{
    for (size_t i = 0; i < w->fx.count; i++) {
        struct store_effect *item = &w->fx.items[i];
        struct conn *c = (struct conn *)item->conn;
        switch (item->kind) {
        case STORE_FX_BYTES:
            buf_add(&c->out, w->fx.bytes.data + item->at, item->len);
            break;
        case STORE_FX_BLOB:
            buf_add(&c->out, item->blob->data, item->blob->len);
            break;
        case STORE_FX_CLOSE:
            end_conn(w, c);
            break;
        }
    }
    store_effects_reset(&w->fx);
}

static void step(struct world *w, struct store_event ev)
{
    store_step(w->store, &ev, &w->fx);
    apply(w);
    while (store_has_ready(w->store)) {
        store_step(w->store, &(struct store_event){.kind = STORE_EV_TURN}, &w->fx);
        apply(w);
    }
}

static void decode(struct world *w, struct conn *c, struct str in)
{
    const struct wire_request *r;
    while (c->is_open) {
        switch (wire_decode(&c->decoder, &in, &r)) {
        case WIRE_MORE:
            return;
        case WIRE_BEGUN:
            step(w, (struct store_event){.kind = STORE_EV_BEGUN, .conn = &c->wait});
            break;
        case WIRE_REQUEST:
            step(w, (struct store_event){
                        .kind = STORE_EV_REQUEST, .conn = &c->wait, .request = r});
            break;
        case WIRE_BAD:
            end_conn(w, c);
            break;
        }
    }
}

static void on_send(void *ctx, unsigned number, const void *p, size_t n)
{
    struct world *w = ctx;
    struct conn *c = &w->conns[number];
    if (!c->is_open)
        return;
    /* A copy of its own size: reading past it, or keeping it, is a bug that ASan sees. */
    char *copy = mem_dup(p, n);
    if (c->is_known) {
        decode(w, c, (struct str){copy, n});
        free(copy);
        return;
    }
    buf_add(&c->prefix, copy, n);
    free(copy);
    enum wire_reason why;
    enum wire_client who = wire_detect(c->prefix.data, c->prefix.len, &w->limits, true, &why);
    if (who == WIRE_CLIENT_UNDECIDED)
        return;
    if (who == WIRE_CLIENT_REFUSED || who == WIRE_CLIENT_LINK) {
        end_conn(w, c);
        return;
    }
    c->is_known = true;
    wire_decoder_init(&c->decoder, who == WIRE_CLIENT_MODERN ? WIRE_MODERN : WIRE_LEGACY,
                      &w->limits);
    decode(w, c, (struct str){c->prefix.data, c->prefix.len});
}

static void on_open(void *ctx, unsigned number)
{
    struct conn *c = &((struct world *)ctx)->conns[number];
    assert_false(c->is_open);
    store_conn_init(&c->wait);
    buf_reset(&c->prefix);
    buf_reset(&c->out);
    c->read = 0;
    c->is_open = true;
}

static void on_close(void *ctx, unsigned number)
{
    end_conn(ctx, &((struct world *)ctx)->conns[number]);
}

static struct store *new_store(void)
{
    static const uint8_t seed[16] = {1, 2, 3};
    return store_new(seed, (size_t)1 << 30);
}

static void on_generation(void *ctx)
{
    struct world *w = ctx;
    for (unsigned i = 0; i < TRANSCRIPT_CONNS; i++)
        end_conn(w, &w->conns[i]);
    store_free(w->store);
    w->store = new_store();
}

static void on_settle(void *ctx)
{
    (void)ctx;
}

static bool on_receive(void *ctx, unsigned number, void *p, size_t n)
{
    struct conn *c = &((struct world *)ctx)->conns[number];
    if (c->out.len - c->read < n)
        return false;
    memcpy(p, c->out.data + c->read, n);
    c->read += n;
    return true;
}

static bool is_quiet(void *ctx, unsigned number)
{
    struct conn *c = &((struct world *)ctx)->conns[number];
    return c->is_open && c->read == c->out.len;
}

static bool is_ended(void *ctx, unsigned number)
{
    struct conn *c = &((struct world *)ctx)->conns[number];
    return !c->is_open && c->read == c->out.len;
}

static const struct transcript_server server = {
    .open = on_open,
    .send = on_send,
    .half_close = on_close,
    .close = on_close,
    .generation = on_generation,
    .settle = on_settle,
    .receive = on_receive,
    .is_quiet = is_quiet,
    .is_ended = is_ended,
};

static void play(void *ctx, const char *path)
{
    for (int cut = 0; cut < CUT_COUNT; cut++) {
        struct world *w = mem_alloc(1, sizeof *w);
        w->store = new_store();
        w->limits = wire_limits_default();
        store_effects_init(&w->fx);
        if (!transcript_play(path, (enum transcript_cut)cut, &server, w))
            ++*(int *)ctx;
        on_generation(w);
        store_free(w->store);
        store_effects_fini(&w->fx);
        for (unsigned i = 0; i < TRANSCRIPT_CONNS; i++) {
            buf_fini(&w->conns[i].prefix);
            buf_fini(&w->conns[i].out);
        }
        free(w);
    }
}

static void all_vectors(void **state)
{
    (void)state;
    int failed = 0;
    assert_int_equal(transcript_each(TESTS_DIR "/vectors/tcpstore", play, &failed), 61);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_vectors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
