/* The listener: who may stay, generations, back pressure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "live_server.h"
#include "raw_client.h"

enum { FAR_MS = 3600000, STALLED_FIRST_MS = 100 };

#define ADD_INIT "\x05\0\0\0\0\0\0\0init/\x01\0\0\0\0\0\0\0"

struct seen {
    atomic_int notes[SERVER_NOTE_COUNT];
    atomic_int links;
    bool admit;
};

static void on_note(void *ctx, const struct server_note *note)
{
    struct seen *s = ctx;
    struct buf text;
    buf_init(&text, 0);
    server_note_format(note, &text);
    assert_true(text.len > 0);
    buf_fini(&text);
    atomic_fetch_add(&s->notes[note->kind], 1);
}

static bool on_admit(void *ctx, const struct sockaddr *near, const struct sockaddr *far)
{
    assert_int_equal(near->sa_family, AF_INET);
    assert_int_equal(far->sa_family, AF_INET);
    return ((struct seen *)ctx)->admit;
}

static void free_handle(uv_handle_t *h)
{
    free(h);
}

static void on_link(void *ctx, struct uv_tcp_s *tcp, struct str first)
{
    struct seen *s = ctx;
    assert_true(first.n >= 1 && first.p[0] == 'M');
    atomic_fetch_add(&s->links, 1);
    uv_close((uv_handle_t *)tcp, free_handle);
}

static struct port_options options(struct seen *seen)
{
    struct port_options opt = port_options_default();
    opt.ctx = seen;
    opt.on_note = on_note;
    opt.first_ms = FAR_MS;
    return opt;
}

static void get_counts(struct port *p, void *arg)
{
    port_counts(p, arg);
}

static void close_gate(struct port *p, void *arg)
{
    (void)arg;
    port_gate_close(p);
}

static void silence_ends_at_the_deadline(void **state)
{
    struct seen seen = {0};
    struct port_options opt = options(&seen);
    (void)state;
    opt.first_ms = 1;
    struct live_server *s = live_server_start(&opt);
    client_hear_end(client_dial(live_server_port(s)));
    int partial = client_dial(live_server_port(s));
    client_say(partial, VALIDATE, 1);
    client_hear_end(partial);
    live_server_stop(s);
    assert_int_equal(seen.notes[SERVER_NOTE_SILENT], 2);
}

struct stall {
    int fd;
    struct seen *seen;
    bool is_too_late;
};

static void nothing(struct port *p, void *arg)
{
    (void)p;
    (void)arg;
}

/* The newcomer speaks, and the server does not listen until its time is over. */
static void stall(struct port *p, void *arg)
{
    struct stall *s = arg;
    (void)p;
    s->is_too_late = s->seen->notes[SERVER_NOTE_SILENT] > 0;
    if (s->is_too_late)
        return;
    SAY(s->fd, VALIDATE "\x07");
    poll(NULL, 0, 2 * STALLED_FIRST_MS);
}

/* A server that was stopped for longer than newcomers have for their first bytes. */
static void a_late_server_hears_who_spoke_in_time(void **state)
{
    (void)state;
    for (int tries = 0; tries < 50; tries++) {
        struct seen seen = {0};
        struct port_options opt = options(&seen);
        char n[8];
        opt.first_ms = STALLED_FIRST_MS;
        struct live_server *s = live_server_start(&opt);
        struct stall late = {client_dial(live_server_port(s)), &seen, false};
        live_server_call(s, nothing, NULL); /* it has been accepted after the second one */
        live_server_call(s, nothing, NULL);
        live_server_call(s, stall, &late);
        if (!late.is_too_late)
            client_hear(late.fd, n, sizeof n);
        close(late.fd);
        live_server_stop(s);
        if (late.is_too_late)
            continue; /* this test was the late one */
        assert_int_equal(seen.notes[SERVER_NOTE_SILENT], 0);
        return;
    }
    fail();
}

static void one_silent_connection_for_each_legacy_client(void **state)
{
    struct seen seen = {0};
    struct port_options opt = options(&seen);
    char sum[8];
    (void)state;
    opt.first_ms = 2000; /* this test has to speak in time, too */
    struct live_server *s = live_server_start(&opt);
    int legacy = client_dial(live_server_port(s));
    SAY(legacy, "\x03" ADD_INIT);
    client_hear(legacy, sum, sizeof sum);
    int silent = client_dial(live_server_port(s)), one_more = client_dial(live_server_port(s));
    client_hear_end(one_more);
    client_hear_nothing(silent);
    /* It may still speak one day. */
    SAY(silent, "\x03" ADD_INIT);
    client_hear(silent, sum, sizeof sum);
    assert_int_equal(sum[0], 2);
    close(legacy);
    close(silent);
    live_server_stop(s);
}

static void closed_gate_refuses_newcomers_only(void **state)
{
    struct seen seen = {0};
    struct port_options opt = options(&seen);
    char n[8];
    (void)state;
    struct live_server *s = live_server_start(&opt);
    int old = client_join(live_server_port(s));
    live_server_call(s, close_gate, NULL);
    int late = client_dial(live_server_port(s));
    SAY(late, VALIDATE "\x07");
    client_hear_end(late);
    SAY(old, "\x07");
    client_hear(old, n, sizeof n);
    live_server_generation(s);
    client_hear_end(old);
    close(client_join(live_server_port(s)));
    live_server_stop(s);
    assert_int_equal(seen.notes[SERVER_NOTE_GATE_CLOSED], 1);
}

/* On the server's thread: the connection lies in the kernel's queue when the generation ends.
 */
static void dial_then_next(struct port *p, void *arg)
{
    int *fd = arg;
    *fd = client_dial(port_number(p));
    SAY(*fd, "\x03" ADD_INIT);
    port_gate_close(p);
    port_generation_next(p);
}

static void nothing_old_reaches_a_new_store(void **state)
{
    struct seen seen = {0};
    struct port_options opt = options(&seen);
    struct port_counts counts = {0};
    (void)state;
    struct live_server *s = live_server_start(&opt);
    int undecided = client_dial(live_server_port(s)), queued;
    while (!counts.undecided)
        live_server_call(s, get_counts, &counts);
    live_server_call(s, dial_then_next, &queued);
    client_hear_end(queued);
    SAY(undecided, "\x03" ADD_INIT);
    client_hear_end(undecided);
    live_server_call(s, get_counts, &counts);
    assert_int_equal(counts.joined, 0);
    assert_int_equal(counts.keys, 0);
    live_server_stop(s);
    assert_int_equal(seen.notes[SERVER_NOTE_OLD_GENERATION], 2);
}

static void addresses_are_admitted(void **state)
{
    struct seen seen = {.admit = false};
    struct port_options opt = options(&seen);
    (void)state;
    opt.admit = on_admit;
    struct live_server *s = live_server_start(&opt);
    int fd = client_dial(live_server_port(s));
    SAY(fd, VALIDATE);
    client_hear_end(fd);
    live_server_stop(s);
    assert_int_equal(seen.notes[SERVER_NOTE_NOT_ADMITTED], 1);
}

static void admit_all(struct port *p, void *arg)
{
    (void)p;
    ((struct seen *)arg)->admit = true;
}

static void admit_none(struct port *p, void *arg)
{
    (void)p;
    ((struct seen *)arg)->admit = false;
}

/* It would take the place of a legacy client's own. */
static void a_silent_stranger_is_not_kept(void **state)
{
    struct seen seen = {.admit = true};
    struct port_options opt = options(&seen);
    char sum[8];
    (void)state;
    opt.admit = on_admit;
    opt.first_ms = 300;
    struct live_server *s = live_server_start(&opt);
    int legacy = client_dial(live_server_port(s));
    SAY(legacy, "\x03" ADD_INIT);
    client_hear(legacy, sum, sizeof sum);
    live_server_call(s, admit_none, &seen);
    client_hear_end(client_dial(live_server_port(s)));
    live_server_call(s, admit_all, &seen);
    int silent = client_dial(live_server_port(s)), one_more = client_dial(live_server_port(s));
    client_hear_end(one_more);
    client_hear_nothing(silent);
    close(legacy);
    close(silent);
    live_server_stop(s);
    assert_int_equal(seen.notes[SERVER_NOTE_NOT_ADMITTED], 1);
    assert_int_equal(seen.notes[SERVER_NOTE_SILENT], 1);
}

static void nodes_are_handed_on(void **state)
{
    struct seen seen = {0};
    struct port_options opt = options(&seen);
    (void)state;
    opt.on_link = on_link;
    struct live_server *s = live_server_start(&opt);
    live_server_call(s, close_gate, NULL); /* does not concern nodes */
    int fd = client_dial(live_server_port(s));
    SAY(fd, "MSTR");
    client_hear_end(fd);
    live_server_stop(s);
    assert_int_equal(seen.links, 1);

    opt.on_link = NULL;
    s = live_server_start(&opt);
    fd = client_dial(live_server_port(s));
    SAY(fd, "MSTR");
    client_hear_end(fd);
    live_server_stop(s);
    assert_int_equal(seen.notes[SERVER_NOTE_NO_LINK], 1);
}

/* A client that asks for far more than it takes is not read on, and gets all in the end. */
static void answers_wait_for_a_slow_reader(void **state)
{
    enum { SIZE = 1 << 20, TIMES = 64 };
    struct seen seen = {0};
    struct port_options opt = options(&seen);
    struct port_counts counts;
    char *big = calloc(1, SIZE + 8), n[8];
    (void)state;
    opt.max_unsent = 1 << 16;
    struct live_server *s = live_server_start(&opt);
    int fd = client_join(live_server_port(s)), other = client_join(live_server_port(s));
    SAY(fd, "\x01\x02\0\0\0\0\0\0\0/b\0\0\x10\0\0\0\0\0");
    client_say(fd, big, SIZE);
    for (int i = 0; i < TIMES; i++)
        SAY(fd, "\x03\x02\0\0\0\0\0\0\0/b");
    SAY(fd, "\x07");
    SAY(other, "\x07");
    client_hear(other, n, sizeof n); /* nobody else waits */
    live_server_call(s, get_counts, &counts);
    assert_int_equal(counts.all.requests[WIRE_GETNUMKEYS], 3); /* not its last one */
    for (int i = 0; i < TIMES; i++) {
        client_hear(fd, big, SIZE + 8);
        assert_memory_equal(big, "\0\0\x10\0\0\0\0\0", 8);
    }
    client_hear(fd, n, sizeof n);
    assert_int_equal(n[0], 1);
    close(fd);
    close(other);
    live_server_stop(s);
    free(big);
}

/* What is due is sent before a connection is closed for what followed. */
static void answers_come_before_a_refusal(void **state)
{
    struct seen seen = {0};
    struct port_options opt = options(&seen);
    char n[8], waste[4096] = {0};
    (void)state;
    struct live_server *s = live_server_start(&opt);
    int fd = client_join(live_server_port(s));
    SAY(fd, "\x07\x99");
    client_say(fd, waste, sizeof waste);
    client_hear(fd, n, sizeof n);
    client_hear_end(fd);
    live_server_stop(s);
    assert_int_equal(seen.notes[SERVER_NOTE_BAD_REQUEST], 1);
}

static void addresses_that_cannot_be_had(void **state)
{
    struct port_options opt = port_options_default();
    struct err e;
    uv_loop_t loop;
    (void)state;
    uv_loop_init(&loop);
    opt.address = "no-number.example";
    assert_null(port_open(&loop, &opt, &e));
    assert_int_equal(e.code, ERR_USAGE);
    opt.address = "192.0.2.1";
    assert_null(port_open(&loop, &opt, &e));
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* The options of the listener are those of every connection: asked of one handed on. */
static void check_options(void *ctx, struct uv_tcp_s *tcp, struct str first)
{
    uv_os_fd_t fd;
    int value = 0;
    socklen_t len = sizeof value;
    uv_fileno((uv_handle_t *)tcp, &fd);
    getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &len);
    assert_true(value);
    getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, &len);
    assert_true(value);
    getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &value, &len);
    assert_int_equal(value, 30);
    on_link(ctx, tcp, first);
}

static void options_are_inherited(void **state)
{
    struct seen seen = {0};
    struct port_options opt = options(&seen);
    (void)state;
    opt.on_link = check_options;
    struct live_server *s = live_server_start(&opt);
    int fd = client_dial(live_server_port(s));
    SAY(fd, "M");
    client_hear_end(fd);
    live_server_stop(s);
    assert_int_equal(seen.links, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_ends_at_the_deadline),
        cmocka_unit_test(a_late_server_hears_who_spoke_in_time),
        cmocka_unit_test(one_silent_connection_for_each_legacy_client),
        cmocka_unit_test(closed_gate_refuses_newcomers_only),
        cmocka_unit_test(nothing_old_reaches_a_new_store),
        cmocka_unit_test(addresses_are_admitted),
        cmocka_unit_test(a_silent_stranger_is_not_kept),
        cmocka_unit_test(nodes_are_handed_on),
        cmocka_unit_test(answers_wait_for_a_slow_reader),
        cmocka_unit_test(answers_come_before_a_refusal),
        cmocka_unit_test(addresses_that_cannot_be_had),
        cmocka_unit_test(options_are_inherited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
