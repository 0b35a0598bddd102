/* check_trace: keys and values that ranks leave in the store; check_end: the words of the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "driven.h"
#include "launcher/core/check_end.h"
#include "launcher/core/check_trace.h"

static void keys(void **state)
{
    (void)state;
    struct buf key;
    buf_init(&key, 0);
    check_trace_record_key(7, &key);
    assert_string_equal(buf_str(&key), "mw/rank/7");
    buf_reset(&key);
    check_trace_phase_key(7, CHECK_PHASE_init_enter, &key);
    assert_string_equal(buf_str(&key), "mw/0/init_enter/7");
    buf_fini(&key);
}

static void a_record(void **state)
{
    (void)state;
    struct check_result r;
    check_result_init(&r);
    check_result_set_ranks(&r, 1);
    r.ranks[0].host = mem_strdup("known");
    check_trace_record(
        "host=other\npid=4711\nlocal_rank=x\ngpu=GPU-1\npci=0000:17:00.0\nname=a "
        "= b\ndevice=-1\nnonsense\n=\n",
        &r.ranks[0]);
    assert_string_equal(r.ranks[0].host, "known");
    assert_int_equal(r.ranks[0].pid, 4711);
    assert_int_equal(r.ranks[0].local_rank, 0);
    assert_string_equal(r.ranks[0].name, "a = b");
    assert_int_equal(r.ranks[0].device, -1);
    check_result_fini(&r);
}

/* As where a result came and a rank's record says otherwise. */
static void what_is_known_stays(void **state)
{
    (void)state;
    char name[400] = "name=";
    struct check_result r;
    check_result_init(&r);
    check_result_set_ranks(&r, 1);
    struct check_rank *rank = &r.ranks[0];
    check_trace_record("device=1024\n", rank);
    assert_int_equal(rank->device, -1);
    check_trace_record("pid=4711\nlocal_rank=3\ndevice=2\n", rank);
    check_trace_record("pid=5\nlocal_rank=4\ndevice=6\n", rank);
    assert_int_equal(rank->pid, 4711);
    assert_int_equal(rank->local_rank, 3);
    assert_int_equal(rank->device, 2);
    memset(name + 5, 'x', sizeof name - 6);
    check_trace_record(name, rank);
    assert_int_equal(strlen(rank->name), 256);
    check_result_fini(&r);
}

static void times(void **state)
{
    (void)state;
    struct check_rank rank = {0};
    assert_int_equal(check_rank_last_phase(&rank), -1);
    check_trace_phase("1790000000123\nwhat it said", CHECK_PHASE_started, &rank);
    check_trace_phase("1790000000500", CHECK_PHASE_reach, &rank);
    check_trace_phase("nonsense", CHECK_PHASE_warm, &rank);
    check_trace_phase("", CHECK_PHASE_warm, &rank);
    assert_int_equal(rank.reached_ms[CHECK_PHASE_started], 1790000000123);
    assert_int_equal(check_rank_last_phase(&rank), CHECK_PHASE_reach);
}

static void the_words_of_the_end(void **state)
{
    (void)state;
    const struct options opt = {.grace_ms = 25000};
    const char *const lines[] = {
        "0 boot addr=127.0.0.1 port=1234",
        "0 frame 0 hello 0 host=box slots=2",
        "0 frame 0 ready 0",
        "1 frame 0 started 0 local_rank=0 pid=100",
        "1 frame 0 started 0 local_rank=1 pid=101",
        "5 frame 0 exited 0 local_rank=1 pid=101 end=signal:9 gpu=- tail=NCCL_says",
        "6 frame 0 exited 0 local_rank=0 pid=100 end=signal:15 gpu=- tail=-",
        "7 frame 0 reaped 0",
        NULL};
    struct check_result r;
    struct buf line;
    check_result_init(&r);
    check_result_set_ranks(&r, 2);
    r.ranks[1].reached_ms[CHECK_PHASE_reach] = 5;
    struct job *job = driven_job(&opt, lines);
    buf_init(&line, 0);
    check_end_line(job, &opt, &r, &line);
    check_end_evidence(job, &r);
    assert_non_null(strstr(buf_str(&line), "rank 1 failed first: signal 9 (SIGKILL)"));
    assert_non_null(strstr(buf_str(&line), "; its last phase: reach"));
    assert_int_equal(r.errors.n, 1);
    assert_string_equal(r.errors.items[0], "rank 1: NCCL_says");
    buf_fini(&line);
    job_free(job);
    check_result_fini(&r);
}

static void who_is_missing(void **state)
{
    (void)state;
    struct check_result r;
    struct buf text;
    check_result_init(&r);
    check_result_set_ranks(&r, 7);
    buf_init(&text, 0);
    assert_int_equal(0, check_trace_missing(&r, &text)); /* nobody has come anywhere */
    for (size_t i = 0; i < 7; i++)
        r.ranks[i].reached_ms[CHECK_PHASE_started] =
            r.ranks[i].reached_ms[CHECK_PHASE_cuda_ok] = 5;
    assert_int_equal(0, check_trace_missing(&r, &text));
    r.ranks[3].reached_ms[CHECK_PHASE_cuda_ok] = 0;
    r.ranks[3].host = mem_strdup("b");
    r.ranks[3].pid = 4711;
    assert_int_equal(check_trace_missing(&r, &text), 1);
    assert_string_equal(buf_str(&text),
                        "rank 3 (host b, local rank 0, pid 4711) has not reached "
                        "cuda_ok; last phase started");
    buf_reset(&text);
    r.ranks[6].reached_ms[CHECK_PHASE_init_enter] = 9;
    assert_int_equal(check_trace_missing(&r, &text), 6);
    assert_non_null(strstr(buf_str(&text), "rank 0 (host unknown, local rank 0), rank 1 ("));
    assert_non_null(strstr(buf_str(&text), " and 2 more have not reached init_enter"));
    buf_reset(&text);
    r.ranks[4].reached_ms[CHECK_PHASE_init_enter] =
        r.ranks[5].reached_ms[CHECK_PHASE_init_enter] = 9;
    assert_int_equal(check_trace_missing(&r, &text), 4); /* as many as are named */
    assert_non_null(
        strstr(buf_str(&text), "rank 3 (host b, local rank 0, pid 4711) have not reached"));
    buf_fini(&text);
    check_result_fini(&r);
}

static void the_words_of_the_worker(void **state)
{
    (void)state;
    static const char tail[] = "muster-worker: first\nNCCL says\nmuster-worker: rank 0 is "
                               "late\nmore";
    struct str words = check_end_words(tail);
    assert_true(str_eq(words, "rank 0 is late"));
    assert_int_equal(check_end_words("NCCL says muster-worker: no").n, 0);
    assert_int_equal(check_end_words("muster-worker: warning: waiting since 10 s").n, 0);
    assert_int_equal(check_end_words(NULL).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys),
        cmocka_unit_test(a_record),
        cmocka_unit_test(what_is_known_stays),
        cmocka_unit_test(times),
        cmocka_unit_test(the_words_of_the_end),
        cmocka_unit_test(the_words_of_the_worker),
        cmocka_unit_test(who_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
