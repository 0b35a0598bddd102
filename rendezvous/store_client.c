#include "rendezvous/store_client.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rendezvous/tcpstore_wire.h"

enum {
    PAUSE_FIRST_MS = 50,
    PAUSE_MAX_MS = 2000,
    ATTEMPT_MS = 10000,  /* for one address to answer */
    VALUE_MAX = 1 << 30, /* a longer answer is not believed */
    INPUT_SIZE = 16 * 1024,
};

struct store_client {
    int fd; /* -1: dead */
    uint64_t answer_ms;
    struct buf request;
    size_t from, to; /* what is in input and not used yet */
    char peer[NI_MAXHOST + 16];
    char input[INPUT_SIZE];
};

/* ---- bytes with a deadline */

static uint64_t deadline_in(uint64_t ms)
{
    uint64_t now = now_ms();
    return ms > UINT64_MAX - now ? UINT64_MAX : now + ms;
}

static int dead(struct store_client *c, enum err_code code, const char *what, struct err *e)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    return err_set(e, code, "%s %s", c->peer, what);
}

static int dead_sys(struct store_client *c, int sys, struct err *e)
{
    int rc = dead(c, ERR_CLOSED, "", NULL);
    err_sys(e, sys, "%s", c->peer);
    if (e)
        e->code = ERR_CLOSED;
    return rc;
}

/* 1 ready, 0 the deadline has passed, -1 failed. Time is looked at only after the kernel. */
static int await(int fd, short events, uint64_t until_ms)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = events};
        uint64_t now = now_ms(), left = until_ms > now ? until_ms - now : 0;
        int rc = poll(&p, 1, left > 1000000 ? 1000000 : (int)left);
        if (rc > 0)
            return 1;
        if (rc < 0 && errno != EINTR)
            return -1;
        if (rc == 0 && left <= 1000000)
            return 0;
    }
}

static int send_request(struct store_client *c, struct err *e)
{
    uint64_t until = deadline_in(c->answer_ms);
    for (size_t at = 0; at < c->request.len;) {
        ssize_t n =
            send(c->fd, c->request.data + at, c->request.len - at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            at += (size_t)n;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return dead_sys(c, errno, e);
        int rc = await(c->fd, POLLOUT, until);
        if (rc < 0)
            return dead_sys(c, errno, e);
        if (rc == 0)
            return dead(c, ERR_TIMEOUT, "does not take a request", e);
    }
    return 0;
}

/* More input, at least a byte. 0; 1 the deadline has passed (the connection lives); -1. */
static int receive(struct store_client *c, char *p, size_t n, size_t *got, uint64_t until,
                   struct err *e)
{
    for (;;) {
        ssize_t m = recv(c->fd, p, n, MSG_DONTWAIT);
        if (m > 0) {
            *got = (size_t)m;
            return 0;
        }
        if (m == 0)
            return dead(c, ERR_CLOSED, "closed the connection", e);
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return dead_sys(c, errno, e);
        int rc = await(c->fd, POLLIN, until);
        if (rc < 0)
            return dead_sys(c, errno, e);
        if (rc == 0)
            return 1;
    }
}

/* Exactly n bytes; as receive(). After 1 part of them may be lost. */
static int read_until(struct store_client *c, void *to, size_t n, uint64_t until, struct err *e)
{
    char *p = to;
    while (n) {
        size_t have = c->to - c->from, m = have < n ? have : n, got = 0;
        if (m) {
            memcpy(p, c->input + c->from, m);
            c->from += m;
        } else {
            bool large = n >= sizeof c->input;
            c->from = c->to = 0;
            int rc =
                receive(c, large ? p : c->input, large ? n : sizeof c->input, &got, until, e);
            if (rc)
                return rc;
            if (large)
                m = got;
            else
                c->to = got;
        }
        p += m;
        n -= m;
    }
    return 0;
}

static int read_answer(struct store_client *c, void *to, size_t n, struct err *e)
{
    int rc = read_until(c, to, n, deadline_in(c->answer_ms), e);
    return rc > 0 ? dead(c, ERR_TIMEOUT, "does not answer", e) : rc;
}

static int read_i64(struct store_client *c, int64_t *v, struct err *e)
{
    char bytes[8];
    if (read_answer(c, bytes, sizeof bytes, e) != 0)
        return -1;
    *v = (int64_t)wire_u64(bytes);
    return 0;
}

static int read_value(struct store_client *c, struct buf *out, struct err *e)
{
    int64_t len;
    if (read_i64(c, &len, e) != 0)
        return -1;
    buf_reset(out);
    if (len < 0 || len > VALUE_MAX)
        return dead(c, ERR_PROTOCOL, "announces a value of an impossible length", e);
    char *to = buf_reserve(out, (size_t)len);
    if (!to)
        return dead(c, ERR_PROTOCOL, "sends a value that is too long", e);
    if (len && read_answer(c, to, (size_t)len, e) != 0)
        return -1;
    buf_commit(out, (size_t)len);
    return 0;
}

/* ---- connecting */

static void name_peer(struct store_client *c, const struct sockaddr *addr, socklen_t len)
{
    char host[NI_MAXHOST], port[16];
    if (getnameinfo(addr, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV)
        == 0)
        snprintf(c->peer, sizeof c->peer, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

/* A connected socket, or -1 with the errno in *sys. */
static int dial(const struct addrinfo *ai, uint64_t until, int *sys)
{
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t len = sizeof *sys;
    *sys = errno;
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0)
        return fd;
    *sys = errno;
    if (errno == EINPROGRESS) {
        *sys = ETIMEDOUT;
        if (await(fd, POLLOUT, until) == 1)
            getsockopt(fd, SOL_SOCKET, SO_ERROR, sys, &len);
        if (*sys == 0)
            return fd;
    }
    close(fd);
    return -1;
}

/* VALIDATE and PING in one segment: the answer shows that a TCPStore is there. */
static int greet(struct store_client *c, uint64_t until, struct err *e)
{
    uint32_t nonce = (uint32_t)getpid(), echo;
    buf_reset(&c->request);
    wire_add_validate(&c->request);
    wire_add_query(&c->request, WIRE_PING);
    buf_add_u32le(&c->request, nonce);
    if (send_request(c, e) != 0)
        return -1;
    int rc = read_until(c, &echo, sizeof echo, until, e);
    if (rc > 0)
        return dead(c, ERR_TIMEOUT, "accepts, but does not answer as a TCPStore", e);
    if (rc == 0 && memcmp(&echo, c->request.data + c->request.len - 4, 4) != 0)
        return dead(c, ERR_PROTOCOL, "does not answer as a TCPStore", e);
    return rc;
}

static int try_address(struct store_client *c, const struct addrinfo *ai, uint64_t until,
                       struct err *e)
{
    uint64_t mine = deadline_in(ATTEMPT_MS);
    int sys = 0;
    if (mine > until)
        mine = until;
    name_peer(c, ai->ai_addr, ai->ai_addrlen);
    c->from = c->to = 0;
    c->fd = dial(ai, mine, &sys);
    if (c->fd < 0)
        return err_sys(e, sys, "%s", c->peer);
    return greet(c, mine, e);
}

/* One round over all addresses of the name. */
static int try_all(struct store_client *c, const char *host, uint16_t port, uint64_t until,
                   struct err *e)
{
    char service[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    snprintf(service, sizeof service, "%u", port);
    int rc = getaddrinfo(host, service, &hints, &found);
    if (rc != 0) {
        err_set(e, ERR_UNAVAILABLE, "%s: %s", host, gai_strerror(rc));
        return rc == EAI_NONAME || rc == EAI_AGAIN || rc == EAI_SYSTEM ? -1 : -2;
    }
    rc = -1;
    for (struct addrinfo *ai = found; ai && rc != 0; ai = ai->ai_next)
        rc = try_address(c, ai, until, e);
    freeaddrinfo(found);
    return rc;
}

static void pause_ms(uint64_t ms)
{
    struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* Half to all of the pause, so that many clients do not come back together. */
static uint64_t jitter(uint64_t ms)
{
    return ms / 2 + now_ns() / 1000 % (ms / 2 + 1);
}

struct store_client *store_client_new(const char *host, uint16_t port, uint64_t timeout_ms,
                                      uint64_t answer_ms, struct err *e)
{
    if (!host || !*host || !port) {
        err_set(e, ERR_USAGE, "a store needs a host and a port");
        return NULL;
    }
    struct store_client *c = mem_alloc(1, sizeof *c);
    uint64_t until = deadline_in(timeout_ms), pause = PAUSE_FIRST_MS;
    struct err last;
    c->fd = -1;
    c->answer_ms = answer_ms;
    buf_init(&c->request, 0);
    for (unsigned tries = 1;; tries++) {
        int rc = try_all(c, host, port, until, &last);
        if (rc == 0)
            return c;
        uint64_t now = now_ms(), next = jitter(pause);
        if (rc == -2 || now >= until) {
            err_set(e, ERR_UNAVAILABLE, "no store at %s port %u after %u tries: %s", host, port,
                    tries, last.text);
            store_client_free(c);
            return NULL;
        }
        pause_ms(next < until - now ? next : until - now);
        pause = pause * 3 / 2 < PAUSE_MAX_MS ? pause * 3 / 2 : PAUSE_MAX_MS;
    }
}

void store_client_free(struct store_client *c)
{
    if (!c)
        return;
    if (c->fd >= 0)
        close(c->fd);
    buf_fini(&c->request);
    free(c);
}

/* ---- requests */

static int begin(struct store_client *c, enum wire_query query, struct err *e)
{
    if (c->fd < 0)
        return err_set(e, ERR_CLOSED, "%s: the connection is closed", c->peer);
    buf_reset(&c->request);
    wire_add_query(&c->request, query);
    return 0;
}

static int begin_key(struct store_client *c, enum wire_query query, const char *key,
                     struct err *e)
{
    if (begin(c, query, e) != 0)
        return -1;
    wire_add_bytes(&c->request, key, strlen(key));
    return 0;
}

static int begin_keys(struct store_client *c, enum wire_query query, const char *const *keys,
                      size_t n, struct err *e)
{
    if (begin(c, query, e) != 0)
        return -1;
    buf_add_u64le(&c->request, n);
    for (size_t i = 0; i < n; i++)
        wire_add_bytes(&c->request, keys[i], strlen(keys[i]));
    return 0;
}

int store_client_set(struct store_client *c, const char *key, const void *value, size_t len,
                     struct err *e)
{
    if (begin_key(c, WIRE_SET, key, e) != 0)
        return -1;
    wire_add_bytes(&c->request, value, len);
    return send_request(c, e);
}

int store_client_get(struct store_client *c, const char *key, struct buf *out, struct err *e)
{
    return begin_key(c, WIRE_GET, key, e) != 0 || send_request(c, e) != 0
                   || read_value(c, out, e) != 0
               ? -1
               : 0;
}

int store_client_add(struct store_client *c, const char *key, int64_t delta, int64_t *sum,
                     struct err *e)
{
    int64_t result;
    if (begin_key(c, WIRE_ADD, key, e) != 0)
        return -1;
    wire_add_i64(&c->request, delta);
    if (send_request(c, e) != 0 || read_i64(c, &result, e) != 0)
        return -1;
    if (sum)
        *sum = result;
    return 0;
}

int store_client_compare_set(struct store_client *c, const char *key, const void *expected,
                             size_t expected_len, const void *desired, size_t desired_len,
                             struct buf *out, struct err *e)
{
    if (begin_key(c, WIRE_COMPARE_SET, key, e) != 0)
        return -1;
    wire_add_bytes(&c->request, expected, expected_len);
    wire_add_bytes(&c->request, desired, desired_len);
    return send_request(c, e) != 0 ? -1 : read_value(c, out, e);
}

int store_client_delete(struct store_client *c, const char *key, bool *deleted, struct err *e)
{
    int64_t count;
    if (begin_key(c, WIRE_DELETE_KEY, key, e) != 0 || send_request(c, e) != 0
        || read_i64(c, &count, e) != 0)
        return -1;
    if (deleted)
        *deleted = count > 0;
    return 0;
}

int store_client_num_keys(struct store_client *c, int64_t *n, struct err *e)
{
    return begin(c, WIRE_GETNUMKEYS, e) != 0 || send_request(c, e) != 0 ? -1
                                                                        : read_i64(c, n, e);
}

int store_client_check(struct store_client *c, const char *const *keys, size_t n, bool *present,
                       struct err *e)
{
    char byte;
    if (begin_keys(c, WIRE_CHECK, keys, n, e) != 0 || send_request(c, e) != 0
        || read_answer(c, &byte, 1, e) != 0)
        return -1;
    if (byte != 0 && byte != 1)
        return dead(c, ERR_PROTOCOL, "answers CHECK with neither 0 nor 1", e);
    *present = byte == 0;
    return 0;
}

/* After a wait that timed out: the answer is 01, or 00 01 when the wake-up was under way. */
static int cancel_wait(struct store_client *c, const char *key, uint64_t timeout_ms,
                       struct err *e)
{
    char byte;
    if (begin(c, WIRE_CANCEL_WAIT, e) != 0 || send_request(c, e) != 0
        || read_answer(c, &byte, 1, e) != 0)
        return -1;
    bool woken = byte == WIRE_STOP_WAITING;
    if (woken && read_answer(c, &byte, 1, e) != 0)
        return -1;
    if (byte != WIRE_WAIT_CANCELED)
        return dead(c, ERR_PROTOCOL, "does not confirm the end of a wait", e);
    if (woken)
        return 0;
    return err_set(e, ERR_TIMEOUT, "%s: nobody set %s within %llu ms", c->peer, key,
                   (unsigned long long)timeout_ms);
}

int store_client_wait(struct store_client *c, const char *const *keys, size_t n,
                      uint64_t timeout_ms, struct err *e)
{
    char byte;
    uint64_t until = deadline_in(timeout_ms);
    if (begin_keys(c, WIRE_WAIT, keys, n, e) != 0 || send_request(c, e) != 0)
        return -1;
    int rc = read_until(c, &byte, 1, until, e);
    if (rc > 0)
        return cancel_wait(c, n ? keys[0] : "anything", timeout_ms, e);
    if (rc == 0 && byte != WIRE_STOP_WAITING)
        return dead(c, ERR_PROTOCOL, "ends a wait with an unknown byte", e);
    return rc;
}

int store_client_multi_get(struct store_client *c, const char *const *keys, size_t n,
                           struct buf *values, struct err *e)
{
    if (begin_keys(c, WIRE_MULTI_GET, keys, n, e) != 0 || send_request(c, e) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (read_value(c, &values[i], e) != 0)
            return -1;
    return 0;
}
