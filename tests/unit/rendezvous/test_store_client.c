/* The blocking client against a real server in a thread, and against servers that misbehave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "live_server.h"
#include "rendezvous/store_client.h"

enum { LONG_MS = 20000 };

static struct store_client *connect_to(struct live_server *s)
{
    struct err e;
    struct store_client *c =
        store_client_new("127.0.0.1", live_server_port(s), LONG_MS, LONG_MS, &e);
    assert_non_null(c);
    return c;
}

static int start(void **state)
{
    *state = live_server_start(NULL);
    return 0;
}

static int stop(void **state)
{
    live_server_stop(*state);
    return 0;
}

static void values(void **state)
{
    struct store_client *c = connect_to(*state);
    struct buf v;
    struct err e;
    bool yes;
    int64_t n;
    buf_init(&v, 0);
    assert_int_equal(store_client_get(c, "none", &v, &e), 0);
    assert_int_equal(v.len, 0);
    assert_int_equal(store_client_set(c, "k", "a\0b", 3, &e), 0);
    assert_int_equal(store_client_get(c, "k", &v, &e), 0);
    assert_int_equal(v.len, 3);
    assert_memory_equal(v.data, "a\0b", 3);
    assert_int_equal(store_client_compare_set(c, "k", "x", 1, "y", 1, &v, &e), 0);
    assert_memory_equal(v.data, "a\0b", 3);
    assert_int_equal(store_client_compare_set(c, "k", "a\0b", 3, "y", 1, &v, &e), 0);
    assert_string_equal(v.data, "y");
    assert_int_equal(store_client_add(c, "n", 40, &n, &e), 0);
    assert_int_equal(store_client_add(c, "n", 2, &n, &e), 0);
    assert_int_equal(n, 42);
    assert_int_equal(store_client_num_keys(c, &n, &e), 0);
    assert_int_equal(n, 2);
    assert_int_equal(store_client_check(c, (const char *const[]){"k", "n"}, 2, &yes, &e), 0);
    assert_true(yes);
    assert_int_equal(store_client_delete(c, "k", &yes, &e), 0);
    assert_true(yes);
    assert_int_equal(store_client_check(c, (const char *const[]){"k", "n"}, 2, &yes, &e), 0);
    assert_false(yes);
    buf_fini(&v);
    store_client_free(c);
}

static void large_values(void **state)
{
    struct store_client *c = connect_to(*state);
    size_t size = 8388608;
    char *big = malloc(size);
    struct buf v[3];
    struct err e;
    for (size_t i = 0; i < size; i++)
        big[i] = (char)(i * 2654435761u >> 13);
    for (int i = 0; i < 3; i++)
        buf_init(&v[i], 0);
    assert_int_equal(store_client_set(c, "big", big, size, &e), 0);
    assert_int_equal(store_client_set(c, "small", "s", 1, &e), 0);
    assert_int_equal(
        store_client_multi_get(c, (const char *const[]){"big", "small", "big"}, 3, v, &e), 0);
    assert_int_equal(v[0].len, size);
    assert_memory_equal(v[0].data, big, size);
    assert_string_equal(v[1].data, "s");
    assert_memory_equal(v[2].data, big, size);
    for (int i = 0; i < 3; i++)
        buf_fini(&v[i]);
    free(big);
    store_client_free(c);
}

static void wait_times_out_and_goes_on(void **state)
{
    struct store_client *c = connect_to(*state);
    struct err e;
    int64_t n;
    assert_int_equal(store_client_wait(c, (const char *const[]){"never"}, 1, 1, &e), -1);
    assert_int_equal(e.code, ERR_TIMEOUT);
    assert_non_null(strstr(e.text, "never"));
    assert_int_equal(store_client_wait(c, (const char *const[]){"never"}, 1, 0, &e), -1);
    assert_int_equal(e.code, ERR_TIMEOUT);
    assert_int_equal(store_client_set(c, "never", "", 0, &e), 0);
    assert_int_equal(store_client_wait(c, (const char *const[]){"never"}, 1, 0, &e), 0);
    assert_int_equal(store_client_add(c, "n", 7, &n, &e), 0);
    assert_int_equal(n, 7);
    store_client_free(c);
}

struct waiter {
    struct live_server *server;
    int rc;
    struct err e;
};

static void *wait_for_go(void *arg)
{
    struct waiter *w = arg;
    struct store_client *c = connect_to(w->server);
    int64_t n;
    store_client_add(c, "ready", 1, &n, &w->e);
    w->rc = store_client_wait(c, (const char *const[]){"go", "more"}, 2, LONG_MS, &w->e);
    store_client_free(c);
    return NULL;
}

/* Waits, by asking the server, until this many clients wait. */
static bool count_wait(void *ctx, const struct server_wait *w)
{
    (void)w;
    ++*(size_t *)ctx;
    return true;
}

static void count_waits(struct port *p, void *arg)
{
    *(size_t *)arg = 0;
    port_each_wait(p, count_wait, arg);
}

static void until_waiting(struct live_server *s, size_t clients)
{
    for (size_t n = 0; n < clients;)
        live_server_call(s, count_waits, &n);
}

static void wakes_many(void **state)
{
    enum { THREADS = 8 };
    struct waiter w[THREADS];
    pthread_t t[THREADS];
    struct store_client *c = connect_to(*state);
    struct err e;
    for (int i = 0; i < THREADS; i++) {
        w[i].server = *state;
        pthread_create(&t[i], NULL, wait_for_go, &w[i]);
    }
    until_waiting(*state, THREADS);
    assert_int_equal(store_client_set(c, "more", "1", 1, &e), 0);
    assert_int_equal(store_client_set(c, "go", "1", 1, &e), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        assert_int_equal(w[i].rc, 0);
    }
    store_client_free(c);
}

static void generation_ends_waits(void **state)
{
    struct waiter w = {.server = *state};
    struct store_client *c = connect_to(*state);
    struct err e;
    pthread_t t;
    pthread_create(&t, NULL, wait_for_go, &w);
    until_waiting(*state, 1);
    live_server_generation(*state);
    pthread_join(t, NULL);
    assert_int_equal(w.rc, -1);
    assert_int_equal(w.e.code, ERR_CLOSED);
    int64_t n;
    assert_int_equal(store_client_num_keys(c, &n, &e), -1);
    assert_int_equal(e.code, ERR_CLOSED);
    assert_int_equal(store_client_set(c, "k", "v", 1, &e), -1); /* dead for good */
    assert_int_equal(e.code, ERR_CLOSED);
    store_client_free(c);
}

/* ---- servers that misbehave */

struct fake {
    int listener;
    uint16_t port;
    const char *answer; /* after VALIDATE and PING were read and PING was echoed */
    size_t len;
    bool echo;
    pthread_t thread;
};

static void *fake_run(void *arg)
{
    struct fake *f = arg;
    char request[4096];
    int fd = accept(f->listener, NULL, NULL);
    for (ssize_t got = 0; got < 10;) {
        ssize_t n = read(fd, request + got, (size_t)(10 - got));
        if (n <= 0)
            break;
        got += n;
    }
    if (f->echo)
        assert_int_equal(write(fd, request + 6, 4), 4);
    if (f->len)
        assert_int_equal(write(fd, f->answer, f->len), (ssize_t)f->len);
    while (read(fd, request, sizeof request) > 0)
        ;
    close(fd);
    return NULL;
}

static void fake_start(struct fake *f)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    f->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(f->listener, 4), 0);
    getsockname(f->listener, (struct sockaddr *)&a, &len);
    f->port = ntohs(a.sin_port);
    pthread_create(&f->thread, NULL, fake_run, f);
}

static void fake_stop(struct fake *f)
{
    pthread_join(f->thread, NULL);
    close(f->listener);
}

static void no_answer_is_a_timeout(void **state)
{
    struct fake f = {.echo = true};
    struct err e;
    int64_t n;
    (void)state;
    fake_start(&f);
    struct store_client *c = store_client_new("127.0.0.1", f.port, LONG_MS, 1, &e);
    assert_non_null(c);
    assert_int_equal(store_client_add(c, "k", 1, &n, &e), -1);
    assert_int_equal(e.code, ERR_TIMEOUT);
    assert_int_equal(store_client_add(c, "k", 1, &n, &e), -1);
    assert_int_equal(e.code, ERR_CLOSED);
    store_client_free(c);
    fake_stop(&f);
}

static void impossible_length_is_refused(void **state)
{
    struct fake f = {.echo = true, .answer = "\xff\xff\xff\xff\xff\xff\xff\x7f", .len = 8};
    struct err e;
    struct buf v;
    (void)state;
    fake_start(&f);
    buf_init(&v, 0);
    struct store_client *c = store_client_new("127.0.0.1", f.port, LONG_MS, LONG_MS, &e);
    assert_non_null(c);
    assert_int_equal(store_client_get(c, "k", &v, &e), -1);
    assert_int_equal(e.code, ERR_PROTOCOL);
    buf_fini(&v);
    store_client_free(c);
    fake_stop(&f);
}

static void nobody_there(void **state)
{
    struct err e;
    (void)state;
    /* A port that was free a moment ago. */
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    getsockname(fd, (struct sockaddr *)&a, &len); /* bound, not listening: refused */
    assert_null(store_client_new("127.0.0.1", ntohs(a.sin_port), 100, LONG_MS, &e));
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "refused"));
    close(fd);
    assert_null(store_client_new("", 1, 0, 0, &e));
    assert_int_equal(e.code, ERR_USAGE);
}

static void *listen_late(void *arg)
{
    struct fake *f = arg;
    assert_int_equal(listen(f->listener, 4), 0);
    return fake_run(f);
}

static void retries_until_somebody_listens(void **state)
{
    struct fake f = {.echo = true};
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    struct err e;
    (void)state;
    f.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(f.listener, (struct sockaddr *)&a, sizeof a), 0);
    getsockname(f.listener, (struct sockaddr *)&a, &len);
    assert_null(store_client_new("127.0.0.1", ntohs(a.sin_port), 1, LONG_MS, &e));
    pthread_create(&f.thread, NULL, listen_late, &f);
    struct store_client *c =
        store_client_new("127.0.0.1", ntohs(a.sin_port), LONG_MS, LONG_MS, &e);
    assert_non_null(c);
    store_client_free(c);
    fake_stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values, start, stop),
        cmocka_unit_test_setup_teardown(large_values, start, stop),
        cmocka_unit_test_setup_teardown(wait_times_out_and_goes_on, start, stop),
        cmocka_unit_test_setup_teardown(wakes_many, start, stop),
        cmocka_unit_test_setup_teardown(generation_ends_waits, start, stop),
        cmocka_unit_test(no_answer_is_a_timeout),
        cmocka_unit_test(impossible_length_is_refused),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(retries_until_somebody_listens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
