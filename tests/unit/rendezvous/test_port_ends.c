/* Connections that end while the server serves them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <unistd.h>

#include "live_server.h"
#include "raw_client.h"

enum { BIG = 400000, TURNS_MAX = 10000 };

#define KEY(text, n) n "\0\0\0\0\0\0\0" text
#define GET_BIG "\x03" KEY("k", "\x01")
#define WAIT_NEVER "\x06\x01\0\0\0\0\0\0\0" KEY("never", "\x05")
#define SET_NEVER "\x01" KEY("never", "\x05") KEY("y", "\x01")
#define SET_OTHER "\x01" KEY("other", "\x05") KEY("y", "\x01")
#define ADD_BIG "\x04" KEY("k", "\x01") "\x01\0\0\0\0\0\0\0"
#define PING "\x0dping"

struct seen {
    atomic_int notes[SERVER_NOTE_COUNT];
};

static void on_note(void *ctx, const struct server_note *note)
{
    struct seen *seen = ctx;
    atomic_fetch_add(&seen->notes[note->kind], 1);
}

static void ping(int fd)
{
    char pong[4];
    SAY(fd, PING);
    client_hear(fd, pong, sizeof pong);
    assert_memory_equal(pong, "ping", 4);
}

/* A client that stays. The value of k is more than the server gathers before it sends. */
static int join_and_set(uint16_t port)
{
    int fd = client_join(port);
    char *big = malloc(BIG);
    memset(big, 'x', BIG);
    SAY(fd, "\x01" KEY("k", "\x01") "\x80\x1a\x06\0\0\0\0\0");
    client_say(fd, big, BIG);
    free(big);
    ping(fd);
    return fd;
}

static bool count_wait(void *ctx, const struct server_wait *wait)
{
    (void)wait;
    ++*(size_t *)ctx;
    return true;
}

static void get_waits(struct port *p, void *arg)
{
    port_each_wait(p, count_wait, arg);
}

static void get_connections(struct port *p, void *arg)
{
    struct port_counts counts;
    port_counts(p, &counts);
    *(size_t *)arg = counts.connections;
}

static void await_connections(struct live_server *s, size_t n)
{
    size_t now = n + 1;
    for (int i = 0; i < TURNS_MAX && now != n; i++)
        live_server_call(s, get_connections, &now);
    assert_int_equal(now, n);
}

struct scene {
    int dying, staying;
    const char *last;
    size_t n;
};

/* On the server's thread, so that the bytes and the end of a client lie there before it reads,
 * and another one's behind them. */
static void speak_and_reset(struct port *p, void *arg)
{
    const struct scene *scene = arg;
    (void)p;
    client_say(scene->dying, scene->last, scene->n);
    client_reset(scene->dying);
    SAY(scene->staying, SET_OTHER PING);
}

static void play(struct live_server *s, const char *last, size_t n)
{
    int staying = join_and_set(live_server_port(s));
    struct scene scene = {client_join(live_server_port(s)), staying, last, n};
    size_t waits = 0;
    char pong[4];
    live_server_call(s, speak_and_reset, &scene);
    client_hear(staying, pong, sizeof pong);
    await_connections(s, 1);
    live_server_call(s, get_waits, &waits);
    assert_int_equal(waits, 0);
    SAY(staying, SET_NEVER);
    ping(staying);
    close(staying);
}

/* Its answer cannot be sent, and what else it said is not heard. */
static void a_reset_client_does_not_wait(void **state)
{
    static const char last[] = GET_BIG WAIT_NEVER;
    (void)state;
    struct live_server *s = live_server_start(NULL);
    play(s, last, sizeof last - 1);
    live_server_stop(s);
}

static void a_refusal_of_a_reset_client_ends_nobody_else(void **state)
{
    static const char last[] = GET_BIG ADD_BIG;
    struct seen seen = {0};
    struct port_options opt = port_options_default();
    (void)state;
    opt.ctx = &seen;
    opt.on_note = on_note;
    struct live_server *s = live_server_start(&opt);
    play(s, last, sizeof last - 1);
    live_server_stop(s);
    assert_int_equal(seen.notes[SERVER_NOTE_NOT_NUMBER], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reset_client_does_not_wait),
        cmocka_unit_test(a_refusal_of_a_reset_client_ends_nobody_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
