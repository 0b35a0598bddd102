/* Many clients of one TCPStore server at a time: store_crowd [-f] WHAT HOST:PORT N PID
 *
 * WHAT        prints
 *
 * idle        resident memory of the server for each, in bytes
 *
 * release     five times, for N waiters and one SET: ms until the waiter that came last hears
 *             of it; ms until all have been read; ms of CPU time that the server took
 *
 * init        N clients as torch's init_process_group makes them: connect, VALIDATE and PING,
 *             ADD init/, then the store's barrier: ADD, the last one SETs, all WAIT; then
 *             rank 0 SETs a unique id that all WAIT for and GET: six round trips. In ms: the
 *             time, the server's CPU time, this program's own
 *
 * PID is the server's process, or its thread as PID/task/TID. -f: to store_floor, the same
 * round trips and bytes. All sockets of this process wait in one epoll, as many processes would
 * in the kernel. */
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
#include "store_floor.h"

enum { EVENTS = 256, ID_BYTES = 128, ADD_REPLY = 8, RELEASES = 5 };

static const char usage[] = "store_crowd [-f] idle|release|init HOST:PORT N PID";

/* What a client of init waits for. */
enum step { PINGED, JOINED, ARRIVED, RELEASED, ID_THERE, ID_READ, STEPS };

static const size_t replies[STEPS] = {
    [PINGED] = 4,   [JOINED] = ADD_REPLY, [ARRIVED] = ADD_REPLY,
    [RELEASED] = 1, [ID_THERE] = 1,       [ID_READ] = 8 + ID_BYTES,
};

struct client {
    int fd;
    enum step step;
    size_t got;
    char reply[8 + ID_BYTES];
};

struct crowd {
    struct sockaddr_in to;
    const char *pid; /* the server's */
    int n, epoll;
    bool is_floor;
    char gate[32], arrived[48], last[48], id[48]; /* keys, of this process only */
    struct client *all;
    struct buf out;
};

static void add_wait(struct buf *b, const char *key)
{
    wire_add_query(b, WIRE_WAIT);
    buf_add_u64le(b, 1);
    wire_add_bytes(b, key, strlen(key));
}

static void add_set(struct buf *b, const char *key, size_t n)
{
    static const char value[ID_BYTES];
    wire_add_query(b, WIRE_SET);
    wire_add_bytes(b, key, strlen(key));
    wire_add_bytes(b, value, n);
}

static void add_add(struct buf *b, const char *key)
{
    wire_add_query(b, WIRE_ADD);
    wire_add_bytes(b, key, strlen(key));
    wire_add_i64(b, 1);
}

static void flush(struct crowd *w, int fd)
{
    send_all(fd, w->out.data, w->out.len);
    buf_reset(&w->out);
}

/* The same number of bytes to store_floor. */
static void ask_floor(struct crowd *w, size_t request, size_t answer)
{
    static const char zeros[256];
    buf_add_u64le(&w->out, request);
    buf_add_u64le(&w->out, answer);
    buf_add(&w->out, zeros, request);
}

static void greet(struct crowd *w, int fd)
{
    if (w->is_floor) {
        ask_floor(w, 10, replies[PINGED]);
    } else {
        wire_add_validate(&w->out);
        add_ping(&w->out);
    }
    flush(w, fd);
}

/* A round trip of one that was greeted before. */
static void ping(struct crowd *w, int fd)
{
    if (w->is_floor)
        ask_floor(w, 5, replies[PINGED]);
    else
        add_ping(&w->out);
    flush(w, fd);
    receive_all(fd, replies[PINGED]);
}

static void open_all(struct crowd *w)
{
    w->all = mem_alloc((size_t)w->n, sizeof *w->all);
    for (int i = 0; i < w->n; i++) {
        w->all[i].fd = connect_to(&w->to);
        greet(w, w->all[i].fd);
    }
    for (int i = 0; i < w->n; i++)
        receive_all(w->all[i].fd, replies[PINGED]);
}

static void close_all(struct crowd *w)
{
    for (int i = 0; i < w->n; i++)
        close_at_once(w->all[i].fd);
    free(w->all);
}

/* ---- idle, release ---- */

static void idle(struct crowd *w)
{
    int n = w->n;
    w->n = 100; /* what the first ones make the server allocate for all */
    open_all(w);
    close_all(w);
    w->n = n;
    double before = resident_bytes(w->pid);
    open_all(w);
    printf("%.0f\n", (resident_bytes(w->pid) - before) / n);
    close_all(w);
}

static double ms_since(uint64_t begin_ns)
{
    return (double)(now_ns() - begin_ns) / 1e6;
}

static void wait_all(struct crowd *w, int setter)
{
    for (int i = 0; i < w->n; i++) {
        if (w->is_floor)
            ask_floor(w, 24, PARK);
        else
            add_wait(&w->out, w->gate);
        flush(w, w->all[i].fd);
    }
    ping(w, setter); /* whoever is answered now came after them all */
}

static void release_once(struct crowd *w, int setter)
{
    double cpu = cpu_ns(w->pid);
    uint64_t begin = now_ns();
    if (w->is_floor)
        ask_floor(w, 24, RELEASE);
    else
        add_set(&w->out, w->gate, 1);
    flush(w, setter);
    /* the last first: to be woken for each would take longer than the release */
    receive_all(w->all[w->n - 1].fd, replies[RELEASED]);
    double last = ms_since(begin);
    for (int i = w->n - 2; i >= 0; i--)
        receive_all(w->all[i].fd, replies[RELEASED]);
    double all = ms_since(begin);
    ping(w, setter); /* the server has done with it */
    printf("%.3f %.3f %.3f\n", last, all, (cpu_ns(w->pid) - cpu) / 1e6);
}

static void release(struct crowd *w)
{
    int setter = connect_to(&w->to);
    greet(w, setter);
    receive_all(setter, replies[PINGED]);
    open_all(w);
    for (int round = 0; round < RELEASES; round++) {
        snprintf(w->gate, sizeof w->gate, "/%d/gate%d", getpid(), round);
        wait_all(w, setter);
        release_once(w, setter);
    }
    close_at_once(setter);
    close_all(w);
}

/* ---- init ---- */

/* What a client asks for when it has got here. */
static void ask(struct crowd *w, const struct client *c, enum step next)
{
    static const size_t requests[STEPS] = {
        [JOINED] = 21, [ARRIVED] = 49, [RELEASED] = 60, [ID_THERE] = 42, [ID_READ] = 34};
    if (w->is_floor) {
        ask_floor(w, requests[next], replies[next]);
        return;
    }
    switch (next) {
    case JOINED:
        add_add(&w->out, "init/");
        return;
    case ARRIVED:
        add_add(&w->out, w->arrived);
        return;
    case RELEASED:
        if (wire_u64(c->reply) == (uint64_t)w->n)
            add_set(&w->out, w->last, 1);
        add_wait(&w->out, w->last);
        return;
    case ID_THERE:
        if (c == w->all)
            add_set(&w->out, w->id, ID_BYTES);
        add_wait(&w->out, w->id);
        return;
    case ID_READ:
        wire_add_query(&w->out, WIRE_GET);
        wire_add_bytes(&w->out, w->id, strlen(w->id));
        return;
    case PINGED:
    case STEPS:
        return;
    }
}

/* False once it has all it wanted. */
static bool go_on(struct crowd *w, struct client *c)
{
    ssize_t m = recv(c->fd, c->reply + c->got, replies[c->step] - c->got, 0);
    if (m <= 0)
        die("recv");
    c->got += (size_t)m;
    if (c->got < replies[c->step])
        return true;
    if (++c->step == STEPS)
        return false;
    ask(w, c, c->step);
    c->got = 0;
    flush(w, c->fd);
    return true;
}

static void start(struct crowd *w, struct client *c)
{
    c->fd = connect_to(&w->to);
    greet(w, c->fd);
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(w->epoll, EPOLL_CTL_ADD, c->fd, &ev);
}

static void init(struct crowd *w)
{
    struct epoll_event ready[EVENTS];
    int left = w->n;
    /* as long as /default_pg/..., and a second job may follow on the same server */
    snprintf(w->arrived, sizeof w->arrived, "/pg%08d/barrier/arrived", getpid());
    snprintf(w->last, sizeof w->last, "/pg%08d/barrier/last_worker", getpid());
    snprintf(w->id, sizeof w->id, "/pg%08d/0//cuda//0", getpid());
    w->all = mem_alloc((size_t)w->n, sizeof *w->all);
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    double cpu = cpu_ns(w->pid), own = cpu_ns("self");
    uint64_t begin = now_ns();
    for (int i = 0; i < w->n; i++)
        start(w, &w->all[i]);
    while (left) {
        int n = epoll_wait(w->epoll, ready, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            struct client *c = ready[i].data.ptr;
            if (!go_on(w, c)) {
                epoll_ctl(w->epoll, EPOLL_CTL_DEL, c->fd, NULL);
                left--;
            }
        }
    }
    double all = ms_since(begin);
    printf("%.3f %.3f %.3f\n", all, (cpu_ns(w->pid) - cpu) / 1e6, (cpu_ns("self") - own) / 1e6);
    close(w->epoll);
    close_all(w);
}

int main(int argc, char **argv)
{
    bool is_floor = false;
    for (int o; (o = getopt(argc, argv, "f")) != -1;) {
        is_floor = o == 'f';
        optind = o == 'f' ? optind : argc;
    }
    char **rest = argv + optind; /* WHAT HOST:PORT N PID */
    bool is_whole = argc - optind == 4;
    struct crowd w = {.to = parse_address(is_whole ? rest[1] : NULL, usage),
                      .pid = rest[3],
                      .n = atoi(rest[2]),
                      .is_floor = is_floor};
    buf_init(&w.out, 0);
    raise_files();
    if (w.n < 1)
        die("no number of clients");
    if (strcmp(rest[0], "idle") == 0)
        idle(&w);
    else if (strcmp(rest[0], "release") == 0)
        release(&w);
    else if (strcmp(rest[0], "init") == 0)
        init(&w);
    else
        parse_address(NULL, usage);
    buf_fini(&w.out);
    return 0;
}
