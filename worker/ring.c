#include "worker/ring.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "worker/probe.h"

enum { TOKEN_BYTES = 16, TOKEN_TEXT = 2 * TOKEN_BYTES, STRANGERS = 16, CONNECT_MS = 30000 };

struct ring {
    uint32_t node, nodes;
    int listener, before, next; /* -1 none */
    char token[TOKEN_TEXT + 1];
    uint64_t waited_ns;
};

struct ring *ring_new(uint32_t node, uint32_t nodes)
{
    struct ring *r = mem_alloc(1, sizeof *r);
    *r = (struct ring){.node = node, .nodes = nodes, .listener = -1, .before = -1, .next = -1};
    return r;
}

static void close_if(int fd)
{
    if (fd >= 0)
        close(fd);
}

void ring_free(struct ring *r)
{
    if (!r)
        return;
    close_if(r->listener);
    close_if(r->before);
    close_if(r->next);
    free(r);
}

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)a;
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static int to_text(const struct sockaddr *a, char ip[PROBE_ADDRESS_MAX])
{
    socklen_t len =
        a->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    return getnameinfo(a, len, ip, PROBE_ADDRESS_MAX, NULL, 0, NI_NUMERICHOST);
}

/* An address or name that means this machine everywhere, so that all nodes are on it. */
static bool means_loopback(const char *host)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
    struct addrinfo *found;
    if (strcmp(host, "localhost") == 0)
        return true;
    if (getaddrinfo(host, NULL, &hints, &found) != 0)
        return false;
    freeaddrinfo(found);
    return true;
}

/* Where a node's own name means loopback: the first address that others can reach. */
static void first_outside(int family, char ip[PROBE_ADDRESS_MAX])
{
    struct ifaddrs *all;
    if (getifaddrs(&all) < 0)
        return;
    for (struct ifaddrs *i = all; i; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == family && (i->ifa_flags & IFF_RUNNING)
            && !(i->ifa_flags & IFF_LOOPBACK) && to_text(i->ifa_addr, ip) == 0)
            break;
    freeifaddrs(all);
}

/* The address that packets to a host leave from; connecting a datagram socket sends nothing. */
static int own_address(const char *toward, char ip[PROBE_ADDRESS_MAX], struct err *e)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    struct sockaddr_storage own;
    socklen_t len = sizeof own;
    int rc = getaddrinfo(toward, "9", &hints, &found);
    if (rc)
        return err_set(e, ERR_UNAVAILABLE, "%s: %s", toward, gai_strerror(rc));
    int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    rc = fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) < 0
                 || getsockname(fd, (struct sockaddr *)&own, &len) < 0
             ? err_sys(e, errno, "no address of this node towards %s", toward)
             : 0;
    close_if(fd);
    freeaddrinfo(found);
    if (rc == 0 && to_text((struct sockaddr *)&own, ip) != 0)
        return err_set(e, ERR_UNAVAILABLE, "no address of this node towards %s", toward);
    if (rc == 0 && is_loopback((struct sockaddr *)&own) && !means_loopback(toward))
        first_outside(own.ss_family, ip);
    return rc;
}

static int make_token(char token[TOKEN_TEXT + 1], struct err *e)
{
    unsigned char bytes[TOKEN_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return err_sys(e, errno, "no random numbers");
    for (size_t i = 0; i < TOKEN_BYTES; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

int ring_listen(struct ring *r, const char *toward, struct buf *where, struct err *e)
{
    char ip[PROBE_ADDRESS_MAX];
    uint16_t port;
    if (own_address(toward, ip, e) < 0 || make_token(r->token, e) < 0)
        return -1;
    r->listener = probe_listen(ip, &port, e);
    if (r->listener < 0)
        return -1;
    buf_addf(where, "%u %s %s", port, r->token, ip);
    return 0;
}

static int wait_for(int fd, short events, int ms)
{
    struct pollfd p = {.fd = fd, .events = events};
    return poll(&p, 1, ms);
}

static int reach_next(struct ring *r, const char *where, struct err *e)
{
    struct str rest = str_from(where), port, token;
    uint64_t number;
    if (!str_split(&rest, ' ', &port) || !str_split(&rest, ' ', &token) || rest.n == 0
        || token.n != TOKEN_TEXT || str_parse_u64(port, 1, UINT16_MAX, &number) < 0)
        return err_set(e, ERR_PROTOCOL, "\"%s\" is no place in the ring", where);
    r->next = probe_open(rest.p, (uint16_t)number, CONNECT_MS, e);
    if (r->next < 0)
        return err_wrap(e, "node %u of the ring cannot be reached", (r->node + 1) % r->nodes);
    for (size_t done = 0; done < token.n;) {
        ssize_t n = send(r->next, token.p + done, token.n - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return err_sys(e, errno, "node %u of the ring", (r->node + 1) % r->nodes);
        done += n > 0 ? (size_t)n : 0;
        if (n < 0)
            wait_for(r->next, POLLOUT, -1);
    }
    return 0;
}

/* Somebody who connected and has not said the token yet. */
struct stranger {
    int fd;
    size_t said;
    char token[TOKEN_TEXT];
};

static bool is_token(const struct ring *r, const char said[TOKEN_TEXT])
{
    unsigned char difference = 0;
    for (size_t i = 0; i < TOKEN_TEXT; i++)
        difference |= (unsigned char)(said[i] ^ r->token[i]);
    return difference == 0;
}

/* True once it has proved itself; gone or a liar: its fd is closed, -1. */
static bool hear(const struct ring *r, struct stranger *s)
{
    ssize_t n = recv(s->fd, s->token + s->said, TOKEN_TEXT - s->said, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    s->said += n > 0 ? (size_t)n : 0;
    if (n > 0 && s->said < TOKEN_TEXT)
        return false;
    if (n > 0 && is_token(r, s->token))
        return true;
    close(s->fd);
    s->fd = -1;
    return false;
}

/* The longest known stranger makes room for a new one. */
static void take_in(struct stranger list[STRANGERS], unsigned *at, int fd)
{
    struct stranger *s = &list[(*at)++ % STRANGERS];
    close_if(s->fd);
    *s = (struct stranger){.fd = fd};
}

static void accept_before(struct ring *r)
{
    struct stranger known[STRANGERS];
    unsigned at = 0;
    for (int i = 0; i < STRANGERS; i++)
        known[i] = (struct stranger){.fd = -1};
    while (r->before < 0) {
        struct pollfd p[STRANGERS + 1];
        for (int i = 0; i < STRANGERS; i++)
            p[i] = (struct pollfd){.fd = known[i].fd, .events = POLLIN};
        p[STRANGERS] = (struct pollfd){.fd = r->listener, .events = POLLIN};
        poll(p, STRANGERS + 1, -1);
        for (int i = 0; i < STRANGERS && r->before < 0; i++)
            if (known[i].fd >= 0 && p[i].revents && hear(r, &known[i])) {
                r->before = known[i].fd;
                known[i].fd = -1;
            }
        int fd = p[STRANGERS].revents
                     ? accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)
                     : -1;
        if (fd >= 0)
            take_in(known, &at, fd);
    }
    for (int i = 0; i < STRANGERS; i++)
        close_if(known[i].fd);
}

int ring_join(struct ring *r, const char *where, struct err *e)
{
    const int on = 1;
    if (reach_next(r, where, e) < 0)
        return -1;
    accept_before(r);
    close(r->listener);
    r->listener = -1;
    if (setsockopt(r->next, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0)
        return err_sys(e, errno, "TCP_NODELAY");
    return 0;
}

/* A list of buffers of which a part is done. */
struct progress {
    struct iovec *at, *end;
};

static bool is_done(struct progress *p)
{
    while (p->at < p->end && p->at->iov_len == 0)
        p->at++;
    return p->at == p->end;
}

/* The neighbour is gone: what to say about it is not ours. */
static _Noreturn void wait_for_the_end(void)
{
    for (;;)
        pause();
}

/* Moves what goes without waiting. */
static void advance(struct progress *p, int fd, bool is_sending)
{
    while (!is_done(p)) {
        ssize_t n = is_sending ? send(fd, p->at->iov_base, p->at->iov_len, MSG_NOSIGNAL)
                               : recv(fd, p->at->iov_base, p->at->iov_len, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0)
            wait_for_the_end();
        p->at->iov_base = (char *)p->at->iov_base + n;
        p->at->iov_len -= (size_t)n;
    }
}

void ring_swap(struct ring *r, struct iovec *out, size_t nthere, struct iovec *in, size_t nback)
{
    struct progress sent = {out, out + nthere}, received = {in, in + nback};
    for (;;) {
        advance(&sent, r->next, true);
        advance(&received, r->before, false);
        struct pollfd p[2] = {
            {.fd = is_done(&sent) ? -1 : r->next, .events = POLLOUT},
            {.fd = is_done(&received) ? -1 : r->before, .events = POLLIN},
        };
        if (p[0].fd < 0 && p[1].fd < 0)
            return;
        uint64_t begin = now_ns();
        poll(p, 2, -1);
        r->waited_ns += now_ns() - begin;
    }
}

uint64_t ring_waited_ns(const struct ring *r)
{
    return r->waited_ns;
}
