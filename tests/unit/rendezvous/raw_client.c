#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "raw_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_MS = 60000, PIECE = 1 << 20 };

int client_dial(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

int client_join(uint16_t port)
{
    int fd = client_dial(port);
    char n[8];
    SAY(fd, VALIDATE "\x07");
    client_hear(fd, n, sizeof n);
    return fd;
}

void client_say(int fd, const void *p, size_t n)
{
    assert_int_equal(send(fd, p, n, MSG_NOSIGNAL), (ssize_t)n);
}

static void await_input(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, ANSWER_MS), 1);
}

void client_hear(int fd, void *p, size_t n)
{
    char *to = p;
    while (n) {
        await_input(fd);
        ssize_t m = recv(fd, to, n, 0);
        assert_true(m > 0);
        to += m;
        n -= (size_t)m;
    }
}

void client_hear_all(int fd, struct buf *out)
{
    ssize_t got;
    do {
        char *to = buf_reserve(out, PIECE);
        await_input(fd);
        got = recv(fd, to, PIECE, 0);
        buf_commit(out, got > 0 ? (size_t)got : 0);
    } while (got > 0);
    assert_int_equal(got, 0);
    close(fd);
}

void client_hear_end(int fd)
{
    char byte;
    await_input(fd);
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
}

void client_hear_nothing(int fd)
{
    char byte;
    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
}

void client_reset(int fd)
{
    struct linger at_once = {.l_onoff = 1};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    close(fd);
}
