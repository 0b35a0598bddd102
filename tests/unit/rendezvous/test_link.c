/* Links through real sockets of one loop: a listening port as the head, dialling nodes, and
 * peers that do as they like. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "rendezvous/link.h"
#include "rendezvous/port.h"

enum { FAR_MS = 3600000, PATIENCE_MS = 60000, PROOF = 32, REPLY = 72 };

/* What one end has seen. */
struct seen {
    struct link *link; /* NULL once closed */
    unsigned opened, closed, tries, drained;
    size_t candidate;
    char peer[64];
    bool has_why, is_named, close_on_open, close_on_frame, pause_on_open, is_open_at_open;
    struct err why, last_try;
    struct buf frames; /* one after the other, each followed by '|' */
    size_t bytes, nframes;
};

struct scene {
    uv_loop_t loop;
    struct port *port;
    struct link_key *head_key, *node_key;
    struct seen head, node;
    struct link_options head_options;
    unsigned accepted;
};

static const unsigned char secret_1[LINK_SECRET_SIZE] = "0123456789abcdef0123456789abcde",
                           secret_2[LINK_SECRET_SIZE] = "0123456789abcdef0123456789abcdf";

static void on_open(void *ctx, struct link *l, const struct link_peer *peer)
{
    struct seen *s = ctx;
    s->opened++;
    s->candidate = peer->candidate;
    s->is_open_at_open = link_is_open(l);
    snprintf(s->peer, sizeof s->peer, "%s", peer->address);
    if (s->close_on_open)
        link_close(l);
    if (s->pause_on_open)
        link_pause(l, true);
}

static void on_frame(void *ctx, struct link *l, struct str frame)
{
    struct seen *s = ctx;
    s->bytes += frame.n;
    s->nframes++;
    if (frame.n < 100) {
        buf_add(&s->frames, frame.p, frame.n);
        buf_addc(&s->frames, '|');
    }
    if (s->close_on_frame)
        link_close(l);
}

static void on_drained(void *ctx, struct link *l)
{
    (void)l;
    ((struct seen *)ctx)->drained++;
}

static void on_try(void *ctx, struct link *l, size_t candidate, const struct err *why)
{
    struct seen *s = ctx;
    (void)l;
    s->tries++;
    s->candidate = candidate;
    s->last_try = *why;
}

static void on_closed(void *ctx, struct link *l, const struct err *why)
{
    struct seen *s = ctx;
    assert_ptr_equal(s->link, l);
    s->closed++;
    s->link = NULL;
    s->has_why = why != NULL;
    s->is_named = link_is_named(l);
    if (why)
        s->why = *why;
}

static struct link_options options(struct seen *s, const struct link_key *key)
{
    struct link_options opt = link_options_default();
    opt.key = key;
    opt.handshake_ms = opt.finish_ms = opt.connect_ms = opt.until_ms = FAR_MS;
    opt.ctx = s;
    opt.on_open = on_open;
    opt.on_frame = on_frame;
    opt.on_drained = on_drained;
    opt.on_try = on_try;
    opt.on_closed = on_closed;
    return opt;
}

static void on_link(void *ctx, struct uv_tcp_s *tcp, struct str first)
{
    struct scene *sc = ctx;
    sc->accepted++;
    assert_null(sc->head.link);
    sc->head.link = link_accept(&sc->loop, tcp, first, &sc->head_options);
    assert_false(link_is_open(sc->head.link));
}

static struct link_key *key(const unsigned char *secret, const char *job)
{
    struct err e;
    struct link_key *k =
        secret ? link_key_from_secret(secret, job, &e) : link_key_from_id(job, &e);
    assert_non_null(k);
    return k;
}

/* A port whose nodes get links with head_key; the keys belong to the scene. */
static void scene_begin(struct scene *sc, struct link_key *head_key, struct link_key *node_key)
{
    struct port_options opt = port_options_default();
    struct err e;
    memset(sc, 0, sizeof *sc);
    assert_int_equal(uv_loop_init(&sc->loop), 0);
    buf_init(&sc->head.frames, 0);
    buf_init(&sc->node.frames, 0);
    sc->head_key = head_key;
    sc->node_key = node_key;
    sc->head_options = options(&sc->head, head_key);
    opt.ctx = sc;
    opt.on_link = on_link;
    sc->port = port_open(&sc->loop, &opt, &e);
    assert_non_null(sc->port);
}

static void scene_end(struct scene *sc)
{
    port_close(sc->port, NULL, NULL);
    if (sc->head.link)
        link_close(sc->head.link);
    if (sc->node.link)
        link_close(sc->node.link);
    assert_int_equal(uv_run(&sc->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&sc->loop), 0);
    assert_null(sc->head.link);
    assert_null(sc->node.link);
    buf_fini(&sc->head.frames);
    buf_fini(&sc->node.frames);
    link_key_free(sc->head_key);
    link_key_free(sc->node_key);
}

static void on_tick(uv_timer_t *t)
{
    (void)t;
}

static void on_tick_closed(uv_handle_t *h)
{
    *(bool *)h->data = true;
}

/* One round of callbacks, or a short while without one. */
static void turn(struct scene *sc)
{
    uv_timer_t tick;
    bool is_closed = false;
    uv_timer_init(&sc->loop, &tick);
    uv_timer_start(&tick, on_tick, 5, 0);
    uv_run(&sc->loop, UV_RUN_ONCE);
    tick.data = &is_closed;
    uv_close((uv_handle_t *)&tick, on_tick_closed);
    while (!is_closed)
        uv_run(&sc->loop, UV_RUN_NOWAIT);
}

#define UNTIL(sc, condition)                                                                   \
    do {                                                                                       \
        uint64_t until_end = now_ms() + PATIENCE_MS;                                           \
        while (!(condition)) {                                                                 \
            if (now_ms() > until_end)                                                          \
                fail_msg("never came: %s", #condition);                                        \
            turn(sc);                                                                          \
        }                                                                                      \
    } while (0)

static struct addr here(uint16_t port)
{
    struct addr a = {"127.0.0.1", port};
    return a;
}

static void dial_with(struct scene *sc, const struct addr *candidates, size_t n,
                      const struct link_options *opt)
{
    struct err e;
    sc->node.link = link_dial(&sc->loop, candidates, n, opt, &e);
    assert_non_null(sc->node.link);
}

static void dial(struct scene *sc)
{
    struct link_options opt = options(&sc->node, sc->node_key);
    struct addr to = here(port_number(sc->port));
    dial_with(sc, &to, 1, &opt);
}

static void open_scene(struct scene *sc)
{
    scene_begin(sc, key(secret_1, "job"), key(secret_1, "job"));
    dial(sc);
    UNTIL(sc, sc->head.opened && sc->node.opened);
}

/* ---- peers that do as they like: plain sockets */

static int raw_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    return fd;
}

static int raw_dial(struct scene *sc)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(port_number(sc->port)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = raw_socket();
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Bound but not listening: connections are refused, and nobody else gets the number. */
static int raw_bind(uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = raw_socket();
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static int raw_listen(uint16_t *port)
{
    int fd = raw_bind(port);
    assert_int_equal(listen(fd, 16), 0);
    return fd;
}

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static int raw_accept(struct scene *sc, int listener)
{
    UNTIL(sc, is_readable(listener));
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void say(int fd, const void *p, size_t n)
{
    assert_int_equal(send(fd, p, n, MSG_NOSIGNAL), (ssize_t)n);
}

static void hear(struct scene *sc, int fd, char *to, size_t n)
{
    while (n) {
        UNTIL(sc, is_readable(fd));
        ssize_t got = recv(fd, to, n, 0);
        assert_true(got > 0);
        to += got;
        n -= (size_t)got;
    }
}

/* End of stream, with nothing before it. */
static void hear_end(struct scene *sc, int fd)
{
    char byte;
    UNTIL(sc, is_readable(fd));
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
}

/* A node by hand, with a key of the scene; open at both ends when it returns. */
static struct link_auth *raw_join(struct scene *sc, int fd)
{
    struct buf out;
    struct err e;
    char reply[REPLY];
    buf_init(&out, 0);
    struct link_auth *a = link_auth_new(sc->node_key, LINK_NODE, &out);
    say(fd, out.data, out.len);
    buf_reset(&out);
    hear(sc, fd, reply, sizeof reply);
    struct str in = {reply, sizeof reply};
    assert_int_equal(link_auth_take(a, &in, &out, &e), LINK_AUTH_OPEN);
    say(fd, out.data, out.len);
    buf_fini(&out);
    UNTIL(sc, sc->head.opened);
    return a;
}

static void seal(struct link_auth *a, const char *text, struct buf *out)
{
    buf_init(out, 0);
    link_auth_seal(a, LINK_TAG_FRAME, str_from(text), out);
}

static void expect_why(const struct seen *s, enum err_code code, const char *text)
{
    assert_int_equal(s->closed, 1);
    assert_true(s->has_why);
    if (strncmp(s->why.text, "127.0.0.1:", 10) != 0 || !strstr(s->why.text, text))
        fail_msg("\"%s\" does not say \"%s\"", s->why.text, text);
    assert_int_equal(s->why.code, code);
}

/* ---- life */

static void frames_both_ways(void **state)
{
    struct scene sc;
    char want[64];
    (void)state;
    open_scene(&sc);
    assert_true(sc.head.is_open_at_open && sc.node.is_open_at_open);
    snprintf(want, sizeof want, "127.0.0.1:%u", port_number(sc.port));
    assert_string_equal(sc.node.peer, want);
    assert_int_equal(strncmp(sc.head.peer, "127.0.0.1:", 10), 0);
    link_send(sc.head.link, STR_LIT("plan"));
    link_send(sc.head.link, STR_LIT(""));
    link_send(sc.head.link, STR_LIT("start"));
    link_send(sc.node.link, STR_LIT("hello"));
    UNTIL(&sc, sc.node.nframes == 3 && sc.head.nframes == 1);
    assert_string_equal(buf_str(&sc.node.frames), "plan||start|");
    assert_string_equal(buf_str(&sc.head.frames), "hello|");
    scene_end(&sc);
    assert_false(sc.node.has_why);
}

static void an_orderly_end(void **state)
{
    (void)state;
    for (int who = 0; who < 3; who++) { /* the head, the node, both */
        struct scene sc;
        open_scene(&sc);
        link_send(sc.head.link, STR_LIT("last"));
        UNTIL(&sc, sc.node.nframes == 1);
        if (who != 1)
            link_finish(sc.head.link);
        if (who != 0)
            link_finish(sc.node.link);
        UNTIL(&sc, sc.head.closed && sc.node.closed);
        assert_false(sc.head.has_why);
        assert_false(sc.node.has_why);
        scene_end(&sc);
    }
}

static void all_is_sent_before_the_end(void **state)
{
    enum { FRAMES = 5, SIZE = 4 << 20 };
    struct scene sc;
    char *bytes = calloc(1, SIZE);
    (void)state;
    open_scene(&sc);
    for (int i = 0; i < FRAMES; i++)
        link_send(sc.node.link, (struct str){bytes, SIZE});
    assert_true(link_unsent(sc.node.link) > 0);
    link_finish(sc.node.link);
    link_send(sc.node.link, STR_LIT("dropped"));
    UNTIL(&sc, sc.head.closed && sc.node.closed);
    assert_int_equal(sc.head.nframes, FRAMES);
    assert_int_equal(sc.head.bytes, (size_t)FRAMES * SIZE);
    assert_false(sc.head.has_why || sc.node.has_why);
    free(bytes);
    scene_end(&sc);
}

static void the_largest_frame(void **state)
{
    struct scene sc;
    char *bytes = calloc(1, LINK_FRAME_MAX);
    (void)state;
    open_scene(&sc);
    link_send(sc.node.link, (struct str){bytes, LINK_FRAME_MAX});
    link_send(sc.node.link, STR_LIT("after"));
    UNTIL(&sc, sc.head.nframes == 2);
    assert_int_equal(sc.head.bytes, LINK_FRAME_MAX + 5);
    UNTIL(&sc, sc.node.drained);
    assert_int_equal(link_unsent(sc.node.link), 0);
    free(bytes);
    scene_end(&sc);
}

static void closing_in_callbacks(void **state)
{
    struct scene sc;
    (void)state;
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    sc.node.close_on_open = true;
    dial(&sc);
    UNTIL(&sc, sc.node.closed && sc.head.closed);
    assert_false(sc.node.has_why);
    scene_end(&sc);

    open_scene(&sc);
    sc.head.close_on_frame = true;
    link_send(sc.node.link, STR_LIT("one"));
    link_send(sc.node.link, STR_LIT("two"));
    UNTIL(&sc, sc.node.closed && sc.head.closed);
    assert_int_equal(sc.head.nframes, 1);
    assert_false(sc.head.has_why);
    expect_why(&sc.node, ERR_CLOSED, "closed the connection without a farewell");
    scene_end(&sc);
}

static void closing_while_dialling(void **state)
{
    struct scene sc;
    (void)state;
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    dial(&sc);
    link_finish(sc.node.link);
    UNTIL(&sc, sc.node.closed);
    assert_false(sc.node.has_why || sc.node.opened);
    dial(&sc);
    UNTIL(&sc, sc.accepted);
    link_close(sc.node.link);
    scene_end(&sc);
}

/* ---- sockets */

struct survey {
    int tcp, idle, interval, count, timeout, nodelay, untimed;
};

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t n = sizeof value;
    getsockopt(fd, level, name, &value, &n);
    return value;
}

static void look(uv_handle_t *h, void *arg)
{
    struct survey *s = arg;
    struct sockaddr_storage peer;
    socklen_t n = sizeof peer;
    uv_os_fd_t fd;
    if (h->type != UV_TCP || uv_fileno(h, &fd) != 0
        || getpeername(fd, (struct sockaddr *)&peer, &n) != 0)
        return;
    s->tcp++;
    s->idle += option(fd, IPPROTO_TCP, TCP_KEEPIDLE) == 2;
    s->interval += option(fd, IPPROTO_TCP, TCP_KEEPINTVL) == 2;
    s->count += option(fd, IPPROTO_TCP, TCP_KEEPCNT) == 3;
    s->timeout += option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) == 8000;
    s->untimed += option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) == 0;
    s->nodelay +=
        option(fd, IPPROTO_TCP, TCP_NODELAY) == 1 && option(fd, SOL_SOCKET, SO_KEEPALIVE) == 1;
}

static struct survey survey(struct scene *sc)
{
    struct survey s = {0};
    uv_walk(&sc->loop, look, &s);
    return s;
}

static void both_ends_notice_a_cut(void **state)
{
    struct scene sc;
    (void)state;
    open_scene(&sc);
    struct survey s = survey(&sc);
    assert_int_equal(s.tcp, 2);
    assert_int_equal(s.idle, 2);
    assert_int_equal(s.interval, 2);
    assert_int_equal(s.count, 2);
    assert_int_equal(s.timeout, 2);
    assert_int_equal(s.nodelay, 2);
    scene_end(&sc);
}

/* A full window must not look like a dead peer. */
static void a_pause_is_told_to_the_other_side(void **state)
{
    enum { FRAMES = 64, SIZE = 1 << 20 };
    struct scene sc;
    char *bytes = calloc(1, SIZE);
    (void)state;
    open_scene(&sc);
    link_pause(sc.head.link, true);
    UNTIL(&sc, survey(&sc).untimed == 1);
    for (int i = 0; i < FRAMES; i++)
        link_send(sc.node.link, (struct str){bytes, SIZE});
    assert_int_equal(sc.head.nframes, 0);
    assert_true(link_unsent(sc.node.link) > 0);
    link_send(sc.head.link, STR_LIT("the other way is open"));
    UNTIL(&sc, sc.node.nframes == 1);
    link_pause(sc.head.link, false);
    UNTIL(&sc, sc.head.nframes == FRAMES && survey(&sc).timeout == 2);
    assert_int_equal(sc.head.bytes, (size_t)FRAMES * SIZE);
    UNTIL(&sc, sc.node.drained);
    free(bytes);
    scene_end(&sc);
}

/* Frames that had arrived before the pause come after it, each once. */
static void pausing_between_frames(void **state)
{
    struct scene sc;
    struct buf frames, one;
    (void)state;
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    int fd = raw_dial(&sc);
    struct link_auth *a = raw_join(&sc, fd);
    buf_init(&frames, 0);
    static const char *const texts[] = {"one", "two", "three"};
    for (int i = 0; i < 3; i++) {
        seal(a, texts[i], &one);
        buf_add(&frames, one.data, one.len);
        buf_fini(&one);
    }
    say(fd, frames.data, frames.len - 5); /* all but the end of the last */
    UNTIL(&sc, sc.head.nframes == 2);
    link_pause(sc.head.link, true);
    link_pause(sc.head.link, true);
    say(fd, frames.data + frames.len - 5, 5);
    link_pause(sc.head.link, false);
    link_pause(sc.head.link, true);
    link_pause(sc.head.link, false);
    UNTIL(&sc, sc.head.nframes == 3);
    assert_string_equal(buf_str(&sc.head.frames), "one|two|three|");
    buf_fini(&frames);
    link_auth_free(a);
    close(fd);
    scene_end(&sc);
}

/* Says them in two pieces, of which the other side has read the first; 0 = in one. */
static void say_cut(struct scene *sc, int fd, const struct buf *bytes, size_t at)
{
    say(fd, bytes->data, at);
    for (int i = 0; at && i < 3; i++)
        uv_run(&sc->loop, UV_RUN_NOWAIT);
    say(fd, bytes->data + at, bytes->len - at);
}

/* A node's bytes, cut anywhere, to a head that goes on at once, or pauses before the frames and
 * then resumes. *said: how many may be cut. */
static void join_cut(size_t at, bool is_paused, size_t *said)
{
    struct scene sc;
    struct buf out;
    struct err e;
    char reply[REPLY];
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    sc.head.pause_on_open = is_paused;
    int fd = raw_dial(&sc);
    buf_init(&out, 0);
    struct link_auth *a = link_auth_new(sc.node_key, LINK_NODE, &out);
    say_cut(&sc, fd, &out, at % out.len);
    buf_reset(&out);
    hear(&sc, fd, reply, sizeof reply);
    struct str in = {reply, sizeof reply};
    assert_int_equal(link_auth_take(a, &in, &out, &e), LINK_AUTH_OPEN);
    link_auth_seal(a, LINK_TAG_FRAME, STR_LIT("one"), &out);
    link_auth_seal(a, LINK_TAG_FRAME, STR_LIT("two"), &out);
    *said = out.len;
    say_cut(&sc, fd, &out, at);
    UNTIL(&sc, sc.head.opened);
    if (is_paused) {
        uv_run(&sc.loop, UV_RUN_NOWAIT);
        assert_int_equal(sc.head.nframes, 0);
        link_pause(sc.head.link, false);
    }
    UNTIL(&sc, sc.head.nframes == 2);
    assert_string_equal(buf_str(&sc.head.frames), "one|two|");
    buf_fini(&out);
    link_auth_free(a);
    close(fd);
    scene_end(&sc);
}

static void a_node_is_understood_wherever_it_is_cut(void **state)
{
    size_t said = 1;
    (void)state;
    for (size_t at = 0; at < said; at++)
        join_cut(at, at % 2, &said);
    for (size_t at = 0; at < said; at += 3)
        join_cut(at, at % 2 == 0, &said);
}

/* ---- who is not let in */

static void expect_refused(struct link_key *head, struct link_key *node, enum err_code code,
                           const char *head_text, const char *node_text)
{
    struct scene sc;
    scene_begin(&sc, head, node);
    dial(&sc);
    UNTIL(&sc, sc.node.closed && sc.head.closed);
    assert_int_equal(sc.node.opened + sc.head.opened, 0);
    assert_int_equal(sc.node.tries, 1); /* never again */
    expect_why(&sc.node, code, node_text);
    expect_why(&sc.head, code, head_text);
    scene_end(&sc);
}

static void another_secret(void **state)
{
    (void)state;
    expect_refused(key(secret_1, "job"), key(secret_2, "job"), ERR_AUTH,
                   ": the node has another secret",
                   ": the head could not prove that it has the secret of this job");
}

static void one_side_without_a_secret(void **state)
{
    (void)state;
    expect_refused(key(secret_1, "job"), key(NULL, "job"), ERR_AUTH,
                   ": the node has no secret and this side has one",
                   ": the head has a secret and this side has none");
    expect_refused(key(NULL, "job"), key(secret_1, "job"), ERR_AUTH,
                   ": the node has a secret and this side has none",
                   ": the head has no secret and this side has one");
}

static void another_job(void **state)
{
    (void)state;
    expect_refused(key(secret_1, "theirs"), key(secret_1, "ours"), ERR_UNAVAILABLE,
                   ": the node belongs to another job than theirs",
                   ": this port belongs to job theirs, not to ours");
    expect_refused(key(NULL, "theirs"), key(NULL, "ours"), ERR_UNAVAILABLE,
                   ": the node belongs to another job than theirs",
                   ": this port belongs to another job than ours");
}

static void another_version(void **state)
{
    struct scene sc;
    char reply[8];
    uint16_t port;
    (void)state;
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    int fd = raw_dial(&sc);
    say(fd, "MSTR\x02\x03\x01\0", 8);
    char rest[48] = {0};
    say(fd, rest, sizeof rest);
    hear(&sc, fd, reply, sizeof reply);
    assert_memory_equal(reply, "MSTR\0\1\1\1", 8);
    hear_end(&sc, fd);
    UNTIL(&sc, sc.head.closed);
    expect_why(&sc.head, ERR_UNAVAILABLE, ": the node speaks version 2 to 3 of the link");
    int listener = raw_listen(&port);
    struct addr to = here(port);
    struct link_options opt = options(&sc.node, sc.node_key);
    dial_with(&sc, &to, 1, &opt);
    fd = raw_accept(&sc, listener);
    say(fd, "MSTR\0\1\2\3", 8);
    UNTIL(&sc, sc.node.closed);
    expect_why(&sc.node, ERR_UNAVAILABLE, ": the head speaks version 2 to 3 of the link");
    close(fd);
    close(listener);
    scene_end(&sc);
}

static void raw_bytes_to_the_head(const char *p, size_t n, uint64_t handshake_ms,
                                  bool is_half_closed, enum err_code code, const char *text)
{
    struct scene sc;
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    sc.head_options.handshake_ms = handshake_ms;
    int fd = raw_dial(&sc);
    say(fd, p, n);
    if (is_half_closed)
        shutdown(fd, SHUT_WR);
    UNTIL(&sc, sc.head.closed);
    expect_why(&sc.head, code, text);
    assert_false(sc.head.is_named);
    hear_end(&sc, fd);
    scene_end(&sc);
}

static void garbage_and_silence_at_the_head(void **state)
{
    (void)state;
    raw_bytes_to_the_head("MAIL FROM", 9, FAR_MS, false, ERR_UNAVAILABLE,
                          ": what speaks there is no node of a muster job");
    raw_bytes_to_the_head("MST", 3, 1, false, ERR_UNAVAILABLE,
                          ": did not say in 1 ms who it is");
    raw_bytes_to_the_head("MSTR\1\1", 6, FAR_MS, true, ERR_UNAVAILABLE,
                          ": closed the connection in the handshake");
}

static void silence_before_the_proof(void **state)
{
    struct scene sc;
    struct buf out;
    char reply[REPLY];
    (void)state;
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    int fd = raw_dial(&sc);
    buf_init(&out, 0);
    struct link_auth *a = link_auth_new(sc.node_key, LINK_NODE, &out);
    say(fd, out.data, out.len);
    hear(&sc, fd, reply, sizeof reply);
    shutdown(fd, SHUT_WR);
    UNTIL(&sc, sc.head.closed);
    expect_why(&sc.head, ERR_UNAVAILABLE, ": closed the connection in the handshake");
    assert_true(sc.head.is_named);
    hear_end(&sc, fd);
    link_auth_free(a);
    buf_fini(&out);
    scene_end(&sc);
}

static void garbage_and_silence_at_the_node(void **state)
{
    struct scene sc;
    uint16_t port;
    (void)state;
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    struct link_options opt = options(&sc.node, sc.node_key);
    int listener = raw_listen(&port);
    struct addr to = here(port);
    dial_with(&sc, &to, 1, &opt);
    int fd = raw_accept(&sc, listener);
    say(fd, "HTTP/1.1 400\r\n", 14);
    UNTIL(&sc, sc.node.tries == 1);
    assert_non_null(strstr(sc.node.last_try.text, "is no head of a muster job"));
    close(fd);
    fd = raw_accept(&sc, listener); /* it may make room for a head: dialled again */
    close(fd);
    UNTIL(&sc, sc.node.tries == 2);
    assert_int_equal(sc.node.closed, 0);
    link_close(sc.node.link);
    UNTIL(&sc, sc.node.closed);
    opt.handshake_ms = 1;
    dial_with(&sc, &to, 1, &opt);
    UNTIL(&sc, sc.node.tries >= 3);
    assert_non_null(strstr(sc.node.last_try.text, ": did not say in 1 ms who it is"));
    close(listener);
    scene_end(&sc);
}

/* ---- a peer that has the secret and breaks the rules */

static void expect_broken(const char *p, size_t n, bool is_end, enum err_code code,
                          const char *text)
{
    struct scene sc;
    struct buf frame;
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    int fd = raw_dial(&sc);
    struct link_auth *a = raw_join(&sc, fd);
    seal(a, "good", &frame);
    say(fd, frame.data, frame.len);
    UNTIL(&sc, sc.head.nframes == 1);
    if (p)
        say(fd, p, n);
    else
        say(fd, frame.data, n ? n : frame.len); /* once more, whole or its beginning */
    if (is_end)
        shutdown(fd, SHUT_WR);
    UNTIL(&sc, sc.head.closed);
    expect_why(&sc.head, code, text);
    assert_string_equal(buf_str(&sc.head.frames), "good|");
    buf_fini(&frame);
    link_auth_free(a);
    close(fd);
    scene_end(&sc);
}

static void broken_rules(void **state)
{
    (void)state;
    expect_broken(NULL, 0, false, ERR_AUTH, ": a frame was altered, repeated");
    expect_broken("\x15\0\0\0aaaaaaaaaaaaaaaaaaaaa", 25, false, ERR_AUTH,
                  ": a frame was altered");
    expect_broken("\xff\xff\xff\xff", 4, false, ERR_PROTOCOL,
                  ": a frame of 4294967295 bytes was announced");
    expect_broken(NULL, 9, true, ERR_CLOSED, ": closed the connection without a farewell");
    expect_broken("", 0, true, ERR_CLOSED, ": closed the connection without a farewell");
}

static void a_farewell_is_the_end(void **state)
{
    struct scene sc;
    struct buf last;
    (void)state;
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    int fd = raw_dial(&sc);
    struct link_auth *a = raw_join(&sc, fd);
    buf_init(&last, 0);
    link_auth_seal(a, LINK_TAG_FINAL, STR_LIT(""), &last);
    buf_add(&last, "more", 4);
    say(fd, last.data, last.len);
    UNTIL(&sc, sc.head.closed);
    assert_false(sc.head.has_why);
    buf_fini(&last);
    link_auth_free(a);
    close(fd);
    scene_end(&sc);
}

static void a_reset(void **state)
{
    struct scene sc;
    struct linger none = {1, 0};
    (void)state;
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    int fd = raw_dial(&sc);
    link_auth_free(raw_join(&sc, fd));
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    close(fd);
    UNTIL(&sc, sc.head.closed);
    expect_why(&sc.head, ERR_CLOSED, ": the connection broke: Connection reset by peer");
    assert_int_equal(sc.head.why.sys, ECONNRESET);
    scene_end(&sc);
}

static void a_farewell_that_nobody_answers(void **state)
{
    struct scene sc;
    (void)state;
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    sc.head_options.finish_ms = 1;
    int fd = raw_dial(&sc);
    link_auth_free(raw_join(&sc, fd));
    link_finish(sc.head.link);
    assert_false(link_is_open(sc.head.link));
    UNTIL(&sc, sc.head.closed);
    expect_why(&sc.head, ERR_CLOSED, ": did not close the connection in time");
    close(fd);
    scene_end(&sc);
}

/* ---- dialling */

static void a_head_that_comes_later(void **state)
{
    struct scene sc;
    uint16_t port;
    (void)state;
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    struct link_options opt = options(&sc.node, sc.node_key);
    int listener = raw_bind(&port);
    struct addr to = here(port);
    dial_with(&sc, &to, 1, &opt);
    UNTIL(&sc, sc.node.tries >= 2);
    assert_non_null(strstr(sc.node.last_try.text, ": cannot connect: Connection refused"));
    assert_int_equal(listen(listener, 1), 0);
    int fd = raw_accept(&sc, listener);
    uv_tcp_t *tcp = malloc(sizeof *tcp);
    uv_tcp_init(&sc.loop, tcp);
    assert_int_equal(uv_tcp_open(tcp, fd), 0);
    on_link(&sc, tcp, (struct str){NULL, 0});
    UNTIL(&sc, sc.node.opened && sc.head.opened);
    close(listener);
    scene_end(&sc);
}

static void nobody_ever_listens(void **state)
{
    struct scene sc;
    uint16_t port;
    (void)state;
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    struct link_options opt = options(&sc.node, sc.node_key);
    int bound = raw_bind(&port);
    struct addr to[2] = {here(port), here(port)};
    opt.until_ms = 1500;
    dial_with(&sc, to, 2, &opt);
    UNTIL(&sc, sc.node.closed);
    expect_why(&sc.node, ERR_UNAVAILABLE, ": cannot connect: Connection refused");
    assert_true(sc.node.tries >= 2);
    close(bound);
    scene_end(&sc);
}

/* An address that many machines have may answer, but not prove; it gets no proof either. */
static void only_who_proves_is_taken(void **state)
{
    struct scene sc;
    uint16_t silent_port, wrong_port;
    char hello[56], more;
    (void)state;
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    struct link_options opt = options(&sc.node, sc.node_key);
    int silent = raw_listen(&silent_port), wrong = raw_listen(&wrong_port);
    struct addr to[] = {here(silent_port), here(wrong_port), here(port_number(sc.port))};
    dial_with(&sc, to, 3, &opt);
    int silent_fd = raw_accept(&sc, silent), wrong_fd = raw_accept(&sc, wrong);
    struct link_key *other = key(secret_2, "job");
    struct buf out;
    struct err e;
    buf_init(&out, 0);
    struct link_auth *impostor = link_auth_new(other, LINK_HEAD, &out);
    hear(&sc, wrong_fd, hello, sizeof hello);
    struct str in = {hello, sizeof hello};
    assert_int_equal(link_auth_take(impostor, &in, &out, &e), LINK_AUTH_MORE);
    say(wrong_fd, out.data, out.len);
    UNTIL(&sc, sc.node.opened && sc.head.opened);
    assert_int_equal(sc.node.candidate, 2);
    assert_int_equal(sc.node.tries, 1);
    assert_non_null(strstr(sc.node.last_try.text, "the head could not prove"));
    char refusal[PROOF];
    hear(&sc, wrong_fd, refusal, sizeof refusal);
    assert_memory_equal(refusal, "MSTR\0\4", 6);
    hear(&sc, silent_fd, hello, sizeof hello);
    UNTIL(&sc, is_readable(silent_fd));
    assert_int_equal(recv(silent_fd, &more, 1, 0), 0);
    link_auth_free(impostor);
    link_key_free(other);
    buf_fini(&out);
    close(silent);
    close(wrong);
    close(silent_fd);
    close(wrong_fd);
    scene_end(&sc);
}

static void only_numbers_are_dialled(void **state)
{
    struct scene sc;
    struct err e;
    (void)state;
    scene_begin(&sc, key(secret_1, "job"), key(secret_1, "job"));
    struct link_options opt = options(&sc.node, sc.node_key);
    struct addr name = {"localhost", 1};
    assert_null(link_dial(&sc.loop, &name, 1, &opt, &e));
    assert_int_equal(e.code, ERR_USAGE);
    assert_string_equal(e.text, "\"localhost\" is no numeric address to dial");
    assert_null(link_dial(&sc.loop, NULL, 0, &opt, &e));
    assert_int_equal(e.code, ERR_USAGE);
    scene_end(&sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_both_ways),
        cmocka_unit_test(an_orderly_end),
        cmocka_unit_test(all_is_sent_before_the_end),
        cmocka_unit_test(the_largest_frame),
        cmocka_unit_test(closing_in_callbacks),
        cmocka_unit_test(closing_while_dialling),
        cmocka_unit_test(both_ends_notice_a_cut),
        cmocka_unit_test(a_pause_is_told_to_the_other_side),
        cmocka_unit_test(pausing_between_frames),
        cmocka_unit_test(a_node_is_understood_wherever_it_is_cut),
        cmocka_unit_test(another_secret),
        cmocka_unit_test(one_side_without_a_secret),
        cmocka_unit_test(another_job),
        cmocka_unit_test(another_version),
        cmocka_unit_test(garbage_and_silence_at_the_head),
        cmocka_unit_test(silence_before_the_proof),
        cmocka_unit_test(garbage_and_silence_at_the_node),
        cmocka_unit_test(broken_rules),
        cmocka_unit_test(a_farewell_is_the_end),
        cmocka_unit_test(a_reset),
        cmocka_unit_test(a_farewell_that_nobody_answers),
        cmocka_unit_test(a_head_that_comes_later),
        cmocka_unit_test(nobody_ever_listens),
        cmocka_unit_test(only_who_proves_is_taken),
        cmocka_unit_test(only_numbers_are_dialled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
