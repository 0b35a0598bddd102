/* spawn: where a program is found, what a worker starts with, how a failed exec is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/io/folder.h"
#include "launcher/io/spawn.h"

static char folder[] = "/tmp/muster-test-XXXXXX";
static char path_entry[256];
static const char *environment[] = {path_entry, NULL};
static const struct facts facts = {.environment = environment};
static struct err err;

static void make_file(const char *name, mode_t mode)
{
    char *path = mem_printf("%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
    close(fd);
    assert_int_equal(chmod(path, mode), 0);
    free(path);
}

static void make_dir(const char *name)
{
    char *path = mem_printf("%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0755), 0);
    free(path);
}

/* one/ has a folder `tool` and a plain file `plain`; two/ has both as programs. */
static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    make_dir("one");
    make_dir("two");
    make_dir("one/tool");
    make_file("one/plain", 0644);
    make_file("one/only", 0644);
    make_file("two/tool", 0755);
    make_file("two/plain", 0755);
    snprintf(path_entry, sizeof path_entry, "PATH=%s/one:%s/two", folder, folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(folder);
    return access(folder, F_OK) == 0;
}

static void expect_found(const char *program, const char *where)
{
    char *found = spawn_find(program, &facts, &err), *want = mem_printf("%s/%s", folder, where);
    assert_non_null(found);
    assert_string_equal(found, want);
    free(found);
    free(want);
}

static void expect_missing(const char *program, enum err_code code, int sys, const char *text)
{
    assert_null(spawn_find(program, &facts, &err));
    assert_int_equal(err.code, code);
    assert_int_equal(err.sys, sys);
    if (!strstr(err.text, text))
        fail_msg("'%s' lacks '%s'", err.text, text);
}

static void programs_are_found_as_by_exec(void **state)
{
    (void)state;
    expect_found("tool", "two/tool");
    expect_found("plain", "two/plain");
    expect_missing("only", ERR_NOT_EXECUTABLE, EACCES, "chmod +x");
    expect_missing("none", ERR_NOT_FOUND, ENOENT, "none: no such program in PATH");
    expect_missing("", ERR_NOT_FOUND, ENOENT, "no such program");
    expect_missing("/", ERR_NOT_EXECUTABLE, EISDIR, "it is a directory");
    expect_missing("./none", ERR_NOT_FOUND, ENOENT, "./none: no such program");
    expect_missing("/dev/null", ERR_NOT_EXECUTABLE, EACCES, "/dev/null");
    expect_missing("/dev/null/x", ERR_NOT_FOUND, ENOTDIR, "no such program");
    char *plain = mem_printf("%s/one/plain", folder);
    expect_missing(plain, ERR_NOT_EXECUTABLE, EACCES, "cannot be executed");
    free(plain);
    assert_null(spawn_find("none", &facts, NULL)); /* who does not want to know why */
}

/* Of what execve would refuse with "No such file or directory", and of what it would take. */
static void the_first_line_of_a_script_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum err_code code;
        const char *words;
    } rows[] = {
        {"", ERR_OK, NULL},
        {"#!", ERR_OK, NULL},
        {"#!\n", ERR_OK, NULL},
        {"#! \t\n", ERR_OK, NULL},
        {"#!/bin/sh", ERR_OK, NULL},
        {"#! /bin/sh -e\n", ERR_OK, NULL},
        {"#!/bin/sh\necho\r\n", ERR_OK, NULL},
        {"\177ELF\r\n", ERR_OK, NULL},
        {"#!/bin/sh\r\n", ERR_NOT_EXECUTABLE, "(CR LF)"},
        {"#!\r\n", ERR_NOT_EXECUTABLE, "(CR LF)"},
        {"#!/usr/bin/env sh\r\n", ERR_NOT_EXECUTABLE, "sed -i"},
        {"#!/no/such -x\n", ERR_NOT_FOUND, "the interpreter /no/such, which"},
        {"#!/dev/null/sh", ERR_NOT_FOUND, "the interpreter /dev/null/sh, which"},
        {"#!/etc/passwd\n", ERR_NOT_EXECUTABLE, "/etc/passwd, which cannot be executed"},
    };
    char *path = mem_printf("%s/script", folder);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        assert_true(fputs(rows[i].text, f) >= 0 && fclose(f) == 0 && chmod(path, 0755) == 0);
        char *found = spawn_find(path, &facts, &err);
        print_message("'%s'\n", rows[i].text);
        assert_int_equal(found != NULL, rows[i].code == ERR_OK);
        assert_true(found || err.code == rows[i].code);
        assert_true(found || strstr(err.text, rows[i].words));
        free(found);
    }
    /* A line longer than execve reads is its own matter. */
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fprintf(f, "#!/%0300d\n", 0) > 0 && fclose(f) == 0);
    free(spawn_find(path, &facts, &err));
    free(path);
}

static void without_path_there_is_a_default(void **state)
{
    (void)state;
    static const char *const empty[] = {NULL};
    const struct facts bare = {.environment = empty};
    char *found = spawn_find("sh", &bare, &err);
    assert_non_null(found);
    free(found);
}

static void empty_parts_of_path_are_here(void **state)
{
    (void)state;
    char here[512];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    make_file("local", 0755);
    static const char *const paths[] = {"PATH=", "PATH=:/none",
                                        "PATH=/none:", "PATH=/none::/x"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const char *const one[] = {paths[i], NULL};
        const struct facts with = {.environment = one};
        char *found = spawn_find("local", &with, &err);
        assert_non_null(found);
        assert_string_equal(found, "./local");
        free(found);
    }
    assert_int_equal(chdir(here), 0);
}

/* ---- start ---- */

struct run {
    int status;     /* of waitpid */
    char out[2048]; /* what it wrote to stdout */
    struct spawn_failure failure;
    ssize_t nfailure;
    struct spawn_refusal refusal;
};

/* What the next worker is bound to. */
static const struct cpu_set *bound_cpus;
static int bound_node = -1;

static struct run run(const char *path, char *const *argv, struct rlimit nofile)
{
    struct run r = {0};
    int out[2], exec_pipe[2], pidfd;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(exec_pipe, O_CLOEXEC), 0);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct spawn s;
    spawn_init(&s);
    static char *const envp[] = {(char *)(uintptr_t) "PATH=/usr/bin:/bin", NULL};
    s.path = path;
    s.argv = argv;
    s.envp = envp;
    s.in = null;
    s.out = out[1];
    s.err = null;
    s.exec_pipe = exec_pipe[1];
    s.local_rank = 42;
    s.nofile = nofile;
    s.cpus = bound_cpus;
    s.mem_node = bound_node;
    s.refusal = &r.refusal;
    pid_t pid;
    assert_int_equal(spawn_start(&s, &pid, &pidfd, &err), 0);
    close(out[1]);
    close(exec_pipe[1]);
    assert_true(fcntl(pidfd, F_GETFD) & FD_CLOEXEC);
    ssize_t n;
    size_t len = 0;
    while (len < sizeof r.out - 1
           && (n = read(out[0], r.out + len, sizeof r.out - 1 - len)) > 0)
        len += (size_t)n;
    r.nfailure = read(exec_pipe[0], &r.failure, sizeof r.failure);
    assert_int_equal(waitpid(pid, &r.status, 0), pid);
    close(out[0]);
    close(exec_pipe[0]);
    close(pidfd);
    close(null);
    return r;
}

static struct run run_shell(const char *script)
{
    char *const argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
                          (char *)(uintptr_t)script, NULL};
    struct rlimit nofile;
    getrlimit(RLIMIT_NOFILE, &nofile);
    return run("/bin/sh", argv, nofile);
}

static void a_worker_starts_clean(void **state)
{
    (void)state;
    sigset_t some, old;
    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    sigaddset(&some, SIGUSR2);
    sigprocmask(SIG_BLOCK, &some, &old);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    struct run r = run_shell("grep -E 'Sig(Blk|Ign)' /proc/self/status; "
                             "echo $$; cut -d' ' -f5,6 /proc/$$/stat");
    signal(SIGUSR1, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
    assert_non_null(strstr(r.out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"));
    char *pid = strchr(strstr(r.out, "SigIgn"), '\n') + 1, want[64];
    long number = strtol(pid, NULL, 10);
    snprintf(want, sizeof want, "%ld\n%ld %ld\n", number, number, number);
    assert_string_equal(pid, want); /* its own group and session */
    assert_int_equal(r.nfailure, 0);
}

static void it_has_the_limit_that_it_was_given(void **state)
{
    (void)state;
    char *const argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
                          (char *)(uintptr_t) "ulimit -Sn; ulimit -Hn", NULL};
    struct run r = run("/bin/sh", argv, (struct rlimit){33, 44});
    assert_string_equal(r.out, "33\n44\n");
}

static void a_failed_exec_is_told(void **state)
{
    (void)state;
    char *const argv[] = {(char *)(uintptr_t) "x", NULL};
    struct rlimit nofile;
    getrlimit(RLIMIT_NOFILE, &nofile);
    static const struct {
        const char *path;
        int sys;
    } rows[] = {{"/no/such/program", ENOENT}, {"/", EACCES}, {"/dev/null", EACCES}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct run r = run(rows[i].path, argv, nofile);
        assert_int_equal(r.nfailure, sizeof r.failure);
        assert_int_equal(r.failure.local_rank, 42);
        assert_int_equal(r.failure.sys, rows[i].sys);
        assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 127);
    }
}

static void handlers_of_ours_are_untouched(void **state)
{
    (void)state;
    struct sigaction before, after;
    sigset_t mask_before, mask_after;
    memset(&mask_before, 0, sizeof mask_before);
    memset(&mask_after, 0, sizeof mask_after);
    sigaction(SIGTERM, NULL, &before);
    sigprocmask(SIG_SETMASK, NULL, &mask_before);
    run_shell("exit 0");
    sigaction(SIGTERM, NULL, &after);
    sigprocmask(SIG_SETMASK, NULL, &mask_after);
    assert_true(before.sa_handler == after.sa_handler);
    assert_memory_equal(&mask_before, &mask_after, sizeof mask_before);
}

static struct run run_bound(const struct cpu_set *cpus, int node)
{
    bound_cpus = cpus;
    bound_node = node;
    struct run r =
        run_shell("grep Cpus_allowed_list /proc/self/status; cat /proc/$$/numa_maps");
    bound_cpus = NULL;
    bound_node = -1;
    assert_true(WIFEXITED(r.status));
    assert_int_equal(r.nfailure, 0);
    return r;
}

static void a_worker_runs_where_it_is_bound(void **state)
{
    (void)state;
    struct cpu_set own = {{0}}, one = {{0}}, after = {{0}};
    char want[64];
    int cpu = 0;
    assert_int_equal(sched_getaffinity(0, sizeof own, (cpu_set_t *)own.words), 0);
    while (!cpu_set_has(&own, cpu))
        cpu++;
    cpu_set_add(&one, cpu);
    struct run r = run_bound(&one, -1);
    snprintf(want, sizeof want, "Cpus_allowed_list:\t%d\n", cpu);
    assert_non_null(strstr(r.out, want));
    assert_int_equal(r.refusal.cpus, 0);
    assert_int_equal(r.refusal.memory, 0);
    assert_int_equal(sched_getaffinity(0, sizeof after, (cpu_set_t *)after.words), 0);
    assert_memory_equal(&own, &after, sizeof own);
}

/* Where a sandbox forbids memory policies, that is what has to be told. */
static void memory_is_preferred_from_a_node(void **state)
{
    (void)state;
    struct run r = run_bound(NULL, 0);
    if (r.refusal.memory == 0 && strstr(r.out, " default "))
        fail_msg("no policy: %s", r.out);
    else if (r.refusal.memory)
        assert_true(r.refusal.memory == EPERM || r.refusal.memory == ENOSYS);
}

static void what_the_kernel_refuses_is_told_and_stops_nobody(void **state)
{
    (void)state;
    struct cpu_set none_such = {{0}};
    cpu_set_add(&none_such, CPU_SET_MAX - 1);
    struct run r = run_bound(&none_such, 1023);
    assert_non_null(strstr(r.out, "Cpus_allowed_list"));
    assert_int_equal(r.refusal.cpus, EINVAL);
    assert_int_not_equal(r.refusal.memory, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_found_as_by_exec),
        cmocka_unit_test(the_first_line_of_a_script_is_read),
        cmocka_unit_test(without_path_there_is_a_default),
        cmocka_unit_test(empty_parts_of_path_are_here),
        cmocka_unit_test(a_worker_starts_clean),
        cmocka_unit_test(it_has_the_limit_that_it_was_given),
        cmocka_unit_test(a_failed_exec_is_told),
        cmocka_unit_test(handlers_of_ours_are_untouched),
        cmocka_unit_test(a_worker_runs_where_it_is_bound),
        cmocka_unit_test(memory_is_preferred_from_a_node),
        cmocka_unit_test(what_the_kernel_refuses_is_told_and_stops_nobody),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
