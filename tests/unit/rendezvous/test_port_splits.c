/* However the bytes of a client are cut into segments, its answers are the same: also where the
 * first segments say too little to know who it is, and where it has to be stopped at once,
 * because it asks for more than it takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "live_server.h"
#include "raw_client.h"

enum { BIG = 8 << 20 }; /* more than a connection takes that nobody reads */

#define KEY(text, n) n "\0\0\0\0\0\0\0" text
#define PINGS "\x0dping\x0dpong"
#define GET_K "\x03" KEY("/k", "\x02")
#define GET_N "\x03" KEY("/n", "\x02")

struct stream {
    const char *bytes;
    size_t n;
    size_t pings; /* all behind what cannot be sent at once */
};

#define STREAM(pings, bytes)                                                                   \
    {                                                                                          \
        bytes, sizeof(bytes) - 1, pings                                                        \
    }

static const struct stream modern[] = {
    STREAM(2, VALIDATE "\x0a\x02\0\0\0\0\0\0\0" KEY("/k", "\x02") KEY("/n", "\x02") PINGS),
    STREAM(2, VALIDATE GET_K "\x01" KEY("/n", "\x02") KEY("n", "\x01") GET_N PINGS),
};

/* GET, twice the number of keys, GET, once more. */
static const struct stream legacy =
    STREAM(0, "\x02" KEY("/k", "\x02") "\x06\x06\x02" KEY("/n", "\x02") "\x06");

static void nothing(struct port *p, void *arg)
{
    (void)p;
    (void)arg;
}

/* The server has read what was said: the first call may come before it looks at its sockets
 * again. */
static void settle(struct live_server *s)
{
    live_server_call(s, nothing, NULL);
    live_server_call(s, nothing, NULL);
}

static void get_counts(struct port *p, void *arg)
{
    port_counts(p, arg);
}

static uint64_t pings_heard(struct live_server *s)
{
    struct port_counts counts;
    live_server_call(s, get_counts, &counts);
    return counts.all.requests[WIRE_PING];
}

static void set_values(struct live_server *s)
{
    char *big = calloc(1, BIG), pong[4];
    int fd = client_join(live_server_port(s));
    SAY(fd, "\x01" KEY("/k", "\x02") "\0\0\x80\0\0\0\0\0");
    client_say(fd, big, BIG);
    SAY(fd, "\x01" KEY("/n", "\x02") KEY("n", "\x01") "\x0dpong");
    client_hear(fd, pong, sizeof pong);
    close(fd);
    free(big);
}

/* Cut in front of its byte number at (0 = not at all); is_three: behind the first one, too. */
static void play(struct live_server *s, const struct stream *stream, size_t at, bool is_three,
                 struct buf *out)
{
    const size_t cuts[] = {is_three ? 1 : 0, at, stream->n};
    size_t said = 0;
    int fd = client_dial(live_server_port(s));
    uint64_t before = pings_heard(s);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        if (cuts[i] <= said)
            continue;
        client_say(fd, stream->bytes + said, cuts[i] - said);
        said = cuts[i];
        settle(s);
    }
    assert_int_equal(pings_heard(s), before); /* it has been stopped */
    shutdown(fd, SHUT_WR);
    client_hear_all(fd, out);
    assert_int_equal(pings_heard(s), before + stream->pings);
}

static void each_cut_has_the_same_answers(const struct stream *stream)
{
    struct live_server *s = live_server_start(NULL);
    struct buf whole, now;
    buf_init(&whole, 0);
    buf_init(&now, 0);
    set_values(s);
    play(s, stream, 0, false, &whole);
    assert_true(whole.len > BIG);
    for (size_t at = 1; at < stream->n; at++)
        for (int is_three = 0; is_three <= (at < WIRE_DETECT_MAX); is_three++) {
            buf_reset(&now);
            play(s, stream, at, is_three, &now);
            assert_int_equal(now.len, whole.len);
            assert_memory_equal(now.data, whole.data, whole.len);
        }
    buf_fini(&whole);
    buf_fini(&now);
    live_server_stop(s);
}

static void a_client_of_pytorch_2(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof modern / sizeof *modern; i++)
        each_cut_has_the_same_answers(&modern[i]);
}

static void a_client_of_pytorch_1_13(void **state)
{
    (void)state;
    each_cut_has_the_same_answers(&legacy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_of_pytorch_2),
        cmocka_unit_test(a_client_of_pytorch_1_13),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
