/* The head's links at a real port, with peers that do as they like. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "launcher/io/head_links.h"
#include "raw_client.h"
#include "rendezvous/port.h"

enum {
    TURNS_MAX = 100000,
    REPLY = 72,
    STRANGERS = 300, /* more than may knock at a time */
    MAY_KNOCK = 256,
    PEERS = 24,
    ROUNDS = 2000,
    NUMBERS = 4096,
    BIG = 300000,
};

static const unsigned char secret[LINK_SECRET_SIZE] = "0123456789abcdef0123456789abcde";

struct scene {
    uv_loop_t loop;
    struct port *port;
    struct link_key *key;
    struct head_links *links;
    uint64_t random;
    uint32_t last; /* the last number heard of */
    size_t nframes, nlost, nunproven;
    bool is_dropped[NUMBERS], is_lost[NUMBERS];
};

/* xorshift64* (Vigna): below n. */
static unsigned below(struct scene *sc, unsigned n)
{
    sc->random ^= sc->random >> 12;
    sc->random ^= sc->random << 25;
    sc->random ^= sc->random >> 27;
    return (unsigned)((sc->random * 2685821657736338717u) >> 33) % n;
}

static bool is_once_in(struct scene *sc, unsigned n)
{
    return below(sc, n) == 0;
}

/* ---- what the head hears */

static void heard(struct scene *sc, uint32_t link)
{
    assert_in_range(link, 1, NUMBERS - 1);
    assert_false(sc->is_lost[link] || sc->is_dropped[link]);
    sc->last = link;
    sc->nframes++;
}

static void on_frame(void *ctx, uint32_t link, const struct frame *frame)
{
    (void)frame;
    heard(ctx, link);
}

static void on_output(void *ctx, uint32_t link, const struct wire_output *output)
{
    struct scene *sc = ctx;
    heard(sc, link);
    assert_in_range(output->stream, 1, 2);
    if (is_once_in(sc, 4))
        head_links_pause(sc->links, true);
}

static void on_more(void *ctx, uint32_t link)
{
    heard(ctx, link);
}

static int on_setup(void *ctx, uint32_t link, const struct wire_who *who, struct buf *out)
{
    struct scene *sc = ctx;
    (void)who;
    heard(sc, link);
    link_wire_input(STR_LIT("setup"), out);
    int rc = (int)below(sc, 3) - 1;
    if (rc == 1)
        sc->is_dropped[link] = true;
    return rc;
}

static void on_lost(void *ctx, uint32_t link, const struct err *err)
{
    struct scene *sc = ctx;
    assert_in_range(link, 1, NUMBERS - 1);
    assert_false(sc->is_lost[link] || sc->is_dropped[link]);
    assert_true(*err->text);
    sc->is_lost[link] = true;
    sc->nlost++;
}

static void on_unproven(void *ctx, const struct peer_ip *ip, bool is_named,
                        const struct err *why)
{
    (void)ip;
    (void)is_named;
    assert_true(*why->text);
    ((struct scene *)ctx)->nunproven++;
}

/* ---- life */

static void on_link(void *ctx, struct uv_tcp_s *tcp, struct str first)
{
    head_links_accept(((struct scene *)ctx)->links, tcp, first, -1);
}

static struct scene *scene_new(void)
{
    struct scene *sc = calloc(1, sizeof *sc);
    struct port_options opt = port_options_default();
    struct head_links_events events = {.ctx = sc,
                                       .on_frame = on_frame,
                                       .setup = on_setup,
                                       .on_output = on_output,
                                       .on_more = on_more,
                                       .on_lost = on_lost,
                                       .on_unproven = on_unproven};
    struct err e;
    sc->random = 1;
    assert_int_equal(uv_loop_init(&sc->loop), 0);
    sc->key = link_key_from_secret(secret, "job", &e);
    assert_non_null(sc->key);
    sc->links = head_links_new(&sc->loop, sc->key, 2, &events);
    opt.ctx = sc;
    opt.on_link = on_link;
    sc->port = port_open(&sc->loop, &opt, &e);
    assert_non_null(sc->port);
    return sc;
}

static void scene_free(struct scene *sc)
{
    head_links_close(sc->links);
    port_close(sc->port, NULL, NULL);
    assert_int_equal(uv_run(&sc->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&sc->loop), 0);
    link_key_free(sc->key);
    free(sc);
}

static void turn(struct scene *sc)
{
    uv_run(&sc->loop, UV_RUN_NOWAIT);
    head_links_settle(sc->links);
}

static void await_strangers(struct scene *sc, uint64_t accepted)
{
    struct port_counts counts = {0};
    for (int i = 0; i < TURNS_MAX && (counts.all.accepted < accepted || counts.undecided);
         i++) {
        turn(sc);
        port_counts(sc->port, &counts);
    }
    assert_int_equal(counts.all.accepted, accepted);
    assert_int_equal(counts.undecided, 0);
}

static bool has_ended(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

static bool has_joined(const struct scene *sc)
{
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct peer_ip ip = peer_ip_from((const struct sockaddr *)&here);
    return head_links_has_peer(sc->links, &ip);
}

/* ---- strangers in a crowd */

/* A node in the middle of the handshake, and more than may knock at a time behind it. */
static void who_names_the_job_is_not_crowded_out(void **state)
{
    struct scene *sc = scene_new();
    int strangers[STRANGERS];
    struct buf out;
    struct err e;
    char reply[REPLY];
    size_t ended = 0;
    (void)state;
    buf_init(&out, 0);
    int fd = client_dial(port_number(sc->port));
    struct link_auth *node = link_auth_new(sc->key, LINK_NODE, &out);
    client_say(fd, out.data, out.len);
    buf_reset(&out);
    await_strangers(sc, 1);
    for (int i = 0; i < STRANGERS; i++) {
        strangers[i] = client_dial(port_number(sc->port));
        SAY(strangers[i], "M");
    }
    await_strangers(sc, 1 + STRANGERS);
    turn(sc);
    client_hear(fd, reply, sizeof reply);
    struct str in = {reply, sizeof reply};
    assert_false(has_ended(fd));
    assert_int_equal(link_auth_take(node, &in, &out, &e), LINK_AUTH_OPEN);
    client_say(fd, out.data, out.len);
    for (int i = 0; i < TURNS_MAX && !has_joined(sc); i++)
        turn(sc);
    assert_true(has_joined(sc));
    for (int i = 0; i < STRANGERS; i++) {
        ended += has_ended(strangers[i]);
        close(strangers[i]);
    }
    assert_int_equal(ended, 1 + STRANGERS - MAY_KNOCK);
    close(fd);
    buf_fini(&out);
    link_auth_free(node);
    scene_free(sc);
}

/* ---- peers that end anyhow */

struct peer {
    int fd; /* -1 = none */
    struct link_auth *auth;
    bool is_open, is_last;
    struct buf in, due;
};

static void peer_begin(struct scene *sc, struct peer *p)
{
    p->fd = client_dial(port_number(sc->port));
    p->auth = link_auth_new(sc->key, LINK_NODE, &p->due);
    p->is_open = p->is_last = false;
    if (is_once_in(sc, 4))
        p->due.data[1 + below(sc, (unsigned)p->due.len - 1)] ^= 1;
}

static void peer_end(struct scene *sc, struct peer *p)
{
    if (p->fd < 0)
        return;
    if (is_once_in(sc, 2))
        close(p->fd);
    else
        client_reset(p->fd);
    p->fd = -1;
    link_auth_free(p->auth);
    buf_reset(&p->in);
    buf_reset(&p->due);
}

static void add_message(struct scene *sc, struct peer *p)
{
    static char big[BIG];
    const struct wire_output output = {1, 1, {big, is_once_in(sc, 3) ? BIG : 10}};
    const struct wire_who who = {below(sc, 3), WIRE_NONE, "host"};
    enum link_tag tag = LINK_TAG_FRAME;
    struct buf message;
    buf_init(&message, 0);
    switch (below(sc, 24)) {
    case 0:
        link_wire_who(&who, &message);
        break;
    case 1:
        buf_adds(&message, "no message");
        break;
    case 2:
        buf_add_u32le(&p->due, UINT32_MAX); /* no frame */
        break;
    case 3:
        tag = LINK_TAG_FINAL;
        p->is_last = true;
        break;
    case 4:
        tag = LINK_TAG_CONTROL;
        buf_adds(&message, is_once_in(sc, 2) ? "p" : "r");
        break;
    case 5:
    case 6:
    case 7:
        link_wire_more(&message);
        break;
    default:
        link_wire_output(&output, &message);
    }
    link_auth_seal(p->auth, tag, (struct str){message.data, message.len}, &p->due);
    buf_fini(&message);
}

/* All that is due, or a part that ends anywhere, as far as the connection takes it. */
static void peer_speak(struct scene *sc, struct peer *p)
{
    size_t n = p->due.len;
    if (n && is_once_in(sc, 3))
        n = 1 + below(sc, (unsigned)n);
    ssize_t sent = n ? send(p->fd, p->due.data, n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
    buf_consume(&p->due, sent > 0 ? (size_t)sent : 0);
}

static void peer_listen(struct peer *p)
{
    struct err e;
    ssize_t got = recv(p->fd, buf_reserve(&p->in, BIG), BIG, MSG_DONTWAIT);
    buf_commit(&p->in, got > 0 ? (size_t)got : 0);
    struct str in = {p->in.data, p->in.len};
    if (!p->is_open && p->in.len) {
        enum link_auth_result result = link_auth_take(p->auth, &in, &p->due, &e);
        p->is_open = result == LINK_AUTH_OPEN;
        p->is_last = result == LINK_AUTH_REFUSED;
    }
    if (p->is_open || p->is_last)
        buf_reset(&p->in);
    else
        buf_consume(&p->in, p->in.len - in.n);
}

static void peer_act(struct scene *sc, struct peer *p)
{
    if (p->fd < 0)
        peer_begin(sc, p);
    for (unsigned i = below(sc, 6); i && p->is_open && !p->is_last && p->due.len < BIG; i--)
        add_message(sc, p);
    peer_speak(sc, p);
    if (!is_once_in(sc, 4))
        peer_listen(p);
    if (is_once_in(sc, 12))
        shutdown(p->fd, SHUT_WR);
    if (is_once_in(sc, p->is_last ? 3 : 8))
        peer_end(sc, p);
}

static void head_act(struct scene *sc)
{
    static char big[BIG];
    if (is_once_in(sc, 2))
        head_links_pause(sc->links, is_once_in(sc, 3));
    if (sc->last && !sc->is_lost[sc->last] && is_once_in(sc, 3))
        head_links_send_input(sc->links, sc->last, (struct str){big, BIG});
    if (sc->last && !sc->is_lost[sc->last] && is_once_in(sc, 10)) {
        sc->is_dropped[sc->last] = true;
        head_links_drop(sc->links, sc->last);
    }
}

static void peers_that_end_anyhow(void **state)
{
    struct scene *sc = scene_new();
    struct peer peers[PEERS] = {0};
    (void)state;
    for (int i = 0; i < PEERS; i++)
        peers[i].fd = -1;
    for (int round = 0; round < ROUNDS; round++) {
        for (unsigned i = below(sc, 6); i; i--)
            peer_act(sc, &peers[below(sc, PEERS)]);
        head_act(sc);
        turn(sc);
    }
    assert_true(sc->nframes > 100 && sc->nlost > 10 && sc->nunproven > 10);
    head_links_pause(sc->links, false);
    for (int i = 0; i < PEERS; i++) {
        peer_end(sc, &peers[i]);
        buf_fini(&peers[i].in);
        buf_fini(&peers[i].due);
    }
    for (int i = 0; i < TURNS_MAX && has_joined(sc); i++)
        turn(sc);
    assert_false(has_joined(sc));
    scene_free(sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_names_the_job_is_not_crowded_out),
        cmocka_unit_test(peers_that_end_anyhow),
    };
    signal(SIGPIPE, SIG_IGN); /* as the launcher does */
    log_set_level(LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
