/* What the recorded conversations do not reach: slices of wake-ups, limits, cleaning up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "rendezvous/store.h"

struct fixture {
    struct store *store;
    struct store_effects fx;
};

static struct fixture make(size_t max_bytes)
{
    static const uint8_t seed[16] = {9};
    struct fixture f = {.store = store_new(seed, max_bytes)};
    store_effects_init(&f.fx);
    return f;
}

static void drop(struct fixture *f)
{
    store_effects_fini(&f->fx);
    store_free(f->store);
}

static void ask(struct fixture *f, struct store_conn *c, enum wire_query query,
                struct wire_item *items, size_t count, int64_t number)
{
    struct wire_request r = {.query = query, .number = number, .count = count, .items = items};
    store_effects_reset(&f->fx);
    store_step(f->store, &(struct store_event){.kind = STORE_EV_BEGUN, .conn = c}, &f->fx);
    store_step(f->store,
               &(struct store_event){.kind = STORE_EV_REQUEST, .conn = c, .request = &r},
               &f->fx);
}

static struct wire_item item(const char *key, const char *value)
{
    return (struct wire_item){.key = {.p = key, .n = strlen(key)},
                              .value = {.p = value, .n = strlen(value)},
                              .desired = {.p = "", .n = 0}};
}

static void ask1(struct fixture *f, struct store_conn *c, enum wire_query query,
                 const char *key, const char *value, int64_t number)
{
    struct wire_item one = item(key, value);
    ask(f, c, query, &one, 1, number);
}

static void end(struct fixture *f, struct store_conn *c)
{
    store_step(f->store, &(struct store_event){.kind = STORE_EV_CLOSED, .conn = c}, &f->fx);
}

static size_t turns_until_awake(struct fixture *f)
{
    size_t turns = 0;
    while (store_has_ready(f->store)) {
        store_effects_reset(&f->fx);
        store_step(f->store, &(struct store_event){.kind = STORE_EV_TURN}, &f->fx);
        assert_true(f->fx.count <= STORE_WAKE_SLICE);
        turns++;
    }
    return turns;
}

static void herd_is_woken_in_slices(void **state)
{
    enum { N = 5000 };
    struct fixture f = make(1 << 30);
    struct store_conn *c = mem_alloc(N, sizeof *c), setter;
    (void)state;
    store_conn_init(&setter);
    for (int i = 0; i < N; i++) {
        store_conn_init(&c[i]);
        ask1(&f, &c[i], WIRE_WAIT, "/go", "", 0);
    }
    ask1(&f, &setter, WIRE_SET, "/go", "1", 0);
    assert_int_equal(f.fx.count, STORE_WAKE_SLICE);
    assert_ptr_equal(f.fx.items[0].conn, &c[0]); /* the oldest first */
    assert_true(store_has_ready(f.store));
    /* One that has not been told yet gives up: only its cancel is answered. */
    ask(&f, &c[N - 1], WIRE_CANCEL_WAIT, NULL, 0, 0);
    assert_int_equal(f.fx.count, 1);
    assert_int_equal(f.fx.bytes.data[f.fx.items[0].at], WIRE_WAIT_CANCELED);
    /* The key may go meanwhile, and a connection too. */
    ask1(&f, &setter, WIRE_DELETE_KEY, "/go", "", 0);
    end(&f, &c[N - 2]);
    assert_int_equal(turns_until_awake(&f), 4);
    for (int i = 0; i < N; i++)
        assert_int_equal(c[i].count, 0);
    assert_int_equal(store_bytes(f.store), 0);
    free(c);
    drop(&f);
}

/* A request that was there at once, which nothing announced. */
static void request_ends_the_wait_before_it(void **state)
{
    struct fixture f = make(1 << 20);
    struct store_conn c;
    struct wire_request r = {.query = WIRE_GETNUMKEYS};
    (void)state;
    store_conn_init(&c);
    ask1(&f, &c, WIRE_WAIT, "/never", "", 0);
    assert_int_equal(c.missing, 1);
    store_step(f.store,
               &(struct store_event){.kind = STORE_EV_REQUEST, .conn = &c, .request = &r},
               &f.fx);
    assert_int_equal(c.missing, 0);
    ask1(&f, &c, WIRE_SET, "/never", "1", 0);
    assert_int_equal(f.fx.count, 0);
    end(&f, &c);
    drop(&f);
}

static void set_during_a_slice_waits_its_turn(void **state)
{
    enum { N = 2000 };
    struct fixture f = make(1 << 30);
    struct store_conn *c = mem_alloc(N, sizeof *c), setter, late;
    (void)state;
    store_conn_init(&setter);
    store_conn_init(&late);
    for (int i = 0; i < N; i++) {
        store_conn_init(&c[i]);
        ask1(&f, &c[i], WIRE_BARRIER, "/b", "", N + 1);
    }
    ask1(&f, &late, WIRE_WAIT, "/late", "", 0);
    ask1(&f, &setter, WIRE_BARRIER, "/b", "", N + 1);
    assert_int_equal(f.fx.count, 1 + STORE_WAKE_SLICE);
    ask1(&f, &setter, WIRE_SET, "/late", "", 0);
    assert_int_equal(f.fx.count, 0);
    assert_int_equal(turns_until_awake(&f), 1);
    assert_int_equal(late.count, 0);
    free(c);
    drop(&f);
}

static void full_store_refuses(void **state)
{
    struct fixture f = make(4096);
    struct store_conn c;
    char big[3001];
    (void)state;
    memset(big, 'x', 3000);
    big[3000] = '\0';
    store_conn_init(&c);
    ask1(&f, &c, WIRE_SET, "/a", big, 0);
    assert_int_equal(f.fx.count, 0);
    ask1(&f, &c, WIRE_SET, "/b", big, 0);
    assert_int_equal(f.fx.count, 1);
    assert_int_equal(f.fx.items[0].kind, STORE_FX_CLOSE);
    assert_int_equal(f.fx.items[0].why, STORE_REFUSED_FULL);
    ask1(&f, &c, WIRE_GET, "/a", "", 0); /* what does not grow it goes on */
    assert_int_equal(f.fx.items[1].kind, STORE_FX_BLOB);
    ask1(&f, &c, WIRE_DELETE_KEY, "/a", "", 0);
    assert_int_equal(store_bytes(f.store), 0);
    ask1(&f, &c, WIRE_SET, "/b", big, 0);
    assert_int_equal(f.fx.count, 0);
    drop(&f);
}

static void waits_cost_and_are_given_back(void **state)
{
    struct fixture f = make(1 << 20);
    struct store_conn c;
    struct wire_item items[3] = {item("/x", ""), item("/y", ""), item("/x", "")};
    (void)state;
    store_conn_init(&c);
    ask(&f, &c, WIRE_WAIT, items, 3, 0);
    assert_true(store_bytes(f.store) > 0);
    assert_int_equal(store_keys(f.store), 0);
    end(&f, &c);
    assert_int_equal(store_bytes(f.store), 0);
    drop(&f);
}

static void push_strikes_a_key_named_twice(void **state)
{
    struct fixture f = make(1 << 20);
    struct store_conn twice, pusher;
    struct wire_item items[2] = {item("/q", ""), item("/q", "")};
    (void)state;
    store_conn_init(&twice);
    store_conn_init(&pusher);
    ask(&f, &twice, WIRE_WAIT, items, 2, 0);
    ask1(&f, &pusher, WIRE_QUEUE_PUSH, "/q", "v", 0);
    assert_int_equal(f.fx.count, 1);
    assert_ptr_equal(f.fx.items[0].conn, &twice);
    drop(&f);
}

static void joined_counts_live_connections(void **state)
{
    struct fixture f = make(1 << 20);
    struct store_conn a, b;
    (void)state;
    store_conn_init(&a);
    store_conn_init(&b);
    ask1(&f, &a, WIRE_ADD, "init/", "", 1);
    ask1(&f, &a, WIRE_ADD, "init/", "", 0);
    ask1(&f, &b, WIRE_ADD, "/n", "", 1);
    assert_int_equal(store_joined(f.store), 1);
    end(&f, &a);
    assert_int_equal(store_joined(f.store), 0);
    drop(&f);
}

static void values_are_found_from_outside(void **state)
{
    (void)state;
    struct fixture f = make(1 << 20);
    struct store_conn c;
    char text[STORE_NUMBER_MAX];
    struct str value;
    store_conn_init(&c);
    ask1(&f, &c, WIRE_SET, "mw/result", "{}", 0);
    ask1(&f, &c, WIRE_ADD, "count", "", 42);
    assert_true(store_find(f.store, STR_LIT("mw/result"), text, &value));
    assert_true(str_eq(value, "{}"));
    assert_true(store_find(f.store, STR_LIT("count"), text, &value));
    assert_true(str_eq(value, "42"));
    assert_false(store_find(f.store, STR_LIT("mw"), text, &value));
    end(&f, &c);
    drop(&f);
}

static void append_is_linear_and_spares_a_sent_value(void **state)
{
    struct fixture f = make(1 << 20);
    struct store_conn c;
    char part[301];
    (void)state;
    memset(part, 'p', 300);
    part[300] = '\0';
    store_conn_init(&c);
    ask1(&f, &c, WIRE_APPEND, "/a", part, 0);
    ask1(&f, &c, WIRE_GET, "/a", "", 0);
    struct blob *sent = blob_ref(f.fx.items[1].blob);
    ask1(&f, &c, WIRE_APPEND, "/a", "more", 0);
    assert_int_equal(sent->len, 300);
    blob_unref(sent);
    ask1(&f, &c, WIRE_GET, "/a", "", 0);
    assert_int_equal(f.fx.items[1].blob->len, 304);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(herd_is_woken_in_slices),
        cmocka_unit_test(request_ends_the_wait_before_it),
        cmocka_unit_test(set_during_a_slice_waits_its_turn),
        cmocka_unit_test(full_store_refuses),
        cmocka_unit_test(waits_cost_and_are_given_back),
        cmocka_unit_test(push_strikes_a_key_named_twice),
        cmocka_unit_test(joined_counts_live_connections),
        cmocka_unit_test(values_are_found_from_outside),
        cmocka_unit_test(append_is_linear_and_spares_a_sent_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
