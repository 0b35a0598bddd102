/* Load for any TCPStore server, for store_floor or for redis:
 *
 *   store_load HOST:PORT [-f|-r] [-s SECONDS] [-p PID] [-c CONNECTIONS,...] [-b BYTES,...]
 *
 * One line a point: query, bytes of a value, connections, requests in flight on each, requests
 * a second, the median and the 99th percentile of a batch's time in microseconds, and the
 * server's CPU time for one request in microseconds if its PID is given. Every batch ends in an
 * answer; SET has none, so a PING follows it (not counted). -f: to store_floor, the same bytes
 * both ways. -r: to redis, SET, GET and INCR, where it has their like. */
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
    HERD = 5000,           /* with more only GET and ADD: a point takes long */
    KEY_MAX = 32,
    STEPS = 16, /* of the histogram, in each power of two of nanoseconds */
};

static const char usage[] =
    "store_load HOST:PORT [-f|-r] [-s SECONDS] [-p PID] [-c CONNECTIONS,...]"
    " [-b BYTES,...]";

enum { SET, GET, ADD, WAIT, COMPARE_SET, KINDS };

static const struct kind {
    const char *name;
    enum wire_query query;
    const char *redis;   /* its name there */
    size_t lines;        /* of an answer of redis */
    size_t answer, tail; /* bytes of an answer beside the value, of the end of a batch */
    bool has_value;      /* an answer has one */
} kinds[KINDS] = {
    [SET] = {"set", WIRE_SET, "SET", 1, 0, 4, false},
    [GET] = {"get", WIRE_GET, "GET", 2, 8, 0, true},
    [ADD] = {"add", WIRE_ADD, "INCR", 1, 8, 0, false},
    [WAIT] = {"wait", WIRE_WAIT, NULL, 0, 1, 0, false},
    [COMPARE_SET] = {"compare_set", WIRE_COMPARE_SET, NULL, 0, 8, 0, true},
};

struct conn {
    int fd;
    struct buf batch;
    size_t due, due_all; /* bytes; from redis lines */
    uint64_t sent_ns;
};

struct load {
    struct sockaddr_in to;
    bool is_floor, is_redis;
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

/* RESP: how many words, then each with its length. */
static void add_redis(struct buf *b, const struct load *l, int kind, const char *key, int n)
{
    const char *name = kinds[kind].redis;
    buf_addf(b, "*%d\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", kind == SET ? 3 : 2, strlen(name), name,
             strlen(key), key);
    if (kind != SET)
        return;
    buf_addf(b, "$%d\r\n", n);
    buf_add(b, l->value, (size_t)n);
    buf_adds(b, "\r\n");
}

static void add_request(struct buf *b, const struct load *l, int kind, const char *key, int n)
{
    if (l->is_redis) {
        add_redis(b, l, kind, key, n);
        return;
    }
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
    if (l->is_floor || l->is_redis)
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

/* How much of what is due has come. */
static size_t received(const struct load *l, const char *p, size_t n)
{
    size_t lines = 0;
    if (!l->is_redis)
        return n;
    for (const char *end = p + n; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        lines++;
    return lines;
}

static void name_key(char key[KEY_MAX], int kind, int number)
{
    snprintf(key, KEY_MAX, "/load/%s%d", kind == ADD ? "count" : "", number);
}

/* Asks for what the batches want to find; the answer is due. */
static void send_first(const struct load *l, struct conn *c, int number, int kind, int n)
{
    char key[KEY_MAX];
    name_key(key, kind, number);
    buf_reset(&c->batch);
    if (kind != ADD)
        add_request(&c->batch, l, SET, key, n);
    if (!l->is_redis)
        add_ping(&c->batch);
    send_all(c->fd, c->batch.data, c->batch.len);
    c->due = !l->is_redis ? 4 : kind == ADD ? 0 : kinds[SET].lines;
}

static void prepare(const struct load *l, struct conn *c, int number, int kind, int n,
                    int depth)
{
    char key[KEY_MAX];
    name_key(key, kind, number);
    buf_reset(&c->batch);
    for (int i = 0; i < depth; i++)
        add_request(&c->batch, l, kind, key, n);
    if (kind == SET && !l->is_redis)
        add_ping(&c->batch);
    size_t answer = kinds[kind].answer + (kinds[kind].has_value ? (size_t)n : 0);
    c->due_all = l->is_redis ? (size_t)depth * kinds[kind].lines
                             : (size_t)depth * answer + kinds[kind].tail;
    c->due = c->due_all;
    if (l->is_floor)
        add_header(&c->batch, c->batch.len, c->due_all);
}

/* ---- a point ---- */

static void send_batch(struct conn *c)
{
    c->sent_ns = now_ns();
    send_all(c->fd, c->batch.data, c->batch.len);
}

static void receive_some(const struct load *l, struct conn *c)
{
    static char waste[1 << 18];
    ssize_t m = recv(c->fd, waste, sizeof waste, 0);
    if (m <= 0)
        die("recv");
    c->due -= received(l, waste, (size_t)m);
}

static void settle(const struct load *l, struct conn *all, int nconns)
{
    for (int i = 0; i < nconns; i++)
        while (all[i].due)
            receive_some(l, &all[i]);
}

/* Until the time is over and, in up to ten times of it, every connection had its turn: 10,000
 * that have one each need 0.1 s. */
static unsigned long long run(struct load *l, int epoll, unsigned long long least)
{
    unsigned long long batches = 0;
    struct epoll_event ready[EVENTS];
    uint64_t time_ns = (uint64_t)(l->seconds * 1e9), begin = now_ns();
    for (uint64_t took = 0; took < time_ns || (batches < least && took < 10 * time_ns);
         took = now_ns() - begin) {
        int n = epoll_wait(epoll, ready, EVENTS, 1000);
        for (int i = 0; i < n; i++) {
            struct conn *c = ready[i].data.ptr;
            receive_some(l, c);
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
    for (int i = 0; i < nconns && !l->is_floor; i++)
        send_first(l, &all[i], i, kind, n);
    settle(l, all, nconns);
    for (int i = 0; i < nconns; i++)
        prepare(l, &all[i], i, kind, n, depth);
    for (int i = 0; i < nconns; i++)
        send_batch(&all[i]);
    memset(l->times, 0, sizeof l->times);
    double cpu = cpu_ns(l->pid);
    uint64_t begin = now_ns();
    unsigned long long batches = run(l, epoll, 2 * (unsigned long long)nconns);
    double took = (double)(now_ns() - begin) / 1e9, requests = (double)batches * depth;
    printf("%-11s %7d %5d %3d %10.0f %9.1f %9.1f %8.3f\n", kinds[kind].name, n, nconns, depth,
           requests / took, quantile_us(l, batches, 0.5), quantile_us(l, batches, 0.99),
           requests > 0 ? (cpu_ns(l->pid) - cpu) / 1000 / requests : 0);
    fflush(stdout);
    settle(l, all, nconns);
}

static bool is_measured(const struct load *l, int kind, bool is_large, int nconns)
{
    if (l->is_redis && !kinds[kind].redis)
        return false;
    if (nconns > HERD)
        return !is_large && (kind == GET || kind == ADD);
    return is_large ? nconns <= LARGE_CONNECTIONS && kind != ADD && kind != WAIT : true;
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
        for (int kind = 0; kind < KINDS; kind++)
            for (int depth = 1; depth <= deep; depth += deep - 1)
                if (is_measured(l, kind, is_large, nconns))
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
    for (int o; (o = getopt(argc, argv, "frs:p:c:b:")) != -1;) {
        if (o == 'f')
            l.is_floor = true;
        else if (o == 'r')
            l.is_redis = true;
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
