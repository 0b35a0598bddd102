/* Load for any TCPStore server: store_load HOST:PORT [SECONDS [PID [CONNECTIONS]]].
 *
 * One line a point: query, connections, requests in flight on each, requests a second, and the
 * server's CPU time for one in microseconds if its PID is given. Every batch ends in a reply;
 * SET has none, so a PING follows it (not counted). */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rendezvous/tcpstore_wire.h"

enum { DEEP = 32, VALUE = 32, EVENTS = 256 };

static const char value[VALUE] = "0123456789abcdef0123456789abcdef";

struct kind {
    const char *name;
    size_t answer, tail; /* bytes of an answer, of the end of a batch */
};

enum { SET, GET, ADD, WAIT, COMPARE_SET, KINDS };

static const struct kind kinds[KINDS] = {
    [SET] = {"set", 0, 4},
    [GET] = {"get", 8 + VALUE, 0},
    [ADD] = {"add", 8, 0},
    [WAIT] = {"wait", 1, 0},
    [COMPARE_SET] = {"compare_set", 8 + VALUE, 0},
};

struct conn {
    int fd;
    struct buf batch;
    size_t due, due_all;
};

static void add_request(struct buf *b, int kind, const char *key)
{
    static const enum wire_query queries[KINDS] = {[SET] = WIRE_SET,
                                                   [GET] = WIRE_GET,
                                                   [ADD] = WIRE_ADD,
                                                   [WAIT] = WIRE_WAIT,
                                                   [COMPARE_SET] = WIRE_COMPARE_SET};
    wire_add_query(b, queries[kind]);
    if (kind == WAIT)
        buf_add_u64le(b, 1);
    wire_add_bytes(b, key, strlen(key));
    if (kind == ADD)
        wire_add_i64(b, 1);
    if (kind == SET || kind == COMPARE_SET)
        wire_add_bytes(b, value, VALUE);
    if (kind == COMPARE_SET)
        wire_add_bytes(b, value, VALUE);
}

static void add_ping(struct buf *b)
{
    wire_add_query(b, WIRE_PING);
    buf_add_u32le(b, 7);
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void send_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t m = send(fd, p, n, MSG_NOSIGNAL);
        if (m < 0)
            die("send");
        p += m;
        n -= (size_t)m;
    }
}

static void receive_all(int fd, size_t n)
{
    char waste[4096];
    while (n) {
        ssize_t m = recv(fd, waste, n < sizeof waste ? n : sizeof waste, 0);
        if (m <= 0)
            die("recv");
        n -= (size_t)m;
    }
}

/* Connected, greeted and with its own key set. */
static void open_conn(struct conn *c, const struct sockaddr_in *to, int kind, int depth,
                      int number)
{
    char key[32], counter[32];
    snprintf(key, sizeof key, "/load/%d", number);
    snprintf(counter, sizeof counter, "/count/%d", number);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)to, sizeof *to) != 0)
        die("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    buf_init(&c->batch, 0);
    wire_add_validate(&c->batch);
    add_request(&c->batch, SET, key);
    add_ping(&c->batch);
    send_all(c->fd, c->batch.data, c->batch.len);
    receive_all(c->fd, 4);
    buf_reset(&c->batch);
    for (int i = 0; i < depth; i++)
        add_request(&c->batch, kind, kind == ADD ? counter : key);
    if (kind == SET)
        add_ping(&c->batch);
    c->due_all = (size_t)depth * kinds[kind].answer + kinds[kind].tail;
    c->due = c->due_all;
}

/* CPU time of a process in ns; 0 if it is not known. */
static double cpu_ns(const char *pid)
{
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/%s/schedstat", pid);
    FILE *f = pid[0] ? fopen(path, "r") : NULL;
    double ns = f && fgets(text, sizeof text, f) ? strtod(text, NULL) : 0;
    if (f)
        fclose(f);
    return ns;
}

static unsigned long long run(int epoll, uint64_t until_ms)
{
    unsigned long long batches = 0;
    struct epoll_event ready[EVENTS];
    char waste[65536];
    while (now_ms() < until_ms) {
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
            c->due = c->due_all;
            send_all(c->fd, c->batch.data, c->batch.len);
        }
    }
    return batches;
}

static void point(const struct sockaddr_in *to, int kind, int conns, int depth, double seconds,
                  const char *pid)
{
    struct conn *all = mem_alloc((size_t)conns, sizeof *all);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < conns; i++) {
        open_conn(&all[i], to, kind, depth, i);
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &all[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].fd, &ev);
    }
    for (int i = 0; i < conns; i++)
        send_all(all[i].fd, all[i].batch.data, all[i].batch.len);
    double cpu = cpu_ns(pid);
    uint64_t begin = now_ns();
    unsigned long long batches = run(epoll, now_ms() + (uint64_t)(seconds * 1000));
    double took = (double)(now_ns() - begin) / 1e9, requests = (double)batches * (double)depth;
    printf("%-11s %5d %3d %10.0f %8.3f\n", kinds[kind].name, conns, depth, requests / took,
           requests > 0 ? (cpu_ns(pid) - cpu) / 1000 / requests : 0);
    fflush(stdout);
    for (int i = 0; i < conns; i++) {
        receive_all(all[i].fd, all[i].due);
        close(all[i].fd);
        buf_fini(&all[i].batch);
    }
    close(epoll);
    free(all);
}

int main(int argc, char **argv)
{
    static const int conns[] = {1, 8, 64, 1000};
    struct sockaddr_in to = {.sin_family = AF_INET};
    char host[64];
    unsigned port;
    if (argc < 2 || sscanf(argv[1], "%63[^:]:%u", host, &port) != 2
        || inet_pton(AF_INET, host, &to.sin_addr) != 1) {
        fprintf(stderr, "usage: store_load HOST:PORT [SECONDS [PID [CONNECTIONS]]]\n");
        return 2;
    }
    to.sin_port = htons((uint16_t)port);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
    const char *pid = argc > 3 ? argv[3] : "";
    int only = argc > 4 ? atoi(argv[4]) : 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof conns / sizeof *conns; i++)
            for (int depth = 1; depth <= DEEP; depth += DEEP - 1)
                if (!only || only == conns[i])
                    point(&to, kind, conns[i], depth, seconds, pid);
    return 0;
}
