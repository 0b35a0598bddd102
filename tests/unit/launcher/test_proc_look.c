/* proc_look: which process of a worker does the work, and what the kernel says of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/io/proc_look.h"
#include "launcher/io/syscall_name.h"

static void lead_session(void)
{
    setsid();
}

/* As the owner of the terminal does, in the session of whoever started it. */
static void lead_group(void)
{
    setpgid(0, 0);
}

static void stay(void)
{
}

/* A worker that makes a child and waits for it; the child reads what never comes. *child: its
 * pid. */
static pid_t start_worker(void (*lead)(void), void (*leave)(void), pid_t *child)
{
    int ready[2], never[2];
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(never), 0);
    pid_t leader = fork();
    if (leader == 0) {
        lead();
        pid_t pid = fork();
        if (pid == 0) {
            char byte;
            leave();
            pid = getpid();
            _exit(write(ready[1], &pid, sizeof pid) != sizeof pid
                  || read(never[0], &byte, 1) != 1);
        }
        waitpid(pid, NULL, 0);
        _exit(0);
    }
    close(ready[1]);
    close(never[0]);
    assert_int_equal(read(ready[0], child, sizeof *child), sizeof *child);
    close(ready[0]);
    return leader; /* never[1] stays open: closing it would be an end of file */
}

/* The leader waits for its child and ends: neither is left, not even as a zombie of init's. */
static void end_worker(pid_t leader, pid_t child)
{
    kill(child, SIGKILL);
    waitpid(leader, NULL, 0);
}

/* Looks until both wait where they will; the test's time limit is the bound. */
static const struct proc_look *look_until(struct proc_looks *looks, pid_t leader, pid_t wanted,
                                          const char *syscall)
{
    for (;;) {
        proc_look_workers(&leader, 1, looks);
        const struct proc_look *main = proc_look_main(looks, leader);
        if (main && main->pid == wanted && strcmp(main->syscall, syscall) == 0)
            return main;
        proc_looks_fini(looks);
    }
}

/* Needs the right to look at other processes' system calls, which one's own child grants. */
static bool can_see_syscalls(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)getpid());
    FILE *f = fopen(path, "r");
    bool can = f && fgetc(f) != EOF;
    if (f)
        fclose(f);
    return can;
}

static void who_is_waited_for_does_the_work(void **state)
{
    (void)state;
    pid_t child;
    struct proc_looks looks;
    if (!can_see_syscalls())
        skip();
    pid_t leader = start_worker(lead_session, stay, &child);
    const struct proc_look *main = look_until(&looks, leader, child, "read");
    assert_int_equal(looks.len, 2);
    assert_int_equal(main->worker, leader);
    assert_int_equal(main->parent, leader);
    assert_int_equal(main->nthreads, 1);
    assert_false(main->is_python);
    assert_true(proc_look_is_same(main));
    end_worker(leader, child);
    proc_looks_fini(&looks);
}

/* It leads no session: a job of a shell has a group of its own, and is its child. */
static void the_owner_of_the_terminal_has_its_descendants(void **state)
{
    (void)state;
    pid_t child;
    struct proc_looks looks;
    pid_t owner = start_worker(lead_group, lead_group, &child);
    proc_look_workers(&owner, 1, &looks);
    assert_non_null(proc_look_main(&looks, owner));
    assert_int_equal(looks.len, 2);
    assert_int_equal(looks.items[0].worker, owner);
    assert_int_equal(looks.items[1].worker, owner);
    proc_looks_fini(&looks);
    end_worker(owner, child);
}

/* For one that leads a session that is all it has, and the user's own are nobody's. */
static void who_left_the_session_is_nobodys(void **state)
{
    (void)state;
    pid_t child, bystander;
    struct proc_looks looks;
    pid_t leader = start_worker(lead_session, lead_session, &child);
    pid_t others = start_worker(lead_group, stay, &bystander);
    const pid_t workers[] = {leader, 0};
    proc_look_workers(workers, 2, &looks);
    assert_int_equal(looks.len, 1);
    assert_int_equal(looks.items[0].pid, leader);
    proc_looks_fini(&looks);
    end_worker(leader, child);
    end_worker(others, bystander);
}

static void who_has_gone_is_not_the_same(void **state)
{
    (void)state;
    pid_t child;
    struct proc_looks looks;
    pid_t leader = start_worker(lead_session, stay, &child);
    proc_look_workers(&leader, 1, &looks);
    assert_true(looks.len > 0);
    struct proc_look first = looks.items[0];
    end_worker(leader, child);
    assert_false(proc_look_is_same(&first));
    proc_looks_fini(&looks);
    proc_look_workers(&leader, 1, &looks);
    assert_null(proc_look_main(&looks, leader));
    proc_looks_fini(&looks);
}

static struct proc_look process(pid_t pid, pid_t parent, bool is_python, const char *syscall)
{
    struct proc_look p = {
        .pid = pid, .parent = parent, .worker = 10, .state = 'S', .is_python = is_python};
    snprintf(p.syscall, sizeof p.syscall, "%s", syscall);
    return p;
}

static void python_goes_first(void **state)
{
    (void)state;
    struct proc_look items[] = {process(10, 1, false, "wait4"), process(11, 10, false, "read"),
                                process(12, 10, true, "futex"), process(13, 12, true, "poll")};
    const struct proc_looks looks = {items, 4};
    assert_int_equal(proc_look_main(&looks, 10)->pid, 12);
    items[0].is_python = true;
    assert_int_equal(proc_look_main(&looks, 10)->pid, 10);
}

static void a_leader_with_several_children_is_itself(void **state)
{
    (void)state;
    struct proc_look items[] = {process(10, 1, false, "wait4"), process(11, 10, false, "read"),
                                process(12, 10, false, "futex")};
    const struct proc_looks looks = {items, 3};
    assert_int_equal(proc_look_main(&looks, 10)->pid, 10);
    const struct proc_looks orphans = {items + 1, 2};
    assert_int_equal(proc_look_main(&orphans, 10)->pid, 11);
    assert_null(proc_look_main(&looks, 20));
}

static void names_of_system_calls(void **state)
{
    (void)state;
    assert_string_equal(syscall_name(-5), "");
    assert_string_equal(syscall_name(100000), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_waited_for_does_the_work),
        cmocka_unit_test(the_owner_of_the_terminal_has_its_descendants),
        cmocka_unit_test(who_left_the_session_is_nobodys),
        cmocka_unit_test(who_has_gone_is_not_the_same),
        cmocka_unit_test(python_goes_first),
        cmocka_unit_test(a_leader_with_several_children_is_itself),
        cmocka_unit_test(names_of_system_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
