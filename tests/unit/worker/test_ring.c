/* Who may enter the ring, and that bytes go round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "worker/probe.h"
#include "worker/ring.h"

static void places(struct ring *rings[2], struct buf where[2])
{
    struct err e;
    for (uint32_t node = 0; node < 2; node++) {
        rings[node] = ring_new(node, 2);
        buf_init(&where[node], 0);
        assert_int_equal(ring_listen(rings[node], "127.0.0.1", &where[node], &e), 0);
    }
}

static void forget(struct ring *rings[2], struct buf where[2])
{
    for (int node = 0; node < 2; node++) {
        ring_free(rings[node]);
        buf_fini(&where[node]);
    }
}

/* Node 1 in a child: sends back what it gets, reversed by the sum of one more swap. */
static pid_t start_echo(struct ring *ring, const char *next)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    static char got[1 << 20];
    struct err e;
    alarm(60);
    if (ring_join(ring, next, &e) < 0)
        _exit(1);
    struct iovec in = {got, sizeof got}, out = {got, sizeof got};
    ring_swap(ring, NULL, 0, &in, 1);
    ring_swap(ring, &out, 1, NULL, 0);
    _exit(0);
}

static void send_round(struct ring *rings[2], struct buf where[2])
{
    static char sent[1 << 20], back[1 << 20];
    struct err e;
    int status;
    pid_t echo = start_echo(rings[1], buf_str(&where[0]));
    assert_int_equal(ring_join(rings[0], buf_str(&where[1]), &e), 0);
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (char)(i * 7);
    struct iovec out[] = {{sent, 5}, {sent + 5, 0}, {sent + 5, sizeof sent - 5}};
    struct iovec in[] = {{back, 1000}, {back + 1000, sizeof back - 1000}};
    ring_swap(rings[0], out, 3, in, 2);
    assert_memory_equal(sent, back, sizeof sent);
    waitpid(echo, &status, 0);
    assert_int_equal(status, 0);
}

static void bytes_go_round(void **state)
{
    (void)state;
    struct ring *rings[2];
    struct buf where[2];
    places(rings, where);
    send_round(rings, where);
    forget(rings, where);
}

/* One who says nothing, one who lies in one letter, one who leaves, and more of them than are
 * listened to. */
static void strangers_do_not_get_in(void **state)
{
    (void)state;
    struct ring *rings[2];
    struct buf where[2];
    struct err e;
    unsigned port;
    char lie[33];
    int fds[20];
    places(rings, where);
    assert_int_equal(sscanf(buf_str(&where[0]), "%u %32s", &port, lie), 2);
    lie[0] = lie[0] == '0' ? '1' : '0';
    for (int i = 0; i < 20; i++) {
        fds[i] = probe_open("127.0.0.1", (uint16_t)port, 10000, &e);
        assert_true(fds[i] >= 0);
        if (i % 2)
            assert_int_equal(send(fds[i], lie, 32, 0), 32);
        if (i % 5 == 0)
            shutdown(fds[i], SHUT_WR);
    }
    send_round(rings, where);
    for (int i = 0; i < 20; i++)
        close(fds[i]);
    forget(rings, where);
}

static void a_place_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const places[] = {
        "",
        "99999 0123456789abcdef0123456789abcdef 127.0.0.1",
        "80 short 127.0.0.1",
        "80 0123456789abcdef0123456789abcdef",
        "80 0123456789abcdef0123456789abcdef ",
    };
    struct ring *r = ring_new(0, 2);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct err e = {0};
        assert_int_equal(ring_join(r, places[i], &e), -1);
        assert_int_equal(e.code, ERR_PROTOCOL); /* nobody was called */
    }
    ring_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_round),
        cmocka_unit_test(strangers_do_not_get_in),
        cmocka_unit_test(a_place_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
