/* stack_tool: who is killed with a tool, and who is not. In a pid namespace, where a number can
 * be given to another; skipped where there may be none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/io/stack_tool.h"

enum outcome { RIGHT, WRONG, CANNOT };

static char folder[] = "/tmp/stack-tool-XXXXXX";

static void on_started(void *ctx, pid_t pid)
{
    (void)ctx;
    (void)pid;
}

static void on_end(void *ctx)
{
    *(bool *)ctx = true;
}

/* As fork; the child has this number. */
static pid_t fork_as(pid_t pid)
{
    struct clone_args args = {
        .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&pid, .set_tid_size = 1};
    return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

/* Leads a group, and answers when asked. */
static _Noreturn void be_another(int ask, int answer)
{
    char byte;
    setpgid(0, 0);
    _exit(read(ask, &byte, 1) != 1 || write(answer, &byte, 1) != 1);
}

static bool start(struct stack_tool *t, bool *has_ended)
{
    static uv_loop_t loop;
    static struct spawn spawn;
    static struct helper_host host;
    static char path[64];
    static const char *environment[] = {path, NULL};
    static struct facts facts;
    struct err e;
    snprintf(path, sizeof path, "PATH=%s", folder);
    facts.environment = environment;
    uv_loop_init(&loop);
    spawn_init(&spawn);
    getrlimit(RLIMIT_NOFILE, &spawn.nofile);
    host = (struct helper_host){.watches = watch_set_new(&loop, &e),
                                .spawn = &spawn,
                                .facts = &facts,
                                .dev_null = open("/dev/null", O_RDONLY | O_CLOEXEC),
                                .on_started = on_started};
    return stack_tool_start(t, &host, STACK_GDB, 1, on_end, has_ended, &e) == 0;
}

/* Muster collects its zombie with those of others before it has seen its end. */
static enum outcome kill_one_that_was_collected(void)
{
    struct stack_tool t;
    bool has_ended = false;
    if (!start(&t, &has_ended))
        return WRONG;
    kill(t.pid, SIGKILL);
    waitpid(t.pid, NULL, 0);
    int ask[2], answer[2];
    char byte = 'b';
    if (pipe2(ask, O_CLOEXEC) < 0 || pipe2(answer, O_CLOEXEC) < 0)
        return WRONG;
    pid_t other = fork_as(t.pid);
    if (other == 0)
        be_another(ask[0], answer[1]);
    if (other < 0)
        return CANNOT;
    close(answer[1]);
    setpgid(other, other);
    stack_tool_kill(&t);
    bool lives = write(ask[1], &byte, 1) == 1 && read(answer[0], &byte, 1) == 1;
    return has_ended && lives ? RIGHT : WRONG;
}

static enum outcome kill_one_that_runs(void)
{
    struct stack_tool t;
    bool has_ended = false;
    if (!start(&t, &has_ended))
        return WRONG;
    stack_tool_kill(&t);
    return has_ended && waitpid(t.pid, NULL, 0) == t.pid ? RIGHT : WRONG;
}

/* As process 1 of a pid namespace: with its end all others end. */
static void expect_right(enum outcome (*act)(void))
{
    int status;
    pid_t outer = fork();
    if (outer == 0) {
        if (unshare(CLONE_NEWPID) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
            _exit(CANNOT);
        pid_t inner = fork();
        if (inner == 0)
            _exit((int)act());
        _exit(waitpid(inner, &status, 0) == inner && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                       : WRONG);
    }
    assert_int_equal(waitpid(outer, &status, 0), outer);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == CANNOT)
        skip();
    assert_int_equal(WEXITSTATUS(status), RIGHT);
}

static void a_tool_that_runs_is_killed(void **state)
{
    (void)state;
    expect_right(kill_one_that_runs);
}

static void who_has_its_number_by_now_is_not(void **state)
{
    (void)state;
    expect_right(kill_one_that_was_collected);
}

static int make_tool(void **state)
{
    char path[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/gdb", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("#!/bin/sh\nexec /bin/sleep 300\n", f);
    fclose(f);
    return chmod(path, 0755);
}

static int remove_tool(void **state)
{
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "%s/gdb", folder);
    return unlink(path) < 0 ? -1 : rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_that_runs_is_killed),
        cmocka_unit_test(who_has_its_number_by_now_is_not),
    };
    return cmocka_run_group_tests(tests, make_tool, remove_tool);
}
