/* descendants: who is found, who is a stranger, and who cannot outrun SIGKILL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/io/descendants.h"
#include "launcher/io/proc_stat.h"

static struct descendants *ours;

static bool nobody(void *ctx, pid_t pid)
{
    (void)ctx;
    (void)pid;
    return false;
}

static bool only(void *ctx, pid_t pid)
{
    return pid == *(const pid_t *)ctx;
}

static _Noreturn void rest(void)
{
    for (;;)
        pause();
}

static void *rest_thread(void *arg)
{
    rest();
    return arg;
}

/* Forks a process that runs act in a session of its own, once it says that it is ready. */
static pid_t start(void (*act)(int ready))
{
    int fds[2];
    char byte;
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        close(fds[0]);
        act(fds[1]);
        _exit(0);
    }
    close(fds[1]);
    assert_int_equal(read(fds[0], &byte, 1), 1);
    close(fds[0]);
    return pid;
}

static void say_ready(int ready)
{
    ssize_t n = write(ready, "r", 1);
    (void)n;
    close(ready);
}

static void be_one(int ready)
{
    say_ready(ready);
    rest();
}

/* Leaves an orphan that left the session, too. */
static void be_daemon(int ready)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            setsid();
            say_ready(ready);
        }
        rest();
    }
    close(ready);
}

static void lose_first_thread(int ready)
{
    pthread_t thread;
    pthread_create(&thread, NULL, rest_thread, NULL);
    say_ready(ready);
    pthread_exit(NULL);
}

static void be_deaf(int ready)
{
    signal(SIGTERM, SIG_IGN);
    be_one(ready);
}

/* Always somebody else by the time it is looked at. */
static void relay(int ready)
{
    say_ready(ready);
    for (int i = 0; i < 2000000; i++)
        if (fork() > 0)
            _exit(0);
}

/* Until nobody is left; every death that has been caused comes. */
static void wait_until_gone(void)
{
    while (descendants_signal(ours, 0) > 0)
        descendants_collect(ours, nobody, NULL);
    descendants_collect(ours, nobody, NULL);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static int set_up(void **state)
{
    (void)state;
    ours = descendants_adopt();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    descendants_signal(ours, SIGKILL);
    wait_until_gone();
    descendants_free(ours);
    return 0;
}

static void nobody_at_first(void **state)
{
    (void)state;
    assert_int_equal(descendants_signal(ours, 0), 0);
    assert_int_equal(descendants_signal(ours, SIGKILL), 0);
}

static void a_child_is_found_and_ended(void **state)
{
    (void)state;
    start(be_one);
    assert_int_equal(descendants_signal(ours, 0), 1);
    assert_int_equal(descendants_signal(ours, SIGTERM), 1);
    wait_until_gone();
}

static void an_orphan_of_another_session_is_found(void **state)
{
    (void)state;
    start(be_daemon);
    assert_true(descendants_signal(ours, 0) >= 2);
    descendants_signal(ours, SIGTERM);
    wait_until_gone();
}

static void a_zombie_with_threads_is_alive(void **state)
{
    (void)state;
    start(lose_first_thread);
    assert_int_equal(descendants_signal(ours, SIGKILL), 1);
    wait_until_gone();
}

static void a_deaf_one_hears_sigkill(void **state)
{
    (void)state;
    start(be_deaf);
    descendants_signal(ours, SIGTERM);
    assert_int_equal(descendants_signal(ours, 0), 1);
    descendants_signal(ours, SIGKILL);
    wait_until_gone();
}

static void a_relay_is_caught(void **state)
{
    (void)state;
    start(relay);
    while (descendants_signal(ours, SIGKILL) > 0)
        descendants_collect(ours, nobody, NULL);
    wait_until_gone();
}

static void a_zombie_does_not_count_and_known_ones_stay(void **state)
{
    (void)state;
    pid_t pid = start(be_one);
    kill(pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(descendants_signal(ours, 0), 0);
    descendants_collect(ours, only, &pid);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), pid); /* it was still there */
}

/* Also as a zombie: who started it collects it. Once released it is a child as any other. */
static void what_is_kept_is_its_owners(void **state)
{
    (void)state;
    pid_t pid = start(be_one);
    descendants_keep(ours, pid);
    assert_int_equal(descendants_signal(ours, SIGKILL), 0);
    assert_int_equal(kill(pid, 0), 0);
    kill(pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    descendants_collect(ours, nobody, NULL);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), pid);
    descendants_release(ours, pid);
    pid = start(be_one);
    descendants_keep(ours, pid);
    descendants_release(ours, pid);
    assert_int_equal(descendants_signal(ours, SIGKILL), 1);
    wait_until_gone();
}

static void strangers_are_left_alone(void **state)
{
    (void)state;
    descendants_free(ours);
    pid_t before = start(be_one);
    ours = descendants_adopt();
    assert_int_equal(descendants_signal(ours, SIGKILL), 0);
    start(be_one);
    assert_int_equal(descendants_signal(ours, SIGKILL), 1);
    while (descendants_signal(ours, 0) > 0)
        ;
    assert_int_equal(kill(before, 0), 0);
    assert_int_equal(waitpid(before, NULL, WNOHANG), 0);
    kill(before, SIGKILL);
    assert_int_equal(waitpid(before, NULL, 0), before);
}

/* Stays in this session, as what the owner of the terminal starts does. */
static pid_t start_here(void)
{
    pid_t pid = fork();
    if (pid == 0)
        rest();
    return pid;
}

static void the_owner_of_the_terminal_is_in_our_session(void **state)
{
    (void)state;
    start_here();
    assert_int_equal(descendants_signal(ours, SIGKILL), 1);
    wait_until_gone();
}

static const uint64_t mark = UINT64_C(0x4000000000001234);

/* The hard limit may be lower. */
static bool can_mark(void)
{
    struct rlimit now;
    return getrlimit(RLIMIT_LOCKS, &now) == 0 && now.rlim_max == RLIM_INFINITY;
}

/* A worker's, in this session and in the group of another. */
static pid_t start_marked(pid_t group)
{
    pid_t pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_LOCKS, &(struct rlimit){mark, RLIM_INFINITY});
        rest();
    }
    assert_int_equal(setpgid(pid, group), 0);
    while (proc_stat_mark(pid) != mark)
        ;
    return pid;
}

/* A stranger, who leads a group and has started *child; both are there before we adopt. */
static pid_t start_stranger(void (*leave)(void), pid_t *child)
{
    int fds[2];
    descendants_free(ours);
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        if (fork() == 0) {
            leave();
            pid = getpid();
            if (write(fds[1], &pid, sizeof pid) != sizeof pid)
                _exit(1);
        }
        rest();
    }
    assert_int_equal(read(fds[0], child, sizeof *child), sizeof *child);
    close(fds[0]);
    close(fds[1]);
    ours = descendants_adopt();
    return pid;
}

static void end_here(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void stay(void)
{
}

static void leave_session(void)
{
    setsid();
}

static void what_a_stranger_leaves_behind_is_not_ours(void **state)
{
    (void)state;
    pid_t orphan;
    end_here(start_stranger(leave_session, &orphan));
    assert_int_equal(descendants_signal(ours, 0), 1); /* nothing tells it from a worker's */
    descendants_know_mark(ours, mark);
    assert_int_equal(descendants_signal(ours, SIGKILL), 0);
    end_here(orphan);
    end_here(start_stranger(stay, &orphan));
    assert_int_equal(descendants_signal(ours, SIGKILL), 0);
    descendants_know_mark(ours, mark);
    assert_int_equal(descendants_signal(ours, SIGKILL), 0);
    end_here(orphan);
}

static void who_carries_the_mark_is_ours_and_its_group_need_not_be(void **state)
{
    (void)state;
    if (!can_mark())
        skip();
    pid_t child, stranger = start_stranger(stay, &child);
    pid_t worker = start_marked(stranger);
    assert_int_equal(descendants_signal(ours, SIGKILL), 0);
    descendants_know_mark(ours, mark);
    assert_int_equal(descendants_signal(ours, SIGKILL), 1);
    assert_int_equal(waitpid(worker, NULL, 0), worker);
    assert_int_equal(kill(child, 0), 0);
    end_here(stranger);
    end_here(child);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(nobody_at_first),
        TEST(a_child_is_found_and_ended),
        TEST(an_orphan_of_another_session_is_found),
        TEST(a_zombie_with_threads_is_alive),
        TEST(a_deaf_one_hears_sigkill),
        TEST(a_relay_is_caught),
        TEST(a_zombie_does_not_count_and_known_ones_stay),
        TEST(what_is_kept_is_its_owners),
        TEST(strangers_are_left_alone),
        TEST(the_owner_of_the_terminal_is_in_our_session),
        TEST(what_a_stranger_leaves_behind_is_not_ours),
        TEST(who_carries_the_mark_is_ours_and_its_group_need_not_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
