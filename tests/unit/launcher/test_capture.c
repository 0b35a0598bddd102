/* capture: what a command says, its status, and its end where it does not come by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/io/capture.h"

enum { LONG_MS = 60000, SHORT_MS = 200 };

struct outcome {
    int rc;
    struct capture_end end;
    struct buf text;
};

static struct outcome run(const char *script, uint64_t deadline_ms, size_t max)
{
    char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
                    (char *)(uintptr_t)script, NULL};
    struct outcome o = {0};
    struct err e;
    buf_init(&o.text, max);
    o.rc = capture("/bin/sh", argv, environ, deadline_ms, &o.text, &o.end, &e);
    return o;
}

static void both_streams_and_the_status(void **state)
{
    struct outcome o = run("echo one; echo two >&2; read line; exit 3", LONG_MS, 100);
    (void)state;
    assert_true(o.rc == 0 && o.end.is_complete);
    assert_string_equal(buf_str(&o.text), "one\ntwo\n");
    assert_true(WIFEXITED(o.end.status) && WEXITSTATUS(o.end.status) == 3);
    buf_fini(&o.text);
}

static void expect_killed(struct outcome o)
{
    assert_true(o.rc == 0 && !o.end.is_complete);
    assert_true(WIFSIGNALED(o.end.status) && WTERMSIG(o.end.status) == SIGKILL);
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
    assert_true(o.end.is_complete);
    expect_gone(&o);
    o = run("setsid sleep 600 >/dev/null 2>&1 & echo $!", LONG_MS, 100);
    assert_true(o.end.is_complete);
    expect_gone(&o);
    o = run("setsid sleep 600 & echo $!; exec yes", LONG_MS, 8192); /* too much of it */
    assert_true(!o.end.is_complete);
    expect_gone(&o);
}

static pid_t start_holder(const char *fifo)
{
    char *argv[] = {(char *)(uintptr_t) "unkillable", (char *)(uintptr_t) "hold",
                    (char *)(uintptr_t)fifo, NULL};
    pid_t pid = fork();
    if (pid == 0) {
        execv(UNKILLABLE, argv);
        _exit(127);
    }
    return pid;
}

static void who_is_not_ended_by_sigkill_is_left(void **state)
{
    char *argv[] = {(char *)(uintptr_t) "unkillable", NULL}, dir[] = "/tmp/captureXXXXXX";
    char wanted[120];
    struct outcome o = {0};
    struct err e;
    int status;
    (void)state;
    assert_non_null(mkdtemp(dir));
    char *fifo = mem_printf("%s/fifo", dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    setenv("UNKILLABLE", fifo, 1);
    pid_t holder = start_holder(fifo);
    buf_init(&o.text, 100);
    o.rc = capture(UNKILLABLE, argv, environ, LONG_MS, &o.text, &o.end, &e);
    kill(holder, SIGKILL);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    unlink(fifo);
    rmdir(dir);
    free(fifo);
    buf_fini(&o.text);
    assert_int_equal(o.rc, 0);
    if (WIFSIGNALED(o.end.status) && WTERMSIG(o.end.status) == SIGUSR1)
        skip(); /* nobody may trace here */
    assert_true(o.end.left > 0 && !o.end.is_complete);
    assert_int_equal(waitpid(o.end.left, &status, 0), o.end.left);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(capture_late(&o.end, "it", LONG_MS, &e), -1);
    snprintf(wanted, sizeof wanted, "it did not end within 60 s, nor by SIGKILL: process %d ",
             (int)o.end.left);
    assert_memory_equal(e.text, wanted, strlen(wanted));
}

static void what_cannot_be_started_says_so(void **state)
{
    char *argv[] = {(char *)(uintptr_t) "absent", NULL};
    struct buf text;
    struct err e;
    struct capture_end end;
    (void)state;
    buf_init(&text, 100);
    assert_int_equal(capture("/nonexistent/absent", argv, environ, LONG_MS, &text, &end, &e),
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
        cmocka_unit_test(who_is_not_ended_by_sigkill_is_left),
        cmocka_unit_test(what_cannot_be_started_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
