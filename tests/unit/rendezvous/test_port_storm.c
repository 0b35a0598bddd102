/* Many clients at once that pipeline requests, stop in the middle of them, do not read, and end
 * in every way, of which the server hears in one round. Each run does the same; what is looked
 * for is memory (AddressSanitizer), what is left in the store, and whether a client that
 * behaves is answered throughout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "live_server.h"
#include "raw_client.h"

enum {
    CLIENTS = 24,
    ROUNDS = 1000,
    ACTS_MAX = 12,    /* in one round */
    KEYS = 5,         /* that most requests are about, */
    RARE_KEYS = 2000, /* and that few have set */
    BIG = 300000,     /* more than the server gathers */
    SMALL = 64,       /* less than it copies */
    TURNS_MAX = 10000,
};

struct client {
    int fd; /* -1 = none */
    bool is_legacy, has_ended;
    struct buf due; /* said up to at */
    size_t at;
};

struct storm {
    uint64_t random;
    struct client clients[CLIENTS];
    char *big;
};

/* xorshift64* (Vigna): below n. */
static unsigned below(struct storm *s, unsigned n)
{
    s->random ^= s->random >> 12;
    s->random ^= s->random << 25;
    s->random ^= s->random >> 27;
    return (unsigned)((s->random * 2685821657736338717u) >> 33) % n;
}

static bool is_once_in(struct storm *s, unsigned n)
{
    return below(s, n) == 0;
}

/* ---- requests */

static void add_one_key(struct buf *b, unsigned number)
{
    char key[16];
    int n = snprintf(key, sizeof key, "/%u", number);
    wire_add_bytes(b, key, (size_t)n);
}

static void add_key(struct storm *s, struct buf *b)
{
    add_one_key(b, is_once_in(s, 3) ? below(s, RARE_KEYS) : below(s, KEYS));
}

static void add_value(struct storm *s, struct buf *b)
{
    switch (below(s, 4)) {
    case 0:
        wire_add_bytes(b, s->big, BIG);
        return;
    case 1:
        wire_add_bytes(b, s->big, below(s, 5000));
        return;
    case 2:
        wire_add_bytes(b, s->big, below(s, SMALL));
        return;
    default:
        wire_add_bytes(b, "7", 1);
    }
}

static void add_keys(struct storm *s, struct buf *b, bool with_values)
{
    unsigned n = is_once_in(s, 4) ? 40 : below(s, 4);
    wire_add_i64(b, n);
    for (unsigned i = 0; i < n; i++) {
        add_key(s, b);
        if (with_values)
            wire_add_bytes(b, s->big, below(s, SMALL));
    }
}

/* Fields of the queries of tcpstore_wire.h; 1.13 has other numbers for the first ones. */
static void add_request(struct storm *s, const struct client *c, struct buf *b)
{
    static const enum wire_query legacy[] = {
        WIRE_SET, WIRE_COMPARE_SET, WIRE_GET, WIRE_ADD, WIRE_CHECK, WIRE_WAIT, WIRE_GETNUMKEYS};
    unsigned number =
        below(s, c->is_legacy ? sizeof legacy / sizeof *legacy : WIRE_QUERY_COUNT);
    enum wire_query query = c->is_legacy ? legacy[number] : (enum wire_query)number;
    if (query == WIRE_VALIDATE || is_once_in(s, 3))
        query = WIRE_GET;
    buf_addc(b, c->is_legacy && query == WIRE_GET ? 2
                : c->is_legacy                    ? (char)number
                                                  : (char)query);
    switch (query) {
    case WIRE_SET:
    case WIRE_APPEND:
    case WIRE_QUEUE_PUSH:
        add_key(s, b);
        add_value(s, b);
        return;
    case WIRE_COMPARE_SET:
        add_key(s, b);
        wire_add_bytes(b, "7", below(s, 2));
        add_value(s, b);
        return;
    case WIRE_ADD:
    case WIRE_BARRIER:
        add_key(s, b);
        wire_add_i64(b, below(s, 4));
        return;
    case WIRE_CHECK:
    case WIRE_WAIT:
    case WIRE_MULTI_GET:
    case WIRE_MULTI_SET:
        add_keys(s, b, query == WIRE_MULTI_SET);
        return;
    case WIRE_GET:
    case WIRE_DELETE_KEY:
    case WIRE_QUEUE_POP:
    case WIRE_QUEUE_LEN:
        add_key(s, b);
        return;
    case WIRE_PING:
        buf_add_u32le(b, 1);
        return;
    case WIRE_GETNUMKEYS:
    case WIRE_CANCEL_WAIT:
    case WIRE_LIST_KEYS:
        return;
    case WIRE_VALIDATE:
    case WIRE_QUERY_COUNT:
        fail();
    }
}

/* Asks for much, then waits: what remains of a client whose end comes right after it. */
static void add_last_words(struct storm *s, const struct client *c, struct buf *b)
{
    for (unsigned key = 0; key < KEYS; key++) {
        buf_addc(b, c->is_legacy ? 2 : WIRE_GET);
        add_one_key(b, key);
    }
    buf_addc(b, c->is_legacy ? 5 : WIRE_WAIT);
    wire_add_i64(b, 1);
    add_one_key(b, below(s, RARE_KEYS));
}

/* ---- clients */

static void client_begin(struct storm *s, struct client *c, uint16_t port)
{
    static const char init[] = "\x03\x05\0\0\0\0\0\0\0init/\x01\0\0\0\0\0\0";
    c->fd = client_dial(port);
    c->is_legacy = is_once_in(s, 3);
    c->has_ended = false;
    if (c->is_legacy)
        buf_add(&c->due, init, sizeof init);
    else
        wire_add_validate(&c->due);
}

static void client_end(struct storm *s, struct client *c)
{
    if (c->fd < 0)
        return;
    if (is_once_in(s, 3))
        close(c->fd);
    else
        client_reset(c->fd);
    c->fd = -1;
    c->at = 0;
    buf_reset(&c->due);
}

/* All, or a part that ends anywhere; not more than the connection takes. */
static void client_speak(struct storm *s, struct client *c)
{
    size_t n = c->due.len - c->at;
    if (n && is_once_in(s, 3))
        n = 1 + below(s, (unsigned)n);
    ssize_t sent = n ? send(c->fd, c->due.data + c->at, n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
    c->at += sent > 0 ? (size_t)sent : 0;
    if (c->at < c->due.len)
        return;
    c->at = 0;
    buf_reset(&c->due);
}

static void client_listen(struct storm *s, struct client *c)
{
    char waste[65536];
    for (unsigned i = below(s, 64); i; i--)
        if (recv(c->fd, waste, sizeof waste, MSG_DONTWAIT) <= 0)
            return;
}

static void client_act(struct storm *s, struct client *c, uint16_t port)
{
    if (c->fd < 0)
        client_begin(s, c, port);
    for (unsigned i = below(s, 16); i && c->due.len < 4 * BIG; i--)
        add_request(s, c, &c->due);
    if (is_once_in(s, 4))
        add_last_words(s, c, &c->due);
    else if (is_once_in(s, 40))
        buf_addc(&c->due, '\x7f'); /* no query */
    if (!c->has_ended)
        client_speak(s, c);
    if (is_once_in(s, 2))
        client_listen(s, c);
    if (is_once_in(s, 4)) {
        client_end(s, c);
    } else if (is_once_in(s, 12)) {
        c->has_ended = true;
        shutdown(c->fd, SHUT_WR);
    }
}

/* On the server's thread: it hears of all of them in its next round. */
static void one_round(struct port *p, void *arg)
{
    struct storm *s = arg;
    for (unsigned i = below(s, ACTS_MAX); i; i--)
        client_act(s, &s->clients[below(s, CLIENTS)], port_number(p));
}

/* ---- a client that behaves */

static void behave(int fd, bool may_set)
{
    char answer[8];
    if (may_set)
        SAY(fd, "\x01\x05\0\0\0\0\0\0\0/mine\x01\0\0\0\0\0\0\0x\x03\x05\0\0\0\0\0\0\0/mine");
    else
        SAY(fd, "\x0dping\x0dpong");
    client_hear(fd, answer, sizeof answer);
    if (may_set)
        client_hear(fd, answer + 7, 1);
    assert_memory_equal(answer, may_set ? "\x01\0\0\0\0\0\0x" : "pingpong", 8);
}

/* ---- what is left */

static bool count_wait(void *ctx, const struct server_wait *wait)
{
    assert_true(wait->key.n > 0);
    ++*(size_t *)ctx;
    return true;
}

struct left {
    struct port_counts counts;
    size_t waits;
};

static void get_left(struct port *p, void *arg)
{
    struct left *left = arg;
    left->waits = 0;
    port_counts(p, &left->counts);
    port_each_wait(p, count_wait, &left->waits);
}

/* Nobody but the one that behaves. */
static void await_calm(struct live_server *server)
{
    struct left left = {.counts.connections = 2};
    for (int i = 0; i < TURNS_MAX && (left.counts.connections > 1 || left.counts.undecided);
         i++)
        live_server_call(server, get_left, &left);
    assert_int_equal(left.counts.connections, 1);
    assert_int_equal(left.counts.undecided, 0);
    assert_int_equal(left.counts.joined, 0);
    assert_int_equal(left.waits, 0);
}

static void storm(uint64_t seed, bool is_small)
{
    struct port_options opt = port_options_default();
    struct storm s = {.random = seed, .big = malloc(BIG)};
    struct left left;
    opt.max_unsent = 1 << 16;
    opt.max_bytes = is_small ? 1 << 20 : opt.max_bytes;
    memset(s.big, 'x', BIG);
    struct live_server *server = live_server_start(&opt);
    int fd = client_join(live_server_port(server));
    for (int i = 0; i < CLIENTS; i++)
        s.clients[i].fd = -1;
    for (int round = 0; round < ROUNDS; round++) {
        live_server_call(server, one_round, &s);
        behave(fd, !is_small);
        live_server_call(server, get_left, &left);
        if (round % 100 == 99) {
            live_server_generation(server);
            client_hear_end(fd);
            fd = client_join(live_server_port(server));
        }
    }
    for (int i = 0; i < CLIENTS; i++) {
        client_end(&s, &s.clients[i]);
        buf_fini(&s.clients[i].due);
    }
    await_calm(server);
    behave(fd, !is_small);
    close(fd);
    live_server_stop(server);
    free(s.big);
}

static void clients_that_end_anyhow(void **state)
{
    (void)state;
    storm(1, false);
}

static void clients_that_end_anyhow_and_a_full_store(void **state)
{
    (void)state;
    storm(2, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_that_end_anyhow),
        cmocka_unit_test(clients_that_end_anyhow_and_a_full_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
