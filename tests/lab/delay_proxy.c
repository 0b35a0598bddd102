/* delay_proxy.c - a slow line between two addresses, for systems without netem: what comes in
 * at LISTEN goes to TARGET and back, late, at a limited rate, or in one direction not at all.
 * It knows bytes, no protocol, and serves until it is ended.
 *
 *   delay_proxy [--delay MS] [--rate BYTES_PER_S] [--hold up|down] LISTEN TARGET
 *
 * Both are IPv4 ADDRESS:PORT; port 0 takes a free one. "listening ADDRESS:PORT" is printed once
 * connections are taken. SIGUSR1 stops the line and frees it in turns, and "held" or "free" is
 * printed; --hold names the one direction that stops ("up" is towards TARGET), else both do.
 * What is held comes late and not never, as behind a line that loses every packet for a while.
 * A direction takes CHUNKS_MAX pieces at a time, then its sender has to wait.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { PAIRS_MAX = 64, CHUNKS_MAX = 64, CHUNK_BYTES = 16384, POLLED_MAX = 2 + 4 * PAIRS_MAX };

struct chunk {
    uint64_t due_ms;
    size_t at, len;
    char data[CHUNK_BYTES];
};

/* One direction of a connection. */
struct flow {
    int from, to;
    bool at_end, is_over; /* nothing more comes; the other side knows */
    uint64_t last_due_ms;
    unsigned first, count;
    struct chunk chunks[CHUNKS_MAX];
};

struct pair {
    struct flow up, down;
};

struct proxy {
    uint64_t delay_ms, rate;
    bool hold_up, hold_down, is_held;
    int listener, signals;
    struct sockaddr_in target;
    struct pair *pairs[PAIRS_MAX];
};

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "delay_proxy: %s: %s\n", what, strerror(errno));
    exit(1);
}

static _Noreturn void usage(const char *wrong)
{
    fprintf(stderr,
            "delay_proxy: '%s'? usage: delay_proxy [--delay MS] [--rate BYTES_PER_S] [--hold "
            "up|down] "
            "LISTEN TARGET, both IPv4 ADDRESS:PORT\n",
            wrong);
    exit(2);
}

static struct sockaddr_in parse_address(const char *text)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    char host[64] = "";
    const char *colon = strrchr(text, ':');
    char *end;
    if (!colon || (size_t)(colon - text) >= sizeof host)
        usage(text);
    memcpy(host, text, (size_t)(colon - text));
    unsigned long port = strtoul(colon + 1, &end, 10);
    if (inet_pton(AF_INET, host, &a.sin_addr) != 1 || !colon[1] || *end || port > 65535)
        usage(text);
    a.sin_port = htons((uint16_t)port);
    return a;
}

static uint64_t parse_number(const char *text)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    if (!*text || *end || n > 1000000000)
        usage(text);
    return n;
}

static int open_listener(struct sockaddr_in a)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
    socklen_t size = sizeof a;
    char host[INET_ADDRSTRLEN];
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0
        || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, PAIRS_MAX) < 0
        || getsockname(fd, (struct sockaddr *)&a, &size) < 0)
        die("listening");
    inet_ntop(AF_INET, &a.sin_addr, host, sizeof host);
    printf("listening %s:%u\n", host, (unsigned)ntohs(a.sin_port));
    fflush(stdout);
    return fd;
}

static void shut(struct flow *f)
{
    f->is_over = true;
    shutdown(f->to, SHUT_WR);
}

/* The connection to the target is made at once; it may still be under way when bytes come. */
static void take(struct proxy *p)
{
    int one = 1, slot = 0;
    while (slot < PAIRS_MAX && p->pairs[slot])
        slot++;
    int near =
        slot < PAIRS_MAX ? accept4(p->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC) : -1;
    if (near < 0)
        return;
    int far = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct pair *pair = calloc(1, sizeof *pair);
    if (far < 0 || !pair)
        die("a connection");
    setsockopt(near, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(far, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    /* A refusal shows at the first read. */
    if (connect(far, (struct sockaddr *)&p->target, sizeof p->target) < 0
        && errno != EINPROGRESS)
        shutdown(near, SHUT_RDWR);
    pair->up.from = pair->down.to = near;
    pair->up.to = pair->down.from = far;
    p->pairs[slot] = pair;
}

static void receive(struct proxy *p, struct flow *f, uint64_t now)
{
    struct chunk *c = &f->chunks[(f->first + f->count) % CHUNKS_MAX];
    ssize_t n = read(f->from, c->data, sizeof c->data);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        f->at_end = true;
        return;
    }
    uint64_t due = now + p->delay_ms;
    if (due < f->last_due_ms)
        due = f->last_due_ms;
    if (p->rate)
        due += (uint64_t)n * 1000 / p->rate;
    f->last_due_ms = c->due_ms = due;
    c->at = 0;
    c->len = (size_t)n;
    f->count++;
}

static void deliver(struct flow *f, uint64_t now)
{
    while (f->count && f->chunks[f->first].due_ms <= now) {
        struct chunk *c = &f->chunks[f->first];
        ssize_t n = send(f->to, c->data + c->at, c->len - c->at, MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN))
            return;
        if (n < 0) { /* nobody to deliver to */
            f->count = 0;
            f->at_end = true;
            return;
        }
        c->at += (size_t)n;
        if (c->at < c->len)
            return;
        f->first = (f->first + 1) % CHUNKS_MAX;
        f->count--;
    }
}

static bool is_held(const struct proxy *p, const struct pair *pair, const struct flow *f)
{
    return p->is_held && (f == &pair->up ? p->hold_up : p->hold_down);
}

static void serve(struct proxy *p, struct pair *pair, struct flow *f, uint64_t now)
{
    if (!f->at_end && f->count < CHUNKS_MAX)
        receive(p, f, now);
    if (!is_held(p, pair, f))
        deliver(f, now);
    if (f->at_end && f->count == 0 && !f->is_over && !is_held(p, pair, f))
        shut(f);
}

static void serve_all(struct proxy *p)
{
    uint64_t now = now_ms();
    for (int i = 0; i < PAIRS_MAX; i++) {
        struct pair *pair = p->pairs[i];
        if (!pair)
            continue;
        serve(p, pair, &pair->up, now);
        serve(p, pair, &pair->down, now);
        if (pair->up.is_over && pair->down.is_over) {
            close(pair->up.from);
            close(pair->up.to);
            free(pair);
            p->pairs[i] = NULL;
        }
    }
}

/* What this direction waits for; lowers *timeout_ms to its next due piece. */
static nfds_t watch(const struct flow *f, bool held, uint64_t now, struct pollfd *out,
                    int *timeout_ms)
{
    nfds_t n = 0;
    if (!f->at_end && f->count < CHUNKS_MAX)
        out[n++] = (struct pollfd){.fd = f->from, .events = POLLIN};
    if (!f->count || held)
        return n;
    uint64_t due = f->chunks[f->first].due_ms;
    if (due <= now)
        out[n++] = (struct pollfd){.fd = f->to, .events = POLLOUT};
    else if (*timeout_ms < 0 || due - now < (uint64_t)*timeout_ms)
        *timeout_ms = (int)(due - now);
    return n;
}

static void on_signal(struct proxy *p)
{
    struct signalfd_siginfo info;
    if (read(p->signals, &info, sizeof info) != sizeof info)
        return;
    p->is_held = !p->is_held;
    puts(p->is_held ? "held" : "free");
    fflush(stdout);
}

static void run(struct proxy *p)
{
    for (;;) {
        struct pollfd polled[POLLED_MAX] = {{.fd = p->listener, .events = POLLIN},
                                            {.fd = p->signals, .events = POLLIN}};
        nfds_t n = 2;
        int timeout_ms = -1;
        uint64_t now = now_ms();
        for (int i = 0; i < PAIRS_MAX; i++) {
            struct pair *pair = p->pairs[i];
            if (!pair)
                continue;
            n += watch(&pair->up, is_held(p, pair, &pair->up), now, polled + n, &timeout_ms);
            n +=
                watch(&pair->down, is_held(p, pair, &pair->down), now, polled + n, &timeout_ms);
        }
        if (poll(polled, n, timeout_ms) < 0 && errno != EINTR)
            die("poll");
        if (polled[1].revents)
            on_signal(p);
        if (polled[0].revents)
            take(p);
        serve_all(p);
    }
}

static void parse(struct proxy *p, int argc, char **argv)
{
    int i = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "--delay") == 0)
            p->delay_ms = parse_number(value);
        else if (strcmp(argv[i], "--rate") == 0)
            p->rate = parse_number(value);
        else if (strcmp(argv[i], "--hold") == 0 && strcmp(value, "up") == 0)
            p->hold_down = false;
        else if (strcmp(argv[i], "--hold") == 0 && strcmp(value, "down") == 0)
            p->hold_up = false;
        else
            usage(argv[i]);
    }
    if (argc - i != 2)
        usage(i < argc ? argv[i] : "");
    p->target = parse_address(argv[i + 1]);
    p->listener = open_listener(parse_address(argv[i]));
}

int main(int argc, char **argv)
{
    struct proxy p = {.hold_up = true, .hold_down = true, .listener = -1};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    p.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (p.signals < 0)
        die("signalfd");
    parse(&p, argc, argv);
    run(&p);
}
