/* All recorded conversations through sockets, in three chunkings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "live_server.h"
#include "transcript.h"

enum { ANSWER_MS = 60000, OWN = 0 };

struct world {
    struct live_server *server;
    int fds[TRANSCRIPT_CONNS]; /* OWN: for round trips; -1 = none */
};

static bool receive(int fd, void *p, size_t n)
{
    uint64_t until = now_ms() + ANSWER_MS;
    for (size_t got = 0; got < n;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        uint64_t now = now_ms();
        if (now >= until || poll(&ready, 1, (int)(until - now)) < 0)
            return false;
        ssize_t m = recv(fd, (char *)p + got, n - got, MSG_DONTWAIT);
        if (m == 0 || (m < 0 && errno != EAGAIN))
            return false;
        got += m > 0 ? (size_t)m : 0;
    }
    return true;
}

static int dial(struct world *w)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(live_server_port(w->server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return fd;
}

static void on_open(void *ctx, unsigned conn)
{
    struct world *w = ctx;
    if (w->fds[conn] >= 0)
        close(w->fds[conn]);
    w->fds[conn] = dial(w);
}

static void on_send(void *ctx, unsigned conn, const void *p, size_t n)
{
    struct world *w = ctx;
    for (size_t at = 0; at < n;) {
        ssize_t m = send(w->fds[conn], (const char *)p + at, n - at, MSG_NOSIGNAL);
        if (m < 0)
            return; /* closed meanwhile, perhaps rightly: E tells */
        at += (size_t)m;
    }
}

static void on_half_close(void *ctx, unsigned conn)
{
    shutdown(((struct world *)ctx)->fds[conn], SHUT_WR);
}

static void on_close(void *ctx, unsigned conn)
{
    struct world *w = ctx;
    close(w->fds[conn]);
    w->fds[conn] = -1;
}

static void on_generation(void *ctx)
{
    struct world *w = ctx;
    live_server_generation(w->server);
    close(w->fds[OWN]);
    w->fds[OWN] = -1;
}

/* Two round trips: a single-threaded server has then handled what came before. */
static void on_settle(void *ctx)
{
    static const char validate[] = "\x00\xce\xf7\x85\x3c";
    struct world *w = ctx;
    char answer[8];
    if (w->fds[OWN] < 0) {
        w->fds[OWN] = dial(w);
        on_send(w, OWN, validate, 5);
    }
    for (int i = 0; i < 2; i++) {
        on_send(w, OWN, "\x07", 1);
        assert_true(receive(w->fds[OWN], answer, sizeof answer));
    }
}

static bool on_receive(void *ctx, unsigned conn, void *p, size_t n)
{
    return receive(((struct world *)ctx)->fds[conn], p, n);
}

static bool is_quiet(void *ctx, unsigned conn)
{
    char byte;
    ssize_t n = recv(((struct world *)ctx)->fds[conn], &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return n < 0 && errno == EAGAIN;
}

static bool is_ended(void *ctx, unsigned conn)
{
    struct world *w = ctx;
    struct pollfd ready = {.fd = w->fds[conn], .events = POLLIN};
    char byte;
    bool ended = poll(&ready, 1, ANSWER_MS) == 1 && recv(w->fds[conn], &byte, 1, 0) <= 0;
    on_close(ctx, conn);
    return ended;
}

static const struct transcript_server server = {
    .open = on_open,
    .send = on_send,
    .half_close = on_half_close,
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
        struct world w = {.server = live_server_start(NULL)};
        for (int i = 0; i < TRANSCRIPT_CONNS; i++)
            w.fds[i] = -1;
        if (!transcript_play(path, (enum transcript_cut)cut, &server, &w))
            ++*(int *)ctx;
        for (int i = 0; i < TRANSCRIPT_CONNS; i++)
            if (w.fds[i] >= 0)
                close(w.fds[i]);
        live_server_stop(w.server);
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
