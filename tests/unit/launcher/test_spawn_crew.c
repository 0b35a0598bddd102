#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/io/descendants.h"
#include "launcher/io/spawn_crew.h"

enum { TASKS = 12 };

static char *const envp[] = {(char *)(uintptr_t) "PATH=/usr/bin:/bin", NULL};
static char *const waits[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
                              (char *)(uintptr_t) "read -r line; exit 7", NULL};

struct pipes {
    int in[2], exec[2], null;
};

static void open_pipes(struct pipes *p)
{
    assert_int_equal(pipe2(p->in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(p->exec, O_CLOEXEC), 0);
    p->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
}

static void begin(struct spawn_crew *c, struct spawn_task *t, const struct pipes *p,
                  const char *path, uint32_t local_rank)
{
    memset(t, 0, sizeof *t);
    spawn_init(&t->spawn);
    getrlimit(RLIMIT_NOFILE, &t->spawn.nofile);
    t->spawn.path = path;
    t->spawn.argv = waits;
    t->spawn.envp = envp;
    t->spawn.in = p->in[0];
    t->spawn.out = t->spawn.err = p->null;
    t->spawn.exec_pipe = p->exec[1];
    t->spawn.local_rank = local_rank;
    spawn_crew_begin(c, t);
}

static void close_pipes(const struct pipes *p)
{
    close(p->in[0]);
    close(p->in[1]);
    close(p->exec[0]);
    close(p->exec[1]);
    close(p->null);
}

/* All are children of this process, whoever made them, and end when they are told to. */
static void all_are_started(uint32_t nthreads)
{
    struct descendants *d = descendants_adopt();
    descendants_have_threads(d);
    struct spawn_crew *c = spawn_crew_new(nthreads, 64);
    struct spawn_task tasks[TASKS];
    struct pipes p;
    struct err e;
    pid_t pids[TASKS];
    int pidfd, status;
    assert_int_equal(spawn_crew_threads(c), nthreads);
    open_pipes(&p);
    for (uint32_t i = 0; i < TASKS; i++)
        begin(c, &tasks[i], &p, "/bin/sh", i);
    for (uint32_t i = 0; i < TASKS; i++) {
        assert_int_equal(spawn_crew_end(c, &tasks[i], &pids[i], &pidfd, &e), 0);
        assert_true(fcntl(pidfd, F_GETFD) & FD_CLOEXEC);
        close(pidfd);
    }
    assert_int_equal(descendants_signal(d, 0), TASKS);
    for (uint32_t i = 0; i < TASKS; i++)
        assert_int_equal(write(p.in[1], "\n", 1), 1);
    for (uint32_t i = 0; i < TASKS; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    close_pipes(&p);
    spawn_crew_free(c);
    descendants_free(d);
}

static void without_threads_the_owner_starts_them(void **state)
{
    (void)state;
    all_are_started(0);
}

static void threads_start_them(void **state)
{
    (void)state;
    all_are_started(1);
    all_are_started(3);
}

static void what_a_thread_starts_has_no_signal_blocked(void **state)
{
    (void)state;
    static char *const look[] = {
        (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
        (char *)(uintptr_t) "grep -c 'SigBlk:.0000000000000000' /proc/self/status", NULL};
    struct spawn_crew *c = spawn_crew_new(1, 64);
    struct spawn_task t;
    struct pipes p;
    struct err e;
    int out[2], pidfd, status;
    char text[8] = "";
    pid_t pid;
    open_pipes(&p);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    memset(&t, 0, sizeof t);
    spawn_init(&t.spawn);
    getrlimit(RLIMIT_NOFILE, &t.spawn.nofile);
    t.spawn.path = "/bin/sh";
    t.spawn.argv = look;
    t.spawn.envp = envp;
    t.spawn.in = p.in[0];
    t.spawn.out = out[1];
    t.spawn.err = p.null;
    t.spawn.exec_pipe = p.exec[1];
    spawn_crew_begin(c, &t);
    assert_int_equal(spawn_crew_end(c, &t, &pid, &pidfd, &e), 0);
    close(out[1]);
    assert_int_equal(read(out[0], text, sizeof text - 1), 2);
    assert_string_equal(text, "1\n");
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(pidfd);
    close(out[0]);
    close_pipes(&p);
    spawn_crew_free(c);
}

static void each_failure_is_told(void **state)
{
    (void)state;
    struct spawn_crew *c = spawn_crew_new(2, 64);
    struct spawn_task tasks[TASKS];
    struct spawn_failure failure;
    struct pipes p;
    struct err e;
    pid_t pid;
    int pidfd, status;
    uint32_t seen = 0;
    open_pipes(&p);
    for (uint32_t i = 0; i < TASKS; i++)
        begin(c, &tasks[i], &p, "/no/such/program", i);
    for (uint32_t i = 0; i < TASKS; i++) {
        assert_int_equal(spawn_crew_end(c, &tasks[i], &pid, &pidfd, &e), 0);
        close(pidfd);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 127);
        assert_int_equal(read(p.exec[0], &failure, sizeof failure), sizeof failure);
        assert_int_equal(failure.sys, ENOENT);
        seen |= 1u << failure.local_rank;
    }
    assert_int_equal(seen, (1u << TASKS) - 1);
    close_pipes(&p);
    spawn_crew_free(c);
}

static void few_workers_or_processors_need_no_thread(void **state)
{
    (void)state;
    assert_int_equal(spawn_crew_size(1, 64), 0);
    assert_int_equal(spawn_crew_size(64, 1), 0);
    assert_int_equal(spawn_crew_size(2, 8), 1);
    assert_int_equal(spawn_crew_size(64, 8), 2);
    assert_int_equal(spawn_crew_size(64, 64), 3);
    assert_int_equal(spawn_crew_size(6, 4096), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_threads_the_owner_starts_them),
        cmocka_unit_test(threads_start_them),
        cmocka_unit_test(what_a_thread_starts_has_no_signal_blocked),
        cmocka_unit_test(each_failure_is_told),
        cmocka_unit_test(few_workers_or_processors_need_no_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
