/* control_server: who gets a place among the callers and who loses it, through the real socket.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "launcher/io/control_server.h"

enum { PLACES = 16, LARGE = 8 << 20 };

struct stage {
    uv_loop_t loop;
    struct control_server *server;
    char folder[64];
    bool must_wait;
    int nrequests;
    size_t page; /* bytes of an answer */
};

static void on_request(void *ctx, enum control_verb verb)
{
    struct stage *s = ctx;
    assert_int_equal(verb, CONTROL_STACK);
    s->nrequests++;
}

static bool must_wait(void *ctx, enum control_verb verb)
{
    const struct stage *s = ctx;
    (void)verb;
    return s->must_wait;
}

static void answer(void *ctx, enum control_verb verb, struct buf *out)
{
    const struct stage *s = ctx;
    (void)verb;
    memset(buf_reserve(out, s->page), 'x', s->page);
    buf_commit(out, s->page);
}

static void begin(struct stage *s)
{
    const struct control_events events = {s, on_request, must_wait, answer};
    struct err e;
    *s = (struct stage){.folder = "/tmp/test-control-XXXXXX", .page = 1};
    assert_non_null(mkdtemp(s->folder));
    setenv("MUSTER_RUNTIME_DIR", s->folder, 1);
    uv_loop_init(&s->loop);
    s->server = control_server_open(&s->loop, "job", &events, &e);
    assert_non_null(s->server);
}

static void end(struct stage *s)
{
    control_server_close(s->server);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&s->loop), 0);
    assert_int_equal(rmdir(s->folder), 0);
}

/* What is there is taken: a few rounds without waiting. */
static void turn(struct stage *s)
{
    for (int i = 0; i < 4; i++) {
        uv_run(&s->loop, UV_RUN_NOWAIT);
        control_server_settle(s->server);
    }
}

static int dial(struct stage *s, const char *words)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    strcpy(name.sun_path, control_server_path(s->server));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(send(fd, words, strlen(words), 0), strlen(words));
    turn(s);
    return fd;
}

static int ask(struct stage *s)
{
    return dial(s, "muster/1 stack\n");
}

/* How many bytes there are to the end; -1: it has not ended. Closes. */
static ssize_t take(int fd, char *text, size_t size)
{
    size_t n = 0;
    ssize_t got;
    while ((got = recv(fd, text + n, size - 1 - n, MSG_DONTWAIT)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    close(fd);
    return got == 0 ? (ssize_t)n : -1;
}

static bool is_hung_up(int fd)
{
    struct pollfd p = {.fd = fd};
    return poll(&p, 1, 0) == 1 && p.revents & POLLHUP;
}

static void expect_answer(int fd)
{
    char text[8];
    assert_int_equal(take(fd, text, sizeof text), 1);
}

static void the_first_that_says_nothing_makes_room(void **state)
{
    (void)state;
    struct stage s;
    int idle[PLACES];
    begin(&s);
    for (int i = 0; i < PLACES; i++)
        idle[i] = dial(&s, i % 2 ? "" : "muster/1 st");
    expect_answer(ask(&s));
    assert_true(is_hung_up(idle[0]));
    for (int i = 1; i < PLACES; i++) {
        assert_false(is_hung_up(idle[i]));
        close(idle[i]);
    }
    close(idle[0]);
    end(&s);
}

static void where_all_wait_for_us_one_more_is_told(void **state)
{
    (void)state;
    struct stage s;
    int waiting[PLACES];
    char text[128];
    begin(&s);
    s.must_wait = true;
    for (int i = 0; i < PLACES; i++)
        waiting[i] = ask(&s);
    assert_int_not_equal(take(ask(&s), text, sizeof text), 0);
    assert_string_equal(text,
                        "muster/1 error it has as many callers as it serves; try again\nend\n");
    assert_int_equal(s.nrequests, PLACES);
    s.must_wait = false;
    turn(&s);
    for (int i = 0; i < PLACES; i++)
        expect_answer(waiting[i]);
    expect_answer(ask(&s));
    end(&s);
}

static void who_has_said_all_gets_the_answer_and_who_has_left_keeps_no_place(void **state)
{
    (void)state;
    struct stage s;
    int half;
    begin(&s);
    s.must_wait = true;
    half = ask(&s);
    shutdown(half, SHUT_WR);
    for (int i = 0; i < PLACES; i++)
        close(ask(&s));
    turn(&s);
    int another = ask(&s);
    assert_int_equal(s.nrequests, PLACES + 2);
    s.must_wait = false;
    turn(&s);
    expect_answer(half);
    expect_answer(another);
    end(&s);
}

static void who_keeps_us_waiting_loses_the_place(void **state)
{
    (void)state;
    struct stage s;
    char *text = malloc(LARGE + 1);
    begin(&s);
    s.page = LARGE;
    int lazy = ask(&s); /* takes no answer */
    s.page = 1;
    s.must_wait = true;
    int patient = ask(&s), silent = dial(&s, "");
    while (!is_hung_up(silent) || !is_hung_up(lazy))
        uv_run(&s.loop, UV_RUN_ONCE);
    assert_in_range(take(lazy, text, LARGE + 1), 1, LARGE - 1);
    assert_false(is_hung_up(patient));
    s.must_wait = false;
    turn(&s);
    expect_answer(patient);
    close(silent);
    free(text);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_says_nothing_makes_room),
        cmocka_unit_test(where_all_wait_for_us_one_more_is_told),
        cmocka_unit_test(who_has_said_all_gets_the_answer_and_who_has_left_keeps_no_place),
        cmocka_unit_test(who_keeps_us_waiting_loses_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
