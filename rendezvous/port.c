#include "rendezvous/port.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"

enum {
    SLAB = 64 * 1024,
    KEEP_IDLE_S = 30,
    KEEP_INTERVAL_S = 10,
    KEEP_COUNT = 3,
    DESCRIPTORS_LEFT = 16, /* so few left: a note */
};

struct port {
    struct server_env env;
    struct port_options opt;
    uv_tcp_t listener;
    uv_timer_t timer; /* the first deadline of undecided */
    struct store_server *server;
    struct list undecided; /* newcomer.link, in the order of their deadlines */
    struct list kept;      /* silent ones that may stay */
    size_t newcomers;
    size_t pending; /* handles and servers that are not closed yet */
    unsigned generation;
    bool is_open, is_closing, is_low; /* is_low: the note about descriptors is out */
    rlim_t descriptors;               /* limit of open files when the port was opened */
    uint16_t number;
    char address[INET6_ADDRSTRLEN];
    void (*on_closed)(void *ctx);
    void *ctx;
};

/* A connection that has not said who it is. */
struct newcomer {
    struct list link;
    struct port *port;
    uv_tcp_t *tcp;
    struct peer_ip ip;
    uint64_t deadline_ms;
    unsigned generation; /* in which it was accepted */
    unsigned char len;
    bool is_kept;
    char first[WIRE_DETECT_MAX];
};

struct port_options port_options_default(void)
{
    return (struct port_options){
        .address = "127.0.0.1",
        .backlog = 65535,
        .legacy = true,
        .first_ms = 10000,
        .linger_ms = 10000,
        .max_unsent = 1u << 20,
        .max_bytes = (size_t)1 << 30,
        .limits = wire_limits_default(),
    };
}

static void note(struct port *p, const uv_tcp_t *tcp, struct server_note n)
{
    if (!p->opt.on_note)
        return;
    if (tcp)
        server_peer_text(tcp, n.peer);
    p->opt.on_note(p->opt.ctx, &n);
}

/* ---- ends */

static void maybe_finish(void *ctx)
{
    struct port *p = ctx;
    if (--p->pending)
        return;
    void (*on_closed)(void *) = p->on_closed;
    void *user = p->ctx;
    peers_free(p->env.peers);
    free(p->env.slab);
    free(p);
    if (on_closed)
        on_closed(user);
}

static void on_handle_closed(uv_handle_t *h)
{
    maybe_finish(h->data);
}

static void on_refused_closed(uv_handle_t *h)
{
    struct port *p = h->data;
    free(h);
    maybe_finish(p);
}

/* Forgets the newcomer; its connection is the caller's. */
static uv_tcp_t *newcomer_end(struct newcomer *n)
{
    uv_tcp_t *tcp = n->tcp;
    if (n->is_kept)
        peers_silent_end(n->port->env.peers, &n->ip);
    list_remove(&n->link);
    n->port->newcomers--;
    free(n);
    return tcp;
}

static void close_tcp(struct port *p, uv_tcp_t *tcp)
{
    tcp->data = p;
    p->pending++;
    server_drain(tcp);
    uv_close((uv_handle_t *)tcp, on_refused_closed);
}

static void refuse(struct newcomer *n, enum server_note_kind kind, enum wire_reason reason)
{
    struct port *p = n->port;
    note(p, n->tcp, (struct server_note){.kind = kind, .reason = reason, .ip = n->ip});
    p->env.counts.refused++;
    close_tcp(p, newcomer_end(n));
}

/* ---- admission */

static bool is_admitted(const struct port *p, const uv_tcp_t *tcp)
{
    struct sockaddr_storage near, far;
    int near_len = sizeof near, far_len = sizeof far;
    if (!p->opt.admit)
        return true;
    return uv_tcp_getsockname(tcp, (struct sockaddr *)&near, &near_len) == 0
           && uv_tcp_getpeername(tcp, (struct sockaddr *)&far, &far_len) == 0
           && p->opt.admit(p->opt.ctx, (struct sockaddr *)&near, (struct sockaddr *)&far);
}

/* ---- time */

static void on_timer(uv_timer_t *t);

static void arm_timer(struct port *p)
{
    if (list_is_empty(&p->undecided)) {
        uv_timer_stop(&p->timer);
        return;
    }
    uint64_t at = list_first(&p->undecided, struct newcomer, link)->deadline_ms;
    uint64_t now = uv_now(p->env.loop);
    uv_timer_start(&p->timer, on_timer, at > now ? at - now : 0, 0);
}

/* It has spoken, and we were late to listen: stopped, or busy with other newcomers. */
static bool has_unread(const uv_tcp_t *tcp)
{
    uv_os_fd_t fd;
    char byte;
    return uv_fileno((const uv_handle_t *)tcp, &fd) == 0
           && recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void on_timer(uv_timer_t *t)
{
    struct port *p = t->data;
    uint64_t now = uv_now(p->env.loop);
    while (!list_is_empty(&p->undecided)) {
        struct newcomer *n = list_first(&p->undecided, struct newcomer, link);
        if (n->deadline_ms > now)
            break;
        if (has_unread(n->tcp)) {
            n->deadline_ms = now + p->opt.first_ms;
            list_remove(&n->link);
            list_push(&p->undecided, &n->link);
            continue;
        }
        if (n->len || !peers_silent_keep(p->env.peers, &n->ip)) {
            refuse(n, SERVER_NOTE_SILENT, WIRE_BAD_NONE);
            continue;
        }
        n->is_kept = true;
        if (!is_admitted(p, n->tcp)) {
            refuse(n, SERVER_NOTE_NOT_ADMITTED, WIRE_BAD_NONE);
            continue;
        }
        list_remove(&n->link);
        list_push(&p->kept, &n->link);
    }
    arm_timer(p);
}

/* ---- first bytes */

static void decide_store(struct newcomer *n, enum wire_dialect dialect, struct str first,
                         struct str more)
{
    struct port *p = n->port;
    if (!p->is_open) {
        refuse(n, SERVER_NOTE_GATE_CLOSED, WIRE_BAD_NONE);
    } else if (n->generation != p->generation) {
        refuse(n, SERVER_NOTE_OLD_GENERATION, WIRE_BAD_NONE);
    } else if (!is_admitted(p, n->tcp)) {
        refuse(n, SERVER_NOTE_NOT_ADMITTED, WIRE_BAD_NONE);
    } else {
        struct peer_ip ip = n->ip;
        char copy[WIRE_DETECT_MAX];
        if (first.p == n->first) {
            memcpy(copy, n->first, first.n);
            first.p = copy;
        }
        uv_tcp_t *tcp = newcomer_end(n);
        uv_read_stop((uv_stream_t *)tcp);
        store_server_take(p->server, tcp, &ip, dialect, first, more);
    }
}

static void decide_link(struct newcomer *n, struct str first, struct str more)
{
    struct port *p = n->port;
    if (!p->opt.on_link) {
        refuse(n, SERVER_NOTE_NO_LINK, WIRE_BAD_NONE);
        return;
    }
    struct buf all;
    buf_init(&all, 0);
    buf_add(&all, first.p, first.n);
    buf_add(&all, more.p, more.n);
    uv_tcp_t *tcp = newcomer_end(n);
    uv_read_stop((uv_stream_t *)tcp);
    tcp->data = NULL;
    p->opt.on_link(p->opt.ctx, tcp, (struct str){all.data, all.len});
    buf_fini(&all);
}

/* What was read: first (since the beginning), then more. */
static void decide(struct newcomer *n, struct str first, struct str more)
{
    struct port *p = n->port;
    enum wire_reason why;
    switch (wire_detect(first.p, first.n, &p->opt.limits, p->opt.legacy, &why)) {
    case WIRE_CLIENT_UNDECIDED:
        assert(first.n < WIRE_DETECT_MAX && !more.n);
        if (first.p != n->first)
            memcpy(n->first, first.p, first.n);
        n->len = (unsigned char)first.n;
        break;
    case WIRE_CLIENT_MODERN:
        decide_store(n, WIRE_MODERN, first, more);
        break;
    case WIRE_CLIENT_LEGACY:
        decide_store(n, WIRE_LEGACY, first, more);
        break;
    case WIRE_CLIENT_LINK:
        decide_link(n, first, more);
        break;
    case WIRE_CLIENT_REFUSED:
        refuse(n, SERVER_NOTE_STRANGER, why);
        break;
    }
}

static void on_alloc(uv_handle_t *h, size_t size, uv_buf_t *out)
{
    struct newcomer *n = h->data;
    (void)size;
    *out = uv_buf_init(n->port->env.slab, SLAB);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *in)
{
    struct newcomer *n = stream->data;
    struct port *p = n->port;
    if (got < 0) {
        close_tcp(p, newcomer_end(n));
        return;
    }
    struct str chunk = {in->base, (size_t)got};
    if (!got)
        return;
    if (!n->len) {
        decide(n, chunk, (struct str){0});
        return;
    }
    size_t room = sizeof n->first - n->len, m = chunk.n < room ? chunk.n : room;
    memcpy(n->first + n->len, chunk.p, m);
    decide(n, (struct str){n->first, n->len + m}, (struct str){chunk.p + m, chunk.n - m});
}

/* ---- arrivals */

static void check_descriptors(struct port *p, const uv_tcp_t *tcp)
{
    uv_os_fd_t fd;
    if (p->is_low || uv_fileno((const uv_handle_t *)tcp, &fd) != 0
        || (rlim_t)fd < p->descriptors - DESCRIPTORS_LEFT)
        return;
    p->is_low = true;
    note(p, NULL,
         (struct server_note){.kind = SERVER_NOTE_DESCRIPTORS_LOW, .value = p->descriptors});
}

static void welcome(struct port *p, uv_tcp_t *tcp)
{
    struct newcomer *n = mem_alloc(1, sizeof *n);
    struct sockaddr_storage addr;
    int len = sizeof addr;
    n->port = p;
    n->tcp = tcp;
    n->generation = p->generation;
    n->deadline_ms = uv_now(p->env.loop) + p->opt.first_ms;
    tcp->data = n;
    if (uv_tcp_getpeername(tcp, (struct sockaddr *)&addr, &len) == 0)
        n->ip = peer_ip_from((struct sockaddr *)&addr);
    list_push(&p->undecided, &n->link);
    p->newcomers++;
    p->env.counts.accepted++;
    check_descriptors(p, tcp);
    if (!uv_is_active((uv_handle_t *)&p->timer))
        arm_timer(p);
    if (uv_read_start((uv_stream_t *)tcp, on_alloc, on_read) != 0)
        close_tcp(p, newcomer_end(n));
}

/* Out of descriptors, libuv gives up its spare one to accept and close what waits. */
static void on_connection(uv_stream_t *listener, int status)
{
    struct port *p = listener->data;
    if (status < 0) {
        note(p, NULL, (struct server_note){.kind = SERVER_NOTE_ACCEPT_FAILED, .sys = -status});
        return;
    }
    uv_tcp_t *tcp = mem_alloc(1, sizeof *tcp);
    uv_tcp_init(p->env.loop, tcp);
    if (uv_accept(listener, (uv_stream_t *)tcp) != 0)
        close_tcp(p, tcp);
    else
        welcome(p, tcp);
}

/* Accepts what the kernel holds, as connections of the generation that ends. */
static void drain_backlog(struct port *p)
{
    uv_os_fd_t listener;
    if (uv_fileno((uv_handle_t *)&p->listener, &listener) != 0)
        return;
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0)
            return;
        uv_tcp_t *tcp = mem_alloc(1, sizeof *tcp);
        uv_tcp_init(p->env.loop, tcp);
        if (uv_tcp_open(tcp, fd) != 0) {
            close(fd);
            close_tcp(p, tcp);
        } else {
            welcome(p, tcp);
        }
    }
}

/* ---- opening */

static int parse_address(const struct port_options *opt, struct sockaddr_storage *out)
{
    const char *text = opt->address && *opt->address ? opt->address : "::";
    if (uv_ip4_addr(text, opt->port, (struct sockaddr_in *)out) == 0)
        return 0;
    return uv_ip6_addr(text, opt->port, (struct sockaddr_in6 *)out) == 0 ? 0 : -1;
}

/* Accepted sockets inherit these from the listener. */
static void set_options(uv_os_fd_t fd)
{
    const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEP_COUNT},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                   sizeof options[i].value);
}

static int listen_on(struct port *p, const struct sockaddr_storage *addr)
{
    uv_os_fd_t fd;
    int rc = uv_tcp_bind(&p->listener, (const struct sockaddr *)addr, 0);
    if (rc == 0 && uv_fileno((uv_handle_t *)&p->listener, &fd) == 0)
        set_options(fd);
    return rc ? rc : uv_listen((uv_stream_t *)&p->listener, p->opt.backlog, on_connection);
}

static void read_name(struct port *p)
{
    struct sockaddr_storage addr;
    int len = sizeof addr;
    if (uv_tcp_getsockname(&p->listener, (struct sockaddr *)&addr, &len) != 0)
        return;
    if (addr.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&addr;
        uv_ip6_name(in6, p->address, sizeof p->address);
        p->number = ntohs(in6->sin6_port);
    } else {
        const struct sockaddr_in *in4 = (const struct sockaddr_in *)&addr;
        uv_ip4_name(in4, p->address, sizeof p->address);
        p->number = ntohs(in4->sin_port);
    }
}

/* Of a listening socket TCP_INFO tells its queue: tcpi_sacked is the limit (tcp_get_info). */
static void check_backlog(struct port *p)
{
    struct tcp_info info;
    socklen_t len = sizeof info;
    uv_os_fd_t fd;
    if (uv_fileno((const uv_handle_t *)&p->listener, &fd) != 0
        || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
        return;
    if (info.tcpi_sacked < 1024 && info.tcpi_sacked < (unsigned)p->opt.backlog)
        note(
            p, NULL,
            (struct server_note){.kind = SERVER_NOTE_BACKLOG_SMALL, .value = info.tcpi_sacked});
}

static struct port *port_new(struct uv_loop_s *loop, const struct port_options *opt)
{
    struct port *p = mem_alloc(1, sizeof *p);
    p->opt = *opt;
    p->opt.address = NULL; /* not ours to keep */
    p->env = (struct server_env){
        .loop = loop,
        .limits = opt->limits,
        .max_bytes = opt->max_bytes,
        .max_unsent = opt->max_unsent,
        .linger_ms = opt->linger_ms,
        .slab = mem_realloc(NULL, SLAB, 1),
        .slab_size = SLAB,
        .peers = peers_new(),
        .ctx = opt->ctx,
        .on_note = opt->on_note,
    };
    memcpy(p->env.seed, opt->seed, sizeof p->env.seed);
    struct rlimit limit;
    p->descriptors = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
    list_init(&p->undecided);
    list_init(&p->kept);
    uv_tcp_init(loop, &p->listener);
    uv_timer_init(loop, &p->timer);
    p->listener.data = p->timer.data = p;
    p->pending = 2;
    return p;
}

struct port *port_open(struct uv_loop_s *loop, const struct port_options *opt, struct err *e)
{
    struct sockaddr_storage addr;
    if (parse_address(opt, &addr) != 0) {
        err_set(e, ERR_USAGE, "\"%s\" is no numeric address to listen on", opt->address);
        return NULL;
    }
    struct port *p = port_new(loop, opt);
    int rc = listen_on(p, &addr);
    if (rc == UV_EAFNOSUPPORT && (!opt->address || !*opt->address)) {
        uv_ip4_addr("0.0.0.0", opt->port, (struct sockaddr_in *)&addr);
        rc = listen_on(p, &addr);
    }
    if (rc != 0) {
        err_sys(e, -rc, "cannot listen on %s port %u",
                opt->address && *opt->address ? opt->address : "any address", opt->port);
        if (e)
            e->code = ERR_UNAVAILABLE;
        port_close(p, NULL, NULL);
        return NULL;
    }
    read_name(p);
    check_backlog(p);
    p->server = store_server_new(&p->env);
    p->is_open = true;
    return p;
}

uint16_t port_number(const struct port *p)
{
    return p->number;
}

const char *port_address(const struct port *p)
{
    return p->address;
}

/* ---- generations */

void port_gate_close(struct port *p)
{
    p->is_open = false;
}

static void close_server(struct port *p)
{
    if (!p->server)
        return;
    p->pending++;
    store_server_close(p->server, maybe_finish, p);
    p->server = NULL;
}

static void close_list(struct port *p, struct list *newcomers)
{
    while (!list_is_empty(newcomers))
        close_tcp(p, newcomer_end(list_first(newcomers, struct newcomer, link)));
}

void port_generation_next(struct port *p)
{
    p->is_open = false;
    close_list(p, &p->kept);
    close_server(p);
    drain_backlog(p);
    p->generation++;
    p->server = store_server_new(&p->env);
    p->is_open = true;
}

/* ---- questions and the end */

void port_counts(const struct port *p, struct port_counts *out)
{
    const struct store *store = store_server_store(p->server);
    *out = (struct port_counts){
        .connections = store_server_connections(p->server),
        .joined = store_joined(store),
        .undecided = p->newcomers,
        .keys = store_keys(store),
        .bytes = store_bytes(store),
        .all = p->env.counts,
    };
}

bool port_store_value(const struct port *p, const char *key, struct buf *out)
{
    char text[STORE_NUMBER_MAX];
    struct str value;
    if (!store_find(store_server_store(p->server), str_from(key), text, &value))
        return false;
    buf_add(out, value.p, value.n);
    return true;
}

void port_each_wait(const struct port *p, bool (*fn)(void *ctx, const struct server_wait *w),
                    void *ctx)
{
    store_server_each_wait(p->server, fn, ctx);
}

void port_close(struct port *p, void (*on_closed)(void *ctx), void *ctx)
{
    assert(!p->is_closing);
    p->is_closing = true;
    p->on_closed = on_closed;
    p->ctx = ctx;
    close_list(p, &p->undecided);
    close_list(p, &p->kept);
    close_server(p);
    uv_close((uv_handle_t *)&p->listener, on_handle_closed);
    uv_close((uv_handle_t *)&p->timer, on_handle_closed);
}
