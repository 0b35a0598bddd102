#include "rendezvous/store_server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/mem.h"

enum {
    APPLY_BYTES = 256 * 1024, /* answers gathered before they are sent */
    APPLY_COUNT = 64,         /* more of them keep the first waiting and gain nothing */
    DRAIN_MAX = 1 << 20,
};

struct store_server {
    struct server_env *env;
    struct store *store;
    struct store_effects fx;
    struct list conns;
    struct list ending; /* those that have a deadline, in its order */
    size_t count, handles;
    uv_check_t after_poll;    /* sends what this round of reading has gathered, */
    uv_prepare_t before_poll; /* and nothing stays behind while the loop waits */
    uv_idle_t turns;          /* runs while woken waiters wait for their slice */
    uv_timer_t linger;        /* the first deadline of ending */
    bool is_closing;
    uv_buf_t *parts; /* scratch of send */
    struct blob **blobs;
    size_t parts_cap, blobs_cap;
    void (*on_closed)(void *ctx);
    void *ctx;
};

struct server_conn {
    struct store_conn wait; /* first: effects name it */
    struct wire_decoder decoder;
    struct store_server *server;
    uv_tcp_t *tcp;
    struct list link;   /* in conns */
    struct list ending; /* in server->ending */
    uint64_t deadline_ms;
    char *stash; /* read, not decoded: the client does not take its answers */
    size_t stash_len;
    struct peer_ip ip;
    bool is_legacy, is_paused, is_ending, is_closing;
};

/* What libuv still has to send; blobs are held until then. */
struct pending {
    uv_write_t req;
    struct server_conn *conn;
    size_t blob_count;
    struct blob **blobs;
    char bytes[];
};

static void on_turn(uv_idle_t *h);
/* Sends all answers that were gathered. */
static void apply(struct store_server *s);

/* ---- helpers for connections */

void server_drain(struct uv_tcp_s *tcp)
{
    uv_os_fd_t fd;
    char waste[4096];
    if (uv_fileno((uv_handle_t *)tcp, &fd) != 0)
        return;
    for (size_t n = 0; n < DRAIN_MAX; n += sizeof waste)
        if (recv(fd, waste, sizeof waste, MSG_DONTWAIT) <= 0)
            return;
}

void server_peer_text(const struct uv_tcp_s *tcp, char *text)
{
    struct sockaddr_storage addr;
    int len = sizeof addr;
    char host[46];
    text[0] = '\0';
    if (uv_tcp_getpeername(tcp, (struct sockaddr *)&addr, &len) != 0)
        return;
    if (addr.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&addr;
        bool mapped = IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr);
        uv_ip6_name(in6, host, sizeof host);
        snprintf(text, 64, mapped ? "%s:%u" : "[%s]:%u", mapped ? strrchr(host, ':') + 1 : host,
                 ntohs(in6->sin6_port));
    } else {
        const struct sockaddr_in *in4 = (const struct sockaddr_in *)&addr;
        uv_ip4_name(in4, host, sizeof host);
        snprintf(text, 64, "%s:%u", host, ntohs(in4->sin_port));
    }
}

static void note(struct server_conn *c, enum server_note_kind kind, enum wire_reason reason,
                 struct str key)
{
    struct server_env *env = c->server->env;
    if (!env->on_note)
        return;
    struct server_note n = {.kind = kind, .reason = reason, .key = key};
    server_peer_text(c->tcp, n.peer);
    env->on_note(env->ctx, &n);
}

/* ---- ends */

static void maybe_finish(struct store_server *s)
{
    if (!s->is_closing || s->handles)
        return;
    assert(!s->count);
    void (*on_closed)(void *) = s->on_closed;
    void *ctx = s->ctx;
    store_free(s->store);
    store_effects_fini(&s->fx);
    free(s->parts);
    free(s->blobs);
    free(s);
    if (on_closed)
        on_closed(ctx);
}

static void on_handle_closed(uv_handle_t *h)
{
    struct store_server *s = h->data;
    s->handles--;
    maybe_finish(s);
}

static void on_conn_closed(uv_handle_t *h)
{
    struct server_conn *c = h->data;
    struct store_server *s = c->server;
    wire_decoder_fini(&c->decoder);
    free(c->stash);
    free(c->tcp);
    free(c);
    s->handles--;
    maybe_finish(s);
}

/* It takes no further part: nothing of it is left in the store. */
static void leave_store(struct server_conn *c)
{
    if (c->is_ending)
        return;
    c->is_ending = true;
    struct store_event ev = {.kind = STORE_EV_CLOSED, .conn = &c->wait};
    store_step(c->server->store, &ev, &c->server->fx);
    if (c->is_legacy)
        peers_legacy_end(c->server->env->peers, &c->ip);
}

static void conn_close(struct server_conn *c)
{
    if (c->is_closing)
        return;
    leave_store(c);
    c->is_closing = true;
    list_remove(&c->link);
    list_remove(&c->ending);
    c->server->count--;
    server_drain(c->tcp);
    uv_close((uv_handle_t *)c->tcp, on_conn_closed);
}

static void on_linger(uv_timer_t *t);

static void arm_linger(struct store_server *s)
{
    if (list_is_empty(&s->ending) || s->is_closing) {
        uv_timer_stop(&s->linger);
        return;
    }
    uint64_t at = list_first(&s->ending, struct server_conn, ending)->deadline_ms;
    uint64_t now = uv_now(s->env->loop);
    uv_timer_start(&s->linger, on_linger, at > now ? at - now : 0, 0);
}

static void on_linger(uv_timer_t *t)
{
    struct store_server *s = t->data;
    uint64_t now = uv_now(s->env->loop);
    while (!list_is_empty(&s->ending)) {
        struct server_conn *c = list_first(&s->ending, struct server_conn, ending);
        if (c->deadline_ms > now)
            break;
        conn_close(c);
    }
    arm_linger(s);
}

struct ending_req {
    uv_shutdown_t req;
    bool then_close;
};

static void on_shutdown(uv_shutdown_t *req, int status)
{
    struct server_conn *c = req->handle->data;
    bool then_close = ((struct ending_req *)req)->then_close;
    free(req);
    if (then_close || status < 0)
        conn_close(c);
}

/* Sends what is due, then ends our direction. A client that still speaks is read, unheard,
 * until it closes too or time is over: closing with unread input would reset it. */
static void conn_end(struct server_conn *c, bool client_has_ended)
{
    apply(c->server);
    if (c->is_closing)
        return;
    leave_store(c);
    if (client_has_ended && !uv_stream_get_write_queue_size((uv_stream_t *)c->tcp)) {
        conn_close(c);
        return;
    }
    struct ending_req *req = mem_alloc(1, sizeof *req);
    req->then_close = client_has_ended;
    if (uv_shutdown(&req->req, (uv_stream_t *)c->tcp, on_shutdown) != 0) {
        free(req);
        conn_close(c);
        return;
    }
    c->deadline_ms = uv_now(c->server->env->loop) + c->server->env->linger_ms;
    list_push(&c->server->ending, &c->ending);
    arm_linger(c->server);
}

/* ---- sending */

static void resume(struct server_conn *c);

static void on_written(uv_write_t *req, int status)
{
    struct pending *p = (struct pending *)req;
    struct server_conn *c = p->conn;
    for (size_t i = 0; i < p->blob_count; i++)
        blob_unref(p->blobs[i]);
    free(p->blobs);
    free(p);
    if (status < 0 && status != UV_ECANCELED)
        conn_close(c);
    else if (c->is_paused && !c->is_closing
             && uv_stream_get_write_queue_size((uv_stream_t *)c->tcp)
                    <= c->server->env->max_unsent / 2)
        resume(c);
}

/* Leaves the rest to libuv: small parts are copied, blobs are held. */
static void send_later(struct server_conn *c, uv_buf_t *parts, struct blob **blobs, size_t n)
{
    size_t bytes = 0, held = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += blobs[i] ? 0 : parts[i].len;
        held += blobs[i] != NULL;
    }
    struct pending *p = mem_alloc(1, sizeof *p + bytes);
    p->conn = c;
    p->blobs = held ? mem_alloc(held, sizeof(struct blob *)) : NULL;
    char *to = p->bytes;
    for (size_t i = 0; i < n; i++) {
        if (blobs[i]) {
            p->blobs[p->blob_count++] = blob_ref(blobs[i]);
            continue;
        }
        memcpy(to, parts[i].base, parts[i].len);
        parts[i].base = to;
        to += parts[i].len;
    }
    if (uv_write(&p->req, (uv_stream_t *)c->tcp, parts, (unsigned)n, on_written) != 0) {
        for (size_t i = 0; i < p->blob_count; i++)
            blob_unref(p->blobs[i]);
        free(p->blobs);
        free(p);
        conn_close(c);
    }
}

static void send_parts(struct server_conn *c, uv_buf_t *parts, struct blob **blobs, size_t n)
{
    if (c->is_closing || !n)
        return;
    int sent = uv_try_write((uv_stream_t *)c->tcp, parts, (unsigned)n);
    if (sent < 0 && sent != UV_EAGAIN) {
        conn_close(c);
        return;
    }
    size_t left = sent > 0 ? (size_t)sent : 0, i = 0;
    while (i < n && left >= parts[i].len)
        left -= parts[i++].len;
    if (i == n)
        return;
    parts[i].base += left;
    parts[i].len -= left;
    send_later(c, parts + i, blobs + i, n - i);
}

static struct server_conn *owner(struct store_conn *conn)
{
    return (struct server_conn *)conn;
}

/* The answers that begin at *at, up to those of another connection; *at is then behind them. */
static size_t gather(struct store_server *s, size_t *at)
{
    struct store_conn *conn = s->fx.items[*at].conn;
    size_t n = 0;
    for (; *at < s->fx.count && s->fx.items[*at].conn == conn; ++*at) {
        const struct store_effect *item = &s->fx.items[*at];
        if (item->kind == STORE_FX_CLOSE)
            continue;
        array_grow(s->parts, n, s->parts_cap);
        array_grow(s->blobs, n, s->blobs_cap);
        s->blobs[n] = item->blob;
        s->parts[n++] = item->blob
                            ? uv_buf_init(item->blob->data, (unsigned)item->blob->len)
                            : uv_buf_init(s->fx.bytes.data + item->at, (unsigned)item->len);
    }
    return n;
}

static void apply(struct store_server *s)
{
    for (size_t at = 0; at < s->fx.count;) {
        struct server_conn *c = owner(s->fx.items[at].conn);
        size_t n = gather(s, &at); /* before the arrays are read: it may move them */
        send_parts(c, s->parts, s->blobs, n);
    }
    store_effects_reset(&s->fx);
    if (store_has_ready(s->store))
        uv_idle_start(&s->turns, on_turn);
}

static void on_before_poll(uv_prepare_t *h)
{
    apply(h->data);
}

static void on_after_poll(uv_check_t *h)
{
    apply(h->data);
}

/* ---- receiving */

/* Keeps what is left of the input and stops reading until the client takes its answers. */
static void pause_reading(struct server_conn *c, struct str rest)
{
    assert(!c->stash);
    c->is_paused = true;
    c->stash = rest.n ? mem_dup(rest.p, rest.n) : NULL;
    c->stash_len = rest.n;
    uv_read_stop((uv_stream_t *)c->tcp);
}

/* What follows the rest that pause_reading has kept. */
static void stash_add(struct server_conn *c, struct str more)
{
    if (!more.n)
        return;
    c->stash = mem_realloc(c->stash, c->stash_len + more.n, 1);
    memcpy(c->stash + c->stash_len, more.p, more.n);
    c->stash_len += more.n;
}

/* Sends when enough has been gathered, which closes connections that broke. */
static void send_gathered(struct store_server *s)
{
    if (s->fx.total > APPLY_BYTES || s->fx.count > APPLY_COUNT)
        apply(s);
}

/* False when the client has too much unsent. */
static bool has_room(const struct server_conn *c)
{
    return uv_stream_get_write_queue_size((uv_stream_t *)c->tcp) <= c->server->env->max_unsent;
}

static bool is_refused(struct server_conn *c)
{
    const struct store_effects *fx = &c->server->fx;
    if (!fx->count || fx->items[fx->count - 1].kind != STORE_FX_CLOSE)
        return false;
    const struct store_effect *item = &fx->items[fx->count - 1];
    assert(item->conn == &c->wait);
    note(c, item->why == STORE_REFUSED_FULL ? SERVER_NOTE_STORE_FULL : SERVER_NOTE_NOT_NUMBER,
         WIRE_BAD_NONE, (struct str){fx->bytes.data + item->at, item->len});
    return true;
}

/* One move of the decoder; false when there is no more to do, *bad if the connection must end.
 */
static bool serve_next(struct server_conn *c, struct str *in, bool *bad)
{
    struct store_server *s = c->server;
    struct store_event ev = {.conn = &c->wait};
    switch (wire_decode(&c->decoder, in, &ev.request)) {
    case WIRE_MORE:
        return false;
    case WIRE_BEGUN:
        ev.kind = STORE_EV_BEGUN;
        store_step(s->store, &ev, &s->fx);
        return true;
    case WIRE_REQUEST:
        ev.kind = STORE_EV_REQUEST;
        ev.now_ms = uv_now(s->env->loop);
        s->env->counts.requests[ev.request->query]++;
        store_step(s->store, &ev, &s->fx);
        *bad = is_refused(c);
        return !*bad;
    case WIRE_BAD:
        note(c, SERVER_NOTE_BAD_REQUEST, wire_bad(&c->decoder), (struct str){0});
        *bad = true;
        return false;
    }
    return false;
}

static void serve(struct server_conn *c, struct str in)
{
    bool bad = false;
    for (;;) {
        send_gathered(c->server);
        if (c->is_ending)
            return;
        if (!has_room(c)) {
            pause_reading(c, in);
            break;
        }
        if (!serve_next(c, &in, &bad))
            break;
    }
    if (bad)
        conn_end(c, false);
}

static void on_turn(uv_idle_t *h)
{
    struct store_server *s = h->data;
    store_step(s->store, &(struct store_event){.kind = STORE_EV_TURN}, &s->fx);
    apply(s);
    if (!store_has_ready(s->store))
        uv_idle_stop(h);
}

static void on_alloc(uv_handle_t *h, size_t size, uv_buf_t *out)
{
    struct server_conn *c = h->data;
    struct server_env *env = c->server->env;
    size_t room;
    char *rest = wire_room(&c->decoder, &room);
    (void)size;
    if (rest && room >= env->slab_size)
        *out = uv_buf_init(rest, (unsigned)room);
    else
        *out = uv_buf_init(env->slab, (unsigned)env->slab_size);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *in)
{
    struct server_conn *c = stream->data;
    if (n == UV_EOF) {
        if (c->is_ending)
            conn_close(c);
        else
            conn_end(c, true);
    } else if (n < 0) {
        conn_close(c);
    } else if (n > 0 && !c->is_ending) {
        serve(c, (struct str){in->base, (size_t)n});
    }
}

static void read_on(struct server_conn *c)
{
    if (!c->is_closing && !c->is_paused
        && uv_read_start((uv_stream_t *)c->tcp, on_alloc, on_read) != 0)
        conn_close(c);
}

static void resume(struct server_conn *c)
{
    char *stash = c->stash;
    struct str in = {stash, c->stash_len};
    c->is_paused = false;
    c->stash = NULL;
    serve(c, in);
    free(stash);
    read_on(c);
}

/* ---- life */

struct store_server *store_server_new(struct server_env *env)
{
    struct store_server *s = mem_alloc(1, sizeof *s);
    s->env = env;
    s->store = store_new(env->seed, env->max_bytes);
    store_effects_init(&s->fx);
    list_init(&s->conns);
    list_init(&s->ending);
    uv_idle_init(env->loop, &s->turns);
    uv_timer_init(env->loop, &s->linger);
    uv_prepare_init(env->loop, &s->before_poll);
    uv_check_init(env->loop, &s->after_poll);
    s->before_poll.data = s;
    s->after_poll.data = s;
    uv_prepare_start(&s->before_poll, on_before_poll);
    uv_check_start(&s->after_poll, on_after_poll);
    uv_unref((uv_handle_t *)&s->before_poll);
    uv_unref((uv_handle_t *)&s->after_poll);
    s->turns.data = s;
    s->linger.data = s;
    s->handles = 4;
    return s;
}

void store_server_take(struct store_server *s, struct uv_tcp_s *tcp, const struct peer_ip *ip,
                       enum wire_dialect dialect, struct str first, struct str more)
{
    assert(!s->is_closing);
    struct server_conn *c = mem_alloc(1, sizeof *c);
    c->server = s;
    c->tcp = tcp;
    c->ip = *ip;
    c->is_legacy = dialect == WIRE_LEGACY;
    tcp->data = c;
    store_conn_init(&c->wait);
    wire_decoder_init(&c->decoder, dialect, &s->env->limits);
    list_init(&c->ending);
    list_push(&s->conns, &c->link);
    s->count++;
    s->handles++;
    if (c->is_legacy)
        peers_legacy_begin(s->env->peers, ip);
    serve(c, first);
    if (c->is_paused)
        stash_add(c, more);
    else if (!c->is_ending && more.n)
        serve(c, more);
    read_on(c);
}

size_t store_server_connections(const struct store_server *s)
{
    return s->count;
}

const struct store *store_server_store(const struct store_server *s)
{
    return s->store;
}

struct each_wait {
    bool (*fn)(void *ctx, const struct server_wait *w);
    void *ctx;
};

static bool tell_wait(void *ctx, const struct store_conn *conn, struct str key)
{
    const struct each_wait *each = ctx;
    const struct server_conn *c = (const struct server_conn *)conn;
    struct server_wait w = {.pid = conn->nonce,
                            .since_ms = conn->since_ms,
                            .is_barrier = conn->is_barrier,
                            .key = key};
    server_peer_text(c->tcp, w.peer);
    return each->fn(each->ctx, &w);
}

void store_server_each_wait(const struct store_server *s,
                            bool (*fn)(void *ctx, const struct server_wait *w), void *ctx)
{
    struct each_wait each = {fn, ctx};
    store_each_wait(s->store, tell_wait, &each);
}

void store_server_close(struct store_server *s, void (*on_closed)(void *ctx), void *ctx)
{
    apply(s);
    s->is_closing = true;
    s->on_closed = on_closed;
    s->ctx = ctx;
    while (!list_is_empty(&s->conns))
        conn_close(list_first(&s->conns, struct server_conn, link));
    uv_close((uv_handle_t *)&s->before_poll, on_handle_closed);
    uv_close((uv_handle_t *)&s->after_poll, on_handle_closed);
    uv_close((uv_handle_t *)&s->turns, on_handle_closed);
    uv_close((uv_handle_t *)&s->linger, on_handle_closed);
}
