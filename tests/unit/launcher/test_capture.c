/* capture: what a command says, its status, and its end where it does not come by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/io/capture.h"

enum { LONG_MS = 60000, SHORT_MS = 200 };

struct outcome {
    int rc, status;
    bool is_complete;
    struct buf text;
};

static struct outcome run(const char *script, uint64_t deadline_ms, size_t max)
{
    char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
                    (char *)(uintptr_t)script, NULL};
    struct outcome o = {0};
    struct err e;
    buf_init(&o.text, max);
    o.rc =
        capture("/bin/sh", argv, environ, deadline_ms, &o.text, &o.is_complete, &o.status, &e);
    return o;
}

static void both_streams_and_the_status(void **state)
{
    struct outcome o = run("echo one; echo two >&2; read line; exit 3", LONG_MS, 100);
    (void)state;
    assert_true(o.rc == 0 && o.is_complete);
    assert_string_equal(buf_str(&o.text), "one\ntwo\n");
    assert_true(WIFEXITED(o.status) && WEXITSTATUS(o.status) == 3);
    buf_fini(&o.text);
}

static void expect_killed(struct outcome o)
{
    assert_true(o.rc == 0 && !o.is_complete);
    assert_true(WIFSIGNALED(o.status) && WTERMSIG(o.status) == SIGKILL);
    buf_fini(&o.text);
}

static void one_that_does_not_end_is_ended(void **state)
{
    (void)state;
    expect_killed(run("exec sleep 600", SHORT_MS, 100));
    expect_killed(run("exec sleep 600 >&- 2>&-", SHORT_MS, 100)); /* its output is closed */
    expect_killed(run("while :; do echo y; done", LONG_MS, 100)); /* too much of it */
}

/* The process whose number it said ends, too; it has become our child by then. */
static void expect_gone(struct outcome *o)
{
    int status;
    pid_t pid = (pid_t)strtol(buf_str(&o->text), NULL, 10);
    assert_true(o->rc == 0 && pid > 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    buf_fini(&o->text);
}

static void nothing_that_it_started_stays(void **state)
{
    (void)state;
    struct outcome o = run("sleep 600 >/dev/null 2>&1 & echo $!", LONG_MS, 100);
    assert_true(o.is_complete);
    expect_gone(&o);
    o = run("setsid sleep 600 >/dev/null 2>&1 & echo $!", LONG_MS, 100);
    assert_true(o.is_complete);
    expect_gone(&o);
    o = run("setsid sleep 600 & echo $!; wait", SHORT_MS, 100);
    assert_true(!o.is_complete);
    expect_gone(&o);
}

static void what_cannot_be_started_says_so(void **state)
{
    char *argv[] = {(char *)(uintptr_t) "absent", NULL};
    struct buf text;
    struct err e;
    bool is_complete;
    int status;
    (void)state;
    buf_init(&text, 100);
    assert_int_equal(capture("/nonexistent/absent", argv, environ, LONG_MS, &text, &is_complete,
                             &status, &e),
                     -1);
    assert_int_equal(e.code, ERR_SYSTEM);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_streams_and_the_status),
        cmocka_unit_test(one_that_does_not_end_is_ended),
        cmocka_unit_test(nothing_that_it_started_stays),
        cmocka_unit_test(what_cannot_be_started_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
