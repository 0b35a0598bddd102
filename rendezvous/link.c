#include "rendezvous/link_state.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "rendezvous/store_server.h"

enum {
    READ_MIN = 4 * 1024,
    READ_MAX = 64 * 1024,
    KEEP = 64 * 1024, /* a buffer that grew beyond is given back once it is empty */
    KEEP_IDLE_S = 2,
    KEEP_INTERVAL_S = 2,
    KEEP_COUNT = 3,
    CONTROL_PAUSE = 'p', /* the whole of a control frame */
    CONTROL_RESUME = 'r',
};

struct outgoing {
    uv_write_t req;
    struct link *link;
    char *data;
};

struct link_options link_options_default(void)
{
    return (struct link_options){.handshake_ms = 5000,
                                 .finish_ms = 5000,
                                 .connect_ms = 10000,
                                 .until_ms = 30000,
                                 .user_timeout_ms = 8000};
}

/* ---- sockets */

static void set_option(const uv_tcp_t *tcp, int level, int name, int value)
{
    uv_os_fd_t fd;
    if (uv_fileno((const uv_handle_t *)tcp, &fd) == 0)
        setsockopt(fd, level, name, &value, sizeof value);
}

static void set_user_timeout(const uv_tcp_t *tcp, unsigned ms)
{
    set_option(tcp, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)ms);
}

void link_set_options(const struct link *l, const uv_tcp_t *tcp)
{
    set_option(tcp, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(tcp, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(tcp, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S);
    set_option(tcp, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S);
    set_option(tcp, IPPROTO_TCP, TCP_KEEPCNT, KEEP_COUNT);
    set_user_timeout(tcp, l->opt.user_timeout_ms);
}

/* ---- ends */

static void maybe_finish(struct link *l)
{
    if (--l->pending)
        return;
    if (l->opt.on_closed)
        l->opt.on_closed(l->opt.ctx, l, l->has_why ? &l->why : NULL);
    dial_free(l->dial);
    buf_fini(&l->plain);
    free(l->runs);
    free(l->candidates);
    free(l);
}

static void on_timer_closed(uv_handle_t *h)
{
    maybe_finish(h->data);
}

static void on_conn_closed(uv_handle_t *h)
{
    struct conn *c = h->data;
    struct link *l = c->link;
    free(c->tcp);
    link_auth_free(c->auth);
    buf_fini(&c->in);
    free(c);
    maybe_finish(l);
}

/* Without unread bytes, which would turn the end into a reset that overtakes what was sent. */
static void conn_close(struct conn *c)
{
    struct link *l = c->link;
    if (c->is_closing)
        return;
    c->is_closing = true;
    if (l->runs && l->runs[c->candidate] == c)
        l->runs[c->candidate] = NULL;
    server_drain(c->tcp);
    uv_close((uv_handle_t *)c->tcp, on_conn_closed);
}

void link_end(struct link *l, const struct err *why)
{
    if (l->state == LINK_CLOSED)
        return;
    l->state = LINK_CLOSED;
    if (why) {
        l->has_why = true;
        l->why = *why;
    }
    if (l->conn)
        conn_close(l->conn);
    for (size_t i = 0; i < l->ncandidates; i++)
        if (l->runs[i])
            conn_close(l->runs[i]);
    uv_close((uv_handle_t *)&l->timer, on_timer_closed);
}

/* ---- time */

static void on_timer(uv_timer_t *t);

void link_arm(struct link *l)
{
    uint64_t at = UINT64_MAX, now = uv_now(l->loop);
    if (l->state == LINK_CLOSED)
        return;
    if (l->conn)
        at = l->conn->deadline_ms;
    else if (l->dial)
        at = dial_deadline(l->dial);
    for (size_t i = 0; i < l->ncandidates; i++)
        if (l->runs[i] && l->runs[i]->deadline_ms < at)
            at = l->runs[i]->deadline_ms;
    if (l->is_resumed || (l->state == LINK_FORMING && l->dial && dial_is_over(l->dial, now)))
        at = now;
    if (at == UINT64_MAX)
        uv_timer_stop(&l->timer);
    else
        uv_timer_start(&l->timer, on_timer, at > now ? at - now : 0, 0);
}

/* ---- what goes wrong */

/* How far a refused handshake got. Who is no muster may make room for one. */
static enum dial_failure judge(struct err *e)
{
    if (e->code != ERR_PROTOCOL)
        return DIAL_REFUSED;
    e->code = ERR_UNAVAILABLE;
    return DIAL_STRANGER;
}

void link_conn_failed(struct conn *c, enum dial_failure how, struct err *e)
{
    struct link *l = c->link;
    err_wrap(e, "%s", c->peer);
    if (l->conn == c) {
        link_end(l, e);
        return;
    }
    size_t candidate = c->candidate;
    conn_close(c);
    dial_failed(l->dial, candidate, how, e, uv_now(l->loop));
    if (l->opt.on_try)
        l->opt.on_try(l->opt.ctx, l, candidate, e);
    link_arm(l);
}

static void conn_late(struct conn *c)
{
    struct err e;
    if (c->link->state == LINK_FINISHED) {
        err_set(&e, ERR_CLOSED, "did not close the connection in time");
        link_conn_failed(c, DIAL_STRANGER, &e);
    } else if (!c->auth) {
        err_set(&e, ERR_UNAVAILABLE, "did not answer in %llu ms",
                (unsigned long long)c->link->opt.connect_ms);
        link_conn_failed(c, DIAL_UNREACHED, &e);
    } else {
        err_set(&e, ERR_UNAVAILABLE, "did not say in %llu ms who it is",
                (unsigned long long)c->link->opt.handshake_ms);
        link_conn_failed(c, DIAL_STRANGER, &e);
    }
}

static void conn_broke(struct conn *c, int status)
{
    struct err e;
    enum link_state state = c->link->state;
    if (state == LINK_FINISHED && status == UV_EOF) {
        link_end(c->link, NULL);
        return;
    }
    if (status == UV_EOF)
        err_set(&e, ERR_CLOSED, "%s",
                state == LINK_FORMING ? "closed the connection in the handshake"
                                      : "closed the connection without a farewell");
    else
        err_sys(&e, -status, "the connection broke");
    e.code = state == LINK_FORMING ? ERR_UNAVAILABLE : ERR_CLOSED;
    link_conn_failed(c, DIAL_STRANGER, &e);
}

/* ---- sending */

static void on_written(uv_write_t *req, int status)
{
    struct outgoing *out = req->data;
    struct link *l = out->link;
    free(out->data);
    free(out);
    if (l->state == LINK_CLOSED)
        return;
    if (l->state == LINK_FINISHED)
        l->conn->deadline_ms = uv_now(l->loop) + l->opt.finish_ms;
    if (status < 0)
        conn_broke(l->conn, status);
    else if (l->state == LINK_OPEN && !link_unsent(l) && l->opt.on_drained)
        l->opt.on_drained(l->opt.ctx, l);
}

/* Takes the bytes, which are freed. For the link's own connection. */
static void conn_write(struct conn *c, struct buf *bytes)
{
    if (!bytes->len) {
        buf_fini(bytes);
        return;
    }
    struct outgoing *out = mem_alloc(1, sizeof *out);
    uv_buf_t data = uv_buf_init(bytes->data, (unsigned)bytes->len);
    out->link = c->link;
    out->data = buf_steal(bytes);
    out->req.data = out;
    int rc = uv_write(&out->req, (uv_stream_t *)c->tcp, &data, 1, on_written);
    if (rc < 0) { /* the socket is no stream any more: reading tells why */
        free(out->data);
        free(out);
    }
}

void link_conn_tell(struct conn *c, struct buf *bytes)
{
    uv_buf_t data = uv_buf_init(bytes->data, (unsigned)bytes->len);
    if (bytes->len)
        uv_try_write((uv_stream_t *)c->tcp, &data, 1);
    buf_fini(bytes);
}

static void send_tagged(struct link *l, enum link_tag tag, struct str frame)
{
    struct buf bytes;
    buf_init(&bytes, 0);
    link_auth_seal(l->conn->auth, tag, frame, &bytes);
    conn_write(l->conn, &bytes);
}

bool link_is_open(const struct link *l)
{
    return l->state == LINK_OPEN;
}

bool link_is_named(const struct link *l)
{
    return l->is_named;
}

void link_send(struct link *l, struct str frame)
{
    if (l->state == LINK_OPEN)
        send_tagged(l, LINK_TAG_FRAME, frame);
}

size_t link_unsent(const struct link *l)
{
    return l->conn && l->state != LINK_CLOSED
               ? uv_stream_get_write_queue_size((const uv_stream_t *)l->conn->tcp)
               : 0;
}

/* ---- receiving */

static void take_control(struct link *l, struct str body)
{
    if (body.n == 1 && body.p[0] == CONTROL_PAUSE)
        set_user_timeout(l->conn->tcp, 0);
    else if (body.n == 1 && body.p[0] == CONTROL_RESUME)
        set_user_timeout(l->conn->tcp, l->opt.user_timeout_ms);
}

/* One frame; whether to go on. */
static bool take_frame(struct link *l, enum link_tag tag)
{
    struct str body = {l->plain.data, l->plain.len};
    switch (tag) {
    case LINK_TAG_FRAME:
        if (l->state == LINK_OPEN && l->opt.on_frame)
            l->opt.on_frame(l->opt.ctx, l, body);
        break;
    case LINK_TAG_CONTROL:
        take_control(l, body);
        break;
    case LINK_TAG_FINAL:
        link_end(l, NULL);
        break;
    }
    return l->state != LINK_CLOSED && !l->is_paused;
}

static void give_back(struct buf *b)
{
    if (b->cap > KEEP)
        buf_fini(b);
}

static void deliver(struct conn *c)
{
    struct link *l = c->link;
    struct str in = {c->in.data, c->in.len};
    enum link_tag tag;
    struct err e;
    enum link_unseal got = LINK_UNSEAL_MORE;
    while (l->state != LINK_CLOSED && !l->is_paused
           && (got = link_auth_unseal(c->auth, &in, &l->plain, &tag, &e)) == LINK_UNSEAL_DONE)
        if (!take_frame(l, tag))
            break;
    buf_consume(&c->in, c->in.len - in.n);
    if (!c->in.len)
        give_back(&c->in);
    give_back(&l->plain);
    if (l->state != LINK_CLOSED && got == LINK_UNSEAL_BAD)
        link_conn_failed(c, DIAL_REFUSED, &e);
}

/* The first that proved itself: the others are let go. */
static void opened(struct conn *c)
{
    struct link *l = c->link;
    l->conn = c;
    if (l->runs)
        l->runs[c->candidate] = NULL;
    for (size_t i = 0; l->runs && i < l->ncandidates; i++)
        if (l->runs[i])
            conn_close(l->runs[i]);
    c->deadline_ms = UINT64_MAX;
    l->state = LINK_OPEN;
    link_arm(l);
}

static void handshake(struct conn *c)
{
    struct link *l = c->link;
    struct str in = {c->in.data, c->in.len};
    struct buf out;
    struct err e;
    buf_init(&out, 0);
    enum link_auth_result got = link_auth_take(c->auth, &in, &out, &e);
    buf_consume(&c->in, c->in.len - in.n);
    l->is_named = l->is_named || link_auth_is_named(c->auth);
    switch (got) {
    case LINK_AUTH_MORE:
        link_conn_tell(c, &out);
        return;
    case LINK_AUTH_REFUSED: {
        link_conn_tell(c, &out);
        enum dial_failure how = judge(&e);
        link_conn_failed(c, how, &e);
        return;
    }
    case LINK_AUTH_OPEN:
        opened(c);
        conn_write(c, &out);
        if (l->opt.on_open)
            l->opt.on_open(l->opt.ctx, l, &(struct link_peer){c->peer, c->candidate});
        return;
    }
}

static void take_bytes(struct conn *c)
{
    if (c->link->state == LINK_FORMING)
        handshake(c);
    if (c->link->conn == c && c->link->state != LINK_FORMING)
        deliver(c);
}

static void on_alloc(uv_handle_t *h, size_t size, uv_buf_t *out)
{
    struct conn *c = h->data;
    struct str in = {c->in.data, c->in.len};
    size_t want = c->link->state == LINK_FORMING ? 0 : link_auth_need(c->auth, in) - in.n;
    (void)size;
    want = want < READ_MIN ? READ_MIN : want > READ_MAX ? READ_MAX : want;
    *out = uv_buf_init(buf_reserve(&c->in, want), (unsigned)want);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *in)
{
    struct conn *c = stream->data;
    (void)in;
    if (got < 0) {
        conn_broke(c, (int)got);
        return;
    }
    if (!got)
        return;
    buf_commit(&c->in, (size_t)got);
    take_bytes(c);
}

void link_conn_read(struct conn *c)
{
    int rc = uv_read_start((uv_stream_t *)c->tcp, on_alloc, on_read);
    if (rc < 0 && rc != UV_EALREADY)
        conn_broke(c, rc);
}

/* What came while reading was paused, then reading. */
static void resume(struct link *l)
{
    l->is_resumed = false;
    if (l->state != LINK_OPEN || l->is_paused)
        return;
    deliver(l->conn);
    if (l->state == LINK_OPEN && !l->is_paused)
        link_conn_read(l->conn);
}

/* ---- a new one */

struct conn *link_conn_new(struct link *l, uv_tcp_t *tcp)
{
    struct conn *c = mem_alloc(1, sizeof *c);
    c->link = l;
    c->tcp = tcp;
    tcp->data = c;
    c->connect.data = c;
    buf_init(&c->in, 0);
    l->pending++;
    return c;
}

static void on_timer(uv_timer_t *t)
{
    struct link *l = t->data;
    uint64_t now = uv_now(l->loop);
    if (l->is_resumed)
        resume(l);
    if (l->conn && l->state != LINK_CLOSED && l->conn->deadline_ms <= now)
        conn_late(l->conn);
    for (size_t i = 0; i < l->ncandidates && l->state == LINK_FORMING; i++)
        if (l->runs[i] && l->runs[i]->deadline_ms <= now)
            conn_late(l->runs[i]);
    if (l->dial && l->state == LINK_FORMING)
        link_dial_go_on(l);
    link_arm(l);
}

/* ---- life */

struct link *link_new(struct uv_loop_s *loop, const struct link_options *opt)
{
    struct link *l = mem_alloc(1, sizeof *l);
    assert(opt->key);
    l->loop = loop;
    l->opt = *opt;
    l->pending = 1;
    buf_init(&l->plain, 0);
    uv_update_time(loop);
    uv_timer_init(loop, &l->timer);
    l->timer.data = l;
    return l;
}

struct link *link_accept(struct uv_loop_s *loop, struct uv_tcp_s *tcp, struct str first,
                         const struct link_options *opt)
{
    struct link *l = link_new(loop, opt);
    struct buf nothing;
    struct conn *c = l->conn = link_conn_new(l, tcp);
    buf_init(&nothing, 0);
    c->auth = link_auth_new(opt->key, LINK_HEAD, &nothing);
    c->deadline_ms = uv_now(loop) + opt->handshake_ms;
    server_peer_text(tcp, c->peer);
    link_set_options(l, tcp);
    buf_add(&c->in, first.p, first.n);
    take_bytes(c);
    if (l->state != LINK_CLOSED)
        link_conn_read(c);
    link_arm(l);
    return l;
}

void link_pause(struct link *l, bool is_paused)
{
    char control = is_paused ? CONTROL_PAUSE : CONTROL_RESUME;
    if (l->state != LINK_OPEN || l->is_paused == is_paused)
        return;
    l->is_paused = is_paused;
    l->is_resumed = !is_paused;
    if (is_paused)
        uv_read_stop((uv_stream_t *)l->conn->tcp);
    send_tagged(l, LINK_TAG_CONTROL, (struct str){&control, 1});
    link_arm(l);
}

static void on_shutdown(uv_shutdown_t *req, int status)
{
    (void)req;
    (void)status; /* reading tells */
}

void link_finish(struct link *l)
{
    if (l->state == LINK_FORMING)
        link_end(l, NULL);
    if (l->state != LINK_OPEN)
        return;
    l->state = LINK_FINISHED;
    l->is_paused = l->is_resumed = false;
    l->conn->deadline_ms = uv_now(l->loop) + l->opt.finish_ms;
    send_tagged(l, LINK_TAG_FINAL, (struct str){"", 0});
    uv_shutdown(&l->shutdown, (uv_stream_t *)l->conn->tcp, on_shutdown);
    link_conn_read(l->conn);
    link_arm(l);
}

void link_close(struct link *l)
{
    link_end(l, NULL);
}
