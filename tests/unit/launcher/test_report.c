/* report: the last screen of jobs that were driven by events in text form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driven.h"
#include "launcher/core/report.h"

#define START                                                                                  \
    "0 boot addr=127.0.0.1 port=1234", "0 frame 0 hello 0 host=box slots=4",                   \
        "1 frame 0 ready 0", "1 frame 0 started 0 local_rank=0 pid=100",                       \
        "1 frame 0 started 0 local_rank=1 pid=101",                                            \
        "1 frame 0 started 0 local_rank=2 pid=102", "1 frame 0 started 0 local_rank=3 pid=103"

/* The report of a job of four workers after these events. Free with free(). */
static char *report_after(const struct options *opt, const char *const *lines)
{
    struct job *job = driven_job(opt, lines);
    struct buf out;
    buf_init(&out, 0);
    report_format(job, opt, &out);
    job_free(job);
    return buf_steal(&out);
}

static char *const program[] = {(char *)(uintptr_t) "./prog", NULL};

static struct options options(void)
{
    return (struct options){
        .grace_ms = 25000, .prefix = "auto", .job_id = "j", .program = program};
}

static void a_failed_worker(void **state)
{
    (void)state;
    const char *const lines[] = {
        START,
        "501 frame 0 exited 0 local_rank=0 pid=100 end=exit:0 gpu=- tail=-",
        "1234 frame 0 exited 0 local_rank=2 pid=102 end=exit:7 gpu=GPU tail=boom",
        "1300 frame 0 exited 0 local_rank=1 pid=101 end=signal:15 gpu=- tail=-",
        "1500 frame 0 exited 0 local_rank=3 pid=103 end=signal:15 gpu=- tail=-",
        "1600 frame 0 reaped 0",
        NULL};
    const struct options opt = options();
    char *text = report_after(&opt, lines);
    assert_string_equal(
        text,
        "muster: rank 2 failed first: exit 7  (host box, local rank 2, GPU, pid 102, after "
        "1.233 s)\n"
        "  last lines of its stderr:\n"
        "    boom\n"
        "  stopped by muster: 2 others (SIGTERM), all gone after 0.366 s\n"
        "  had ended well: rank 0\n"
        "  exit status 7\n");
    free(text);
}

static void the_evidence(void **state)
{
    (void)state;
    static const char exited[] = "9 frame 0 exited 0 local_rank=2 pid=102 end=exit:139 gpu=- "
                                 "tail=unhandled/dev/shm error=RuntimeError:x cause=limit_hit";
    const char *lines[] = {START, exited, "9 frame 0 reaped 0", NULL};
    const struct options opt = options();
    char *text = report_after(&opt, lines);
    assert_non_null(strstr(text, "\n  exit 139: a shell says so when its child died of SIGSEGV"
                                 "\n  limit_hit\n  RuntimeError:x\n  last lines of its stderr:"
                                 "\n    unhandled/dev/shm\n  /dev/shm: something is wrong"));
    free(text);
    lines[7] = "9 frame 0 exited 0 local_rank=2 pid=102 end=signal:9 gpu=- tail=-";
    text = report_after(&opt, lines);
    assert_non_null(strstr(text, "\n  muster did not send it"));
    free(text);
    lines[7] = "9 frame 0 exited 0 local_rank=2 pid=102 end=signal:9 gpu=- tail=- cause=limit";
    text = report_after(&opt, lines);
    assert_null(strstr(text, "muster did not send it"));
    free(text);
}

static void who_failed_soon_after(void **state)
{
    (void)state;
    const char *const lines[] = {
        START,
        "100 frame 0 exited 0 local_rank=2 pid=102 end=exit:7 gpu=- tail=-",
        "112 frame 0 exited 0 local_rank=1 pid=101 end=signal:11 gpu=- tail=-",
        "130 frame 0 exited 0 local_rank=0 pid=100 end=exit:1 gpu=- tail=-",
        "140 frame 0 exited 0 local_rank=3 pid=103 end=signal:15 gpu=- tail=-",
        "150 frame 0 reaped 0",
        NULL};
    const struct options opt = options();
    char *text = report_after(&opt, lines);
    assert_non_null(
        strstr(text, "\n  also failed: rank 0 (exit 1, 30 ms later), rank 1 (signal "
                     "11 (SIGSEGV), 12 ms later)\n  stopped by muster: 1 other (SIGTERM)"));
    free(text);
}

static void what_the_stop_brings_about_is_no_failure(void **state)
{
    (void)state;
    const char *const lines[] = {
        START,
        "100 frame 0 exited 0 local_rank=2 pid=102 end=exit:7 gpu=- tail=-",
        "112 frame 0 exited 0 local_rank=1 pid=101 end=exit:0 gpu=- tail=-",
        "130 frame 0 exited 0 local_rank=0 pid=100 end=exit:143 gpu=- tail=-",
        "1102 frame 0 exited 0 local_rank=3 pid=103 end=exit:1 gpu=- tail=-",
        "1150 frame 0 reaped 0",
        NULL};
    const struct options opt = options();
    char *text = report_after(&opt, lines);
    assert_null(strstr(text, "also failed"));
    free(text);
}

static void success_says_nothing(void **state)
{
    (void)state;
    const char *const lines[] = {
        START,
        "5 frame 0 exited 0 local_rank=0 pid=100 end=exit:0 gpu=- tail=-",
        "5 frame 0 exited 0 local_rank=1 pid=101 end=exit:0 gpu=- tail=-",
        "5 frame 0 exited 0 local_rank=2 pid=102 end=exit:0 gpu=- tail=-",
        "5 frame 0 exited 0 local_rank=3 pid=103 end=exit:0 gpu=- tail=-",
        "6 frame 0 reaped 0",
        NULL};
    const struct options opt = options();
    char *text = report_after(&opt, lines);
    assert_string_equal(text, "");
    free(text);
}

static void a_signal_to_muster(void **state)
{
    (void)state;
    const char *const lines[] = {
        START,
        "10 signal signo=SIGINT",
        "20 frame 0 exited 0 local_rank=0 pid=100 end=signal:2 gpu=- tail=-",
        "20 frame 0 exited 0 local_rank=1 pid=101 end=signal:2 gpu=- tail=-",
        "20 frame 0 exited 0 local_rank=2 pid=102 end=signal:2 gpu=- tail=-",
        "20 frame 0 exited 0 local_rank=3 pid=103 end=unknown:0 gpu=- tail=-",
        "30 frame 0 reaped 0",
        NULL};
    const struct options opt = options();
    char *text = report_after(&opt, lines);
    assert_string_equal(text,
                        "muster: ended by signal 2 (SIGINT)\n"
                        "  stopped by muster: 3 workers (SIGINT), all gone after 0.020 s\n"
                        "  left behind: rank 3\n"
                        "  exit status 130\n");
    free(text);
}

static void expect_line(int code, const char *first, const char *hint)
{
    char line[96];
    snprintf(line, sizeof line, "2 frame 0 exited 0 local_rank=0 end=exec:%d gpu=- tail=-",
             code);
    const char *const lines[] = {"0 boot addr=127.0.0.1 port=1234",
                                 "0 frame 0 hello 0 host=box slots=1",
                                 "1 frame 0 ready 0",
                                 line,
                                 "3 frame 0 reaped 0",
                                 NULL};
    const struct options opt = options();
    char *text = report_after(&opt, lines);
    assert_non_null(strstr(text, first));
    if (hint)
        assert_non_null(strstr(text, hint));
    free(text);
}

static void what_could_not_be_started(void **state)
{
    (void)state;
    expect_line(2, "rank 0 failed first: ./prog could not be started: No such file",
                "interpreter");
    expect_line(8, "./prog could not be started: Exec format error", "#! line");
    expect_line(7, "./prog could not be started", "too long");
    expect_line(11, "./prog could not be started: Resource temp", "ulimit -u");
    expect_line(24, "./prog could not be started: Too many open files", "ulimit -n");
    expect_line(5, "./prog could not be started", NULL);
}

static void an_exit_code_that_looks_like_a_signal(void **state)
{
    (void)state;
    const char *const lines[] = {
        "0 boot addr=127.0.0.1 port=1234",
        "0 frame 0 hello 0 host=box slots=1",
        "1 frame 0 ready 0",
        "1 frame 0 started 0 local_rank=0 pid=5",
        "2 frame 0 exited 0 local_rank=0 pid=5 end=exit:138 gpu=- tail=-",
        "3 frame 0 reaped 0",
        NULL};
    const struct options opt = options();
    char *text = report_after(&opt, lines);
    assert_non_null(strstr(text, "exit 138 (an exit code, not a signal)"));
    free(text);
}

static void the_time_limit(void **state)
{
    (void)state;
    const char *const lines[] = {
        "0 boot addr=127.0.0.1 port=1234",
        "0 frame 0 hello 0 host=box slots=1",
        "1 frame 0 ready 0",
        "1 frame 0 started 0 local_rank=0 pid=5",
        "1500 tick",
        "1501 frame 0 stack 0 local_rank=0 where=spin",
        "1501 frame 0 stacked 0 file=/logs/stacks.txt",
        "1502 frame 0 stacked 0",
        "1510 frame 0 exited 0 local_rank=0 pid=5 end=signal:15 gpu=- tail=-",
        "1511 frame 0 reaped 0",
        NULL};
    struct options opt = options();
    opt.timeout_ms = 1500;
    char *text = report_after(&opt, lines);
    assert_non_null(strstr(text, "time limit of 1.500 s (--timeout)"));
    assert_non_null(strstr(text, "rank 0 is in spin\n"));
    assert_non_null(strstr(text, "stacks: /logs/stacks.txt\n"));
    assert_non_null(strstr(text, "stopped by muster: 1 worker (SIGTERM)"));
    assert_non_null(strstr(text, "exit status 124"));
    free(text);
}

static void a_hang(void **state)
{
    (void)state;
    const char *const lines[] = {
        START,
        "30000 frame 0 hung 0 what=heartbeat local_rank=0 quiet_ms=29500",
        "30001 frame 0 stack 0 local_rank=0 where=all_reduce step=17 quiet_ms=29501",
        "30001 frame 0 stack 0 local_rank=1 where=all_reduce step=17 quiet_ms=29400",
        "30001 frame 0 stack 0 local_rank=2 where=all_reduce step=17 quiet_ms=1",
        "30001 frame 0 stack 0 local_rank=3 where=spin step=16 section=load",
        "30001 frame 0 stacked 0",
        "30002 frame 0 stacked 0",
        "30003 frame 0 exited 0 local_rank=0 pid=100 end=signal:15 gpu=- tail=-",
        "30003 frame 0 exited 0 local_rank=1 pid=101 end=signal:15 gpu=- tail=-",
        "30003 frame 0 exited 0 local_rank=2 pid=102 end=signal:15 gpu=- tail=-",
        "30003 frame 0 exited 0 local_rank=3 pid=103 end=signal:15 gpu=- tail=-",
        "30003 frame 0 reaped 0",
        NULL};
    struct options opt = options();
    opt.heartbeat_ms = 29000;
    char *text = report_after(&opt, lines);
    assert_string_equal(
        text,
        "muster: rank 0 has sent no heartbeat for 29.500 s (--heartbeat-timeout; host box, "
        "local rank 0, pid 100)\n"
        "  1 other rank was as late when the stacks were taken\n"
        "  rank 3 differs: ranks 0-2 are in all_reduce, rank 3 is in spin, last step 16 of 17, "
        "in section load\n"
        "  stopped by muster: 4 workers (SIGTERM), all gone after 0.001 s\n"
        "  exit status 124\n");
    free(text);
}

static void silence(void **state)
{
    (void)state;
    const char *const lines[] = {
        START,
        "30000 frame 0 hung 0 what=silence local_rank=0 quiet_ms=29500",
        "30001 frame 0 stacked 0",
        "30002 frame 0 stacked 0",
        "30003 frame 0 exited 0 local_rank=0 pid=100 end=signal:15 gpu=- tail=-",
        "30003 frame 0 exited 0 local_rank=1 pid=101 end=signal:15 gpu=- tail=-",
        "30003 frame 0 exited 0 local_rank=2 pid=102 end=signal:15 gpu=- tail=-",
        "30003 frame 0 exited 0 local_rank=3 pid=103 end=signal:15 gpu=- tail=-",
        "30003 frame 0 reaped 0",
        NULL};
    const struct options opt = options();
    char *text = report_after(&opt, lines);
    assert_string_equal(
        text, "muster: no rank has written anything for 29.500 s (--silence-timeout)\n"
              "  stopped by muster: 4 workers (SIGTERM), all gone after 0.001 s\n"
              "  exit status 124\n");
    free(text);
}

static void an_error_before_the_start(void **state)
{
    (void)state;
    const char *const lines[] = {"0 boot addr=127.0.0.1 port=1234",
                                 "0 frame 0 refused 0 err=GPU_REQUEST:no", "1 frame 0 reaped 0",
                                 NULL};
    const struct options opt = options();
    char *text = report_after(&opt, lines);
    assert_string_equal(text, "muster: no\n");
    free(text);
}

static bool is_even(const struct job_rank *rank)
{
    return rank->pid % 2 == 0;
}
static bool is_small(const struct job_rank *rank)
{
    return rank->pid < 5;
}

static void ranks_are_told_in_ranges(void **state)
{
    (void)state;
    struct job_rank ranks[8];
    for (uint32_t i = 0; i < 8; i++)
        ranks[i] = (struct job_rank){.pid = i};
    struct buf out;
    buf_init(&out, 0);
    report_ranks(ranks, 8, is_even, &out);
    assert_string_equal(buf_str(&out), "0, 2, 4, 6");
    buf_reset(&out);
    report_ranks(ranks, 8, is_small, &out);
    assert_string_equal(buf_str(&out), "0-4");
    ranks[6].pid = ranks[7].pid = 0;
    buf_reset(&out);
    report_ranks(ranks, 8, is_small, &out);
    assert_string_equal(buf_str(&out), "0-4, 6, 7");
    buf_reset(&out);
    report_ranks(ranks, 0, is_small, &out);
    assert_string_equal(buf_str(&out), "");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_worker),
        cmocka_unit_test(the_evidence),
        cmocka_unit_test(who_failed_soon_after),
        cmocka_unit_test(what_the_stop_brings_about_is_no_failure),
        cmocka_unit_test(success_says_nothing),
        cmocka_unit_test(a_signal_to_muster),
        cmocka_unit_test(what_could_not_be_started),
        cmocka_unit_test(an_exit_code_that_looks_like_a_signal),
        cmocka_unit_test(the_time_limit),
        cmocka_unit_test(a_hang),
        cmocka_unit_test(silence),
        cmocka_unit_test(an_error_before_the_start),
        cmocka_unit_test(ranks_are_told_in_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
