/* metrics_server: a page that no socket buffer holds, to clients that do what clients may do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launcher/io/metrics_server.h"

enum { PAGE = 16 << 20, ROOM = 4096 }; /* more than tcp_wmem lets the kernel hold */

struct stage {
    uv_loop_t loop;
    struct metrics_server *server;
};

static void on_request(void *ctx)
{
    (void)ctx;
}

static bool must_wait(void *ctx)
{
    (void)ctx;
    return false;
}

static void answer(void *ctx, struct buf *out)
{
    (void)ctx;
    memset(buf_reserve(out, PAGE), '~', PAGE);
    buf_commit(out, PAGE);
}

static void begin(struct stage *s)
{
    const struct metrics_events events = {s, on_request, must_wait, answer};
    struct err e;
    uv_loop_init(&s->loop);
    s->server = metrics_server_open(&s->loop, "127.0.0.1:0", &events, &e);
    assert_non_null(s->server);
}

static void end(struct stage *s)
{
    metrics_server_close(s->server);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&s->loop), 0);
}

static void turn(struct stage *s)
{
    for (int i = 0; i < 4; i++) {
        uv_run(&s->loop, UV_RUN_NOWAIT);
        metrics_server_settle(s->server);
    }
}

static int ask(struct stage *s)
{
    static const char words[] = "GET /metrics HTTP/1.0\r\n\r\n";
    const char *port = strrchr(metrics_server_url(s->server), ':') + 1;
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(port)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), room = ROOM;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(send(fd, words, sizeof words - 1, 0), sizeof words - 1);
    return fd;
}

/* One byte: the answer has begun, and waits for us. */
static void take_first(struct stage *s, int fd)
{
    char byte;
    while (recv(fd, &byte, 1, MSG_DONTWAIT) != 1)
        turn(s);
    assert_int_equal(byte, 'H');
}

/* Reads to the end: how many bytes of the page came. */
static size_t take_page(struct stage *s, int fd)
{
    static char bytes[1 << 16];
    size_t n = 0;
    ssize_t got;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while ((got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) != 0) {
        for (ssize_t i = 0; i < got; i++)
            n += bytes[i] == '~';
        turn(s);
        if (got < 0)
            poll(&p, 1, 10);
    }
    close(fd);
    return n;
}

static void a_client_that_ends_its_half_before_the_answer_gets_it_all(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    int fd = ask(&s);
    shutdown(fd, SHUT_WR);
    take_first(&s, fd);
    assert_int_equal(take_page(&s, fd), PAGE);
    end(&s);
}

static void a_client_that_ends_its_half_amid_the_answer_gets_it_all(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    int fd = ask(&s);
    take_first(&s, fd);
    assert_int_equal(send(fd, "GET ", 4, 0), 4); /* more than it was asked for */
    turn(&s);
    shutdown(fd, SHUT_WR);
    turn(&s);
    assert_int_equal(take_page(&s, fd), PAGE);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_that_ends_its_half_before_the_answer_gets_it_all),
        cmocka_unit_test(a_client_that_ends_its_half_amid_the_answer_gets_it_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
