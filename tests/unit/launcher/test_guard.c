/* guard: what it is once it stands; what it does when muster is killed says system/t1450-guard.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/io/guard.h"

enum { OUTER = 1 << 30 }; /* as if a mark of an outer job */

static rlim_t limit_of(pid_t pid)
{
    struct rlimit now = {0, 0};
    assert_int_equal(prlimit(pid, RLIMIT_LOCKS, NULL, &now), 0);
    return now.rlim_cur;
}

static void expect_file(pid_t pid, const char *name, const char *begins)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    assert_int_equal(strncmp(text, begins, strlen(begins)), 0);
}

static int descriptors_of(pid_t pid)
{
    char path[64];
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

/* Nothing of ours by which somebody else could find it, and no descriptor but its pipe's. */
static void it_stands_when_it_was_awaited(void **state)
{
    (void)state;
    struct err e;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_LOCKS, &before), 0);
    if (before.rlim_max != RLIM_INFINITY)
        skip();
    assert_int_equal(setrlimit(RLIMIT_LOCKS, &(struct rlimit){OUTER, RLIM_INFINITY}), 0);
    struct guard *g = guard_start(&e);
    assert_non_null(g);
    guard_await(g);
    guard_await(g); /* again is nothing */
    pid_t pid = guard_pid(g);
    assert_true(guard_mark(g) != 0);
    assert_true(limit_of(pid) == RLIM_INFINITY);
    assert_true(limit_of(0) == OUTER);
    assert_int_equal(getsid(pid), pid);
    expect_file(pid, "comm", "job-guard\n");
    expect_file(pid, "cmdline", "job-guard");
    assert_int_equal(descriptors_of(pid), 4);
    guard_stop(g);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
    assert_int_equal(setrlimit(RLIMIT_LOCKS, &before), 0);
}

static void one_that_has_died_holds_nobody_up(void **state)
{
    (void)state;
    struct err e;
    struct guard *g = guard_start(&e);
    assert_non_null(g);
    guard_dismiss(g);
    guard_await(g);
    guard_stop(g);
    guard_await(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_stands_when_it_was_awaited),
        cmocka_unit_test(one_that_has_died_holds_nobody_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
