/* A deadline ends a rank in time, and first has it abort where that is wanted. Each case is a
 * process of its own, since the watchdog ends it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "worker/phase.h"
#include "worker/status.h"

enum { OWN_STATUS = 99 };

static int status_of(void (*body)(struct phases *p))
{
    pid_t pid = fork();
    if (pid == 0) {
        const struct env env = {.world_size = 1, .job_id = ""};
        struct options o = {.deadline_ms = {[PHASE_bench] = 50,
                                            [PHASE_init_done] = 50,
                                            [PHASE_warm] = 4000,
                                            [PHASE_verify] = 2000}};
        struct err e;
        alarm(60);
        struct phases *p = phases_new(&env, &o, NULL, &e);
        body(p);
        _exit(OWN_STATUS);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void begin(struct phases *p, enum phase phase)
{
    phases_begin(p, (struct point){phase, -1}, "a test", 0);
}

static _Noreturn void wait_for_the_end(void)
{
    for (;;)
        pause();
}

static void never_ready(struct phases *p)
{
    begin(p, PHASE_init_done);
    wait_for_the_end();
}

static void stuck(struct phases *p)
{
    begin(p, PHASE_bench);
    wait_for_the_end();
}

static void a_deadline_ends_the_process(void **state)
{
    (void)state;
    assert_int_equal(status_of(never_ready), STATUS_PHASE);
    assert_int_equal(status_of(stuck), STATUS_STUCK);
}

static void in_time(struct phases *p)
{
    struct err e;
    begin(p, PHASE_verify);
    phases_meet(p, (struct point){PHASE_verify, -1}, &e);
    usleep(3000000); /* longer than the deadline, which is over */
}

static void who_is_in_time_goes_on(void **state)
{
    (void)state;
    assert_int_equal(status_of(in_time), OWN_STATUS);
}

static void goes_on(struct phases *p)
{
    struct err e;
    const struct point at = {PHASE_warm, -1};
    phases_begin(p, at, "a test", 0);
    for (int i = 0; i < 45; i++) { /* in all more than the deadline of 4 s */
        phases_go_on(p);
        usleep(100000);
    }
    phases_meet(p, at, &e);
}

static void who_goes_on_has_the_whole_time_again(void **state)
{
    (void)state;
    assert_int_equal(status_of(goes_on), OWN_STATUS);
}

static void aborts(struct phases *p)
{
    phases_set_abort(p, 60000);
    begin(p, PHASE_bench);
    while (!phases_is_aborting(p))
        usleep(1000);
    phases_aborted(p);
}

static void abort_blocks(struct phases *p)
{
    phases_set_abort(p, 100);
    begin(p, PHASE_bench);
    while (!phases_is_aborting(p))
        usleep(1000);
    wait_for_the_end();
}

static void has_nothing_to_abort(struct phases *p)
{
    phases_set_abort(p, 60000);
    begin(p, PHASE_init_done);
    wait_for_the_end();
}

/* The 60 s of the first and the last case would outlast the alarm. */
static void an_abort_comes_first_and_may_block(void **state)
{
    (void)state;
    assert_int_equal(status_of(aborts), STATUS_STUCK);
    assert_int_equal(status_of(abort_blocks), STATUS_STUCK);
    assert_int_equal(status_of(has_nothing_to_abort), STATUS_PHASE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_ends_the_process),
        cmocka_unit_test(who_is_in_time_goes_on),
        cmocka_unit_test(who_goes_on_has_the_whole_time_again),
        cmocka_unit_test(an_abort_comes_first_and_may_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
