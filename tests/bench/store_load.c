/* Load for any TCPStore server, or for store_floor:
 *
 *   store_load HOST:PORT [-f] [-s SECONDS] [-p PID] [-c CONNECTIONS,...] [-b BYTES,...]
 *
 * One line a point: query, bytes of a value, connections, requests in flight on each, requests
 * a second, the median and the 99th percentile of a batch's time in microseconds, and the
 * server's CPU time for one request in microseconds if its PID is given. Every batch ends in an
 * answer; SET has none, so a PING follows it (not counted). -f: to store_floor, the same bytes
 * both ways. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rendezvous/tcpstore_wire.h"
#include "store_client.h"

enum {
    EVENTS = 256,
    LIST_MAX = 8,
    DEEP = 32,
    DEEP_LARGE = 4, /* of values above LARGE: 4 MiB on each connection are enough */
    LARGE = 65536,
    LARGE_CONNECTIONS = 8, /* more of these would measure the memory */
    STEPS = 16,            /* of the histogram, in each power of two of nanoseconds */
};

static const char usage[] =
    "store_load HOST:PORT [-f] [-s SECONDS] [-p PID] [-c CONNECTIONS,...]"
    " [-b BYTES,...]";

enum { SET, GET, ADD, WAIT, COMPARE_SET, KINDS };

static const struct kind {
    const char *name;
    enum wire_query query;
    size_t answer, tail; /* bytes of an answer beside the value, of the end of a batch */
    bool has_value;      /* an answer has one */
} kinds[KINDS] = {
    [SET] = {"set", WIRE_SET, 0, 4, false},
    [GET] = {"get", WIRE_GET, 8, 0, true},
    [ADD] = {"add", WIRE_ADD, 8, 0, false},
    [WAIT] = {"wait", WIRE_WAIT, 1, 0, false},
    [COMPARE_SET] = {"compare_set", WIRE_COMPARE_SET, 8, 0, true},
};

struct conn {
    int fd;
    struct buf batch;
    size_t due, due_all;
    uint64_t sent_ns;
};

struct load {
    struct sockaddr_in to;
    bool is_floor;
    double seconds;
    const char *pid;
    int conns[LIST_MAX], bytes[LIST_MAX];
    char *value;
    unsigned long long times[64 * STEPS]; /* of batches */
};

/* ---- times of batches ---- */

static size_t step_of(uint64_t ns)
{
    size_t power = 63u - (size_t)__builtin_clzll(ns | STEPS);
    return power * STEPS + (size_t)(ns >> (power - 4)) % STEPS;
}

/* In microseconds, the lower end of the step. */
static double quantile_us(const struct load *l, unsigned long long n, double q)
{
    unsigned long long want = (unsigned long long)((double)n * q), seen = 0;
    for (size_t i = 0; i < 64 * STEPS; i++) {
        seen += l->times[i];
        if (seen > want)
            return (double)((STEPS + i % STEPS) << (i / STEPS - 4)) / 1000;
    }
    return 0;
}

/* ---- what is sent ---- */

static void add_request(struct buf *b, const struct load *l, int kind, const char *key, int n)
{
    wire_add_query(b, kinds[kind].query);
    if (kind == WAIT)
        buf_add_u64le(b, 1);
    wire_add_bytes(b, key, strlen(key));
    if (kind == ADD)
        wire_add_i64(b, 1);
    if (kind == SET || kind == COMPARE_SET)
        wire_add_bytes(b, l->value, (size_t)n);
    if (kind == COMPARE_SET)
        wire_add_bytes(b, l->value, (size_t)n);
}

/* Connected and greeted. */
static void open_conn(const struct load *l, struct conn *c)
{
    struct buf hello;
    c->fd = connect_to(&l->to);
    buf_init(&c->batch, 0);
    if (l->is_floor)
        return;
    buf_init(&hello, 0);
    wire_add_validate(&hello);
    add_ping(&hello);
    send_all(c->fd, hello.data, hello.len);
    receive_all(c->fd, 4);
    buf_fini(&hello);
}

/* store_floor wants to know what to take for a batch and how much to answer. */
static void add_header(struct buf *b, size_t request, size_t answer)
{
    struct buf all;
    buf_init(&all, 0);
    buf_add_u64le(&all, request);
    buf_add_u64le(&all, answer);
    buf_add(&all, b->data, b->len);
    buf_fini(b);
    *b = all;
}

static void prepare(const struct load *l, struct conn *c, int number, int kind, int n,
                    int depth)
{
    char key[32];
    snprintf(key, sizeof key, "/load/%s%d", kind == ADD ? "count" : "", number);
    buf_reset(&c->batch);
    if (!l->is_floor) { /* a value to be found */
        if (kind != ADD)
            add_request(&c->batch, l, SET, key, n);
        add_ping(&c->batch);
        send_all(c->fd, c->batch.data, c->batch.len);
        receive_all(c->fd, 4);
        buf_reset(&c->batch);
    }
    for (int i = 0; i < depth; i++)
        add_request(&c->batch, l, kind, key, n);
    if (kind == SET)
        add_ping(&c->batch);
    size_t answer = kinds[kind].answer + (kinds[kind].has_value ? (size_t)n : 0);
    c->due = c->due_all = (size_t)depth * answer + kinds[kind].tail;
    if (l->is_floor)
        add_header(&c->batch, c->batch.len, c->due_all);
}

/* ---- a point ---- */

static void send_batch(struct conn *c)
{
    c->sent_ns = now_ns();
    send_all(c->fd, c->batch.data, c->batch.len);
}

static unsigned long long run(struct load *l, int epoll, uint64_t until_ns)
{
    static char waste[1 << 18];
    unsigned long long batches = 0;
    struct epoll_event ready[EVENTS];
    while (now_ns() < until_ns) {
        int n = epoll_wait(epoll, ready, EVENTS, 1000);
        for (int i = 0; i < n; i++) {
            struct conn *c = ready[i].data.ptr;
            ssize_t m = recv(c->fd, waste, sizeof waste, 0);
            if (m <= 0)
                die("recv");
            c->due -= (size_t)m;
            if (c->due)
                continue;
            batches++;
            l->times[step_of(now_ns() - c->sent_ns)]++;
            c->due = c->due_all;
            send_batch(c);
        }
    }
    return batches;
}

static void point(struct load *l, struct conn *all, int nconns, int epoll, int kind, int n,
                  int depth)
{
    for (int i = 0; i < nconns; i++)
        prepare(l, &all[i], i, kind, n, depth);
    for (int i = 0; i < nconns; i++)
        send_batch(&all[i]);
    memset(l->times, 0, sizeof l->times);
    double cpu = cpu_ns(l->pid);
    uint64_t begin = now_ns();
    unsigned long long batches = run(l, epoll, begin + (uint64_t)(l->seconds * 1e9));
    double took = (double)(now_ns() - begin) / 1e9, requests = (double)batches * depth;
    printf("%-11s %7d %5d %3d %10.0f %9.1f %9.1f %8.3f\n", kinds[kind].name, n, nconns, depth,
           requests / took, quantile_us(l, batches, 0.5), quantile_us(l, batches, 0.99),
           requests > 0 ? (cpu_ns(l->pid) - cpu) / 1000 / requests : 0);
    fflush(stdout);
    for (int i = 0; i < nconns; i++)
        receive_all(all[i].fd, all[i].due);
}

static void points(struct load *l, int nconns)
{
    struct conn *all = mem_alloc((size_t)nconns, sizeof *all);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < nconns; i++) {
        open_conn(l, &all[i]);
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &all[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].fd, &ev);
    }
    for (const int *n = l->bytes; *n; n++) {
        bool is_large = *n > LARGE;
        int deep = is_large ? DEEP_LARGE : DEEP;
        for (int kind = 0; kind < KINDS && !(is_large && nconns > LARGE_CONNECTIONS); kind++)
            for (int depth = 1; depth <= deep; depth += deep - 1)
                if (!is_large || kind == SET || kind == GET || kind == COMPARE_SET)
                    point(l, all, nconns, epoll, kind, *n, depth);
    }
    for (int i = 0; i < nconns; i++) {
        close_at_once(all[i].fd);
        buf_fini(&all[i].batch);
    }
    close(epoll);
    free(all);
}

/* "1,64,1000": positive numbers, ended by 0. */
static void parse_list(const char *text, int out[LIST_MAX])
{
    int i = 0;
    for (; *text && i < LIST_MAX - 1; text += *text == ',') {
        char *end;
        long v = strtol(text, &end, 10);
        if (end == text || v < 1 || v > 8 << 20 || (*end && *end != ','))
            break;
        out[i++] = (int)v;
        text = end;
    }
    if (*text || !i) {
        fprintf(stderr, "usage: %s\n", usage);
        exit(2);
    }
    out[i] = 0;
}

int main(int argc, char **argv)
{
    struct load l = {.seconds = 1, .pid = ""};
    parse_list("1,8,64,1000", l.conns);
    parse_list("64", l.bytes);
    for (int o; (o = getopt(argc, argv, "fs:p:c:b:")) != -1;) {
        if (o == 'f')
            l.is_floor = true;
        else if (o == 's')
            l.seconds = strtod(optarg, NULL);
        else if (o == 'p')
            l.pid = optarg;
        else if (o == 'c')
            parse_list(optarg, l.conns);
        else if (o == 'b')
            parse_list(optarg, l.bytes);
        else
            optind = argc;
    }
    l.to = parse_address(argv[optind], usage);
    raise_files();
    int most = 0;
    for (const int *n = l.bytes; *n; n++)
        most = *n > most ? *n : most;
    l.value = mem_alloc((size_t)most, 1);
    memset(l.value, 'v', (size_t)most);
    for (const int *n = l.conns; *n; n++)
        points(&l, *n);
    free(l.value);
    return 0;
}
