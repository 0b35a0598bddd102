/* check_judge: verdict and exit status, for every way a check can end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/check_judge.h"

/* One row, out of place. */
struct given {
    const char *collective;
    uint64_t bytes, wrong;
    double busbw;
    bool is_unchecked;
};

static const struct check_limits firm = {
    .warn_below = 0.9, .fail_below = 0.8, .expected = {370, true}, .has_gpus = true};

static struct check_result made(const char *backend, uint32_t world_size,
                                const struct given *row)
{
    struct check_result r;
    size_t cap = 0;
    check_result_init(&r);
    check_result_set_ranks(&r, world_size);
    r.world_size = world_size;
    r.is_tested = true;
    r.backend = mem_strdup(backend);
    struct check_row *to = check_result_add_row(&r, &cap);
    to->collective = mem_strdup(row->collective);
    to->bytes = row->bytes;
    to->busbw = row->busbw;
    to->wrong = row->wrong;
    to->is_checked = !row->is_unchecked;
    return r;
}

static void judged(const char *backend, uint32_t world_size, const struct given *row,
                   const struct check_limits *limits, enum check_verdict verdict, int status,
                   const char *text)
{
    struct check_result r = made(backend, world_size, row);
    const struct check_end end = {0};
    check_judge(&r, limits, &end);
    assert_int_equal(r.verdict, verdict);
    assert_int_equal(r.status, status);
    if (!strstr(r.verdict_text, text))
        fail_msg("\"%s\" is not in: %s", text, r.verdict_text);
    check_result_fini(&r);
}

enum { BIG = 1 << 30, SMALL = 64 << 20 };

static void speed(void **state)
{
    (void)state;
    const struct given good = {"all_reduce", BIG, 0, 355, false},
                       low = {"all_reduce", BIG, 0, 320, false},
                       bad = {"allreduce", BIG, 0, 290, false},
                       growing = {"all_reduce", 256 << 20, 0, 310, false},
                       bad_too = {"all_reduce", 256 << 20, 0, 290, false},
                       small = {"all_reduce", SMALL, 0, 100, false},
                       other = {"alltoall", BIG, 0, 100, false},
                       gathers = {"allgather", BIG, 0, 265, false}, /* as two good H200 */
        scatters = {"reduce_scatter", 256 << 20, 0, 237, false},
                       scatters_badly = {"reduce_scatter", BIG, 0, 150, false};
    struct check_limits loose = firm, absolute = firm;
    loose.expected.is_firm = false;
    absolute.min_busbw = 100;
    judged("nccl", 4, &good, &firm, CHECK_PASS, 0, "96 % of the expected 370");
    judged("nccl", 4, &low, &firm, CHECK_WARN, 0, "86 % of the expected 370");
    judged("nccl", 4, &bad, &firm, CHECK_FAIL, 11, "too slow: allreduce of 1G");
    judged("nccl", 4, &bad, &loose, CHECK_WARN, 0, "slower than it should be");
    judged("nccl", 4, &bad, &absolute, CHECK_PASS, 0, "peak busbw 290");
    judged("nccl", 4, &growing, &firm, CHECK_PASS, 0, "84 % of the expected 370");
    judged("nccl", 4, &bad_too, &firm, CHECK_FAIL, 11, "too slow: all_reduce of 256M");
    judged("nccl", 4, &small, &firm, CHECK_PASS, 0, "every byte right");
    judged("nccl", 4, &other, &firm, CHECK_WARN, 0, "slower than it should be: alltoall");
    judged("nccl", 2, &gathers, &firm, CHECK_PASS, 0, "every byte right");
    judged("nccl", 2, &scatters, &firm, CHECK_PASS, 0, "every byte right");
    judged("nccl", 2, &scatters_badly, &firm, CHECK_WARN, 0, "reduce_scatter of 1G");
    absolute.min_busbw = 400;
    judged("nccl", 4, &good, &absolute, CHECK_FAIL, 11, "below the 400 demanded");
}

static void what_is_no_pass(void **state)
{
    (void)state;
    const struct given good = {"all_reduce", BIG, 0, 355, false},
                       wrong = {"all_reduce", BIG, 2, 355, false},
                       timed = {"all_reduce", SMALL, 0, 100, true};
    struct check_limits wanted = firm;
    wanted.is_host_wanted = true;
    judged("nccl", 1, &good, &firm, CHECK_NONE, 17, "one rank has no peer");
    judged("nccl", 4, &wrong, &firm, CHECK_FAIL, 10, "WRONG DATA: 2 wrong elements");
    judged("nccl", 4, &timed, &firm, CHECK_PASS, 0, "timed only, not verified");
    judged("host", 4, &good, &firm, CHECK_WARN, 0, "the GPUs that are there were not tested");
    judged("host", 4, &good, &wanted, CHECK_PASS, 0, "every byte right");
}

static void rows_without_figures(void **state)
{
    (void)state;
    const struct given nothing = {NULL, 0, 0, (double)NAN, false};
    judged("nccl", 4, &nothing, &firm, CHECK_NONE, 17, "nothing was tested");
}

static void how_the_job_ended(void **state)
{
    (void)state;
    const struct check_end hung = {12, "rank 5 has not reached init_enter"}, bare = {137, NULL},
                           well = {0, NULL}, refused = {78, NULL};
    struct check_result r;
    check_result_init(&r);
    check_judge(&r, &firm, &hung);
    assert_int_equal(r.status, 12);
    assert_string_equal(r.verdict_text, "rank 5 has not reached init_enter");
    check_judge(&r, &firm, &bare);
    assert_int_equal(r.status, 137);
    assert_int_equal(r.verdict, CHECK_FAIL);
    check_judge(&r, &firm, &well); /* and yet there is no result */
    assert_int_equal(r.status, 17);
    assert_int_equal(r.verdict, CHECK_NONE);
    finding_add(&r.preflight, "net.mpi", FINDING_WARNING, NULL, NULL, "a warning");
    finding_add(&r.preflight, "shm.size", FINDING_ERROR, NULL, NULL, "64 MiB free");
    check_judge(&r, &firm, &refused);
    assert_int_equal(r.status, 78);
    assert_string_equal(r.verdict_text, "the preflight found an error: 64 MiB free");
    check_result_fini(&r);
}

static void without_one_rank(void **state)
{
    (void)state;
    const struct given nothing = {NULL, 0, 0, (double)NAN, false};
    const struct check_end well = {0};
    struct check_result r = made("nccl", 3, &nothing);
    r.isolate.with_all = 120;
    r.isolate.n = 3;
    r.isolate.without = mem_alloc(3, sizeof(double));
    r.isolate.without[0] = r.isolate.without[1] = 121;
    r.isolate.without[2] = 362;
    check_judge(&r, &firm, &well);
    assert_int_equal(r.verdict, CHECK_PASS);
    assert_int_equal(r.notes.n, 1);
    assert_string_equal(r.notes.items[0], "without rank 2: 362.00 GB/s, with it: 120.00");
    struct check_limits demanding = firm;
    demanding.min_busbw = 330;
    check_judge(&r, &demanding, &well);
    assert_int_equal(r.verdict, CHECK_WARN);
    assert_string_equal(r.verdict_text,
                        "--min-busbw was held against nothing: no collective was tested");
    check_result_fini(&r);
}

static void the_workers_own_limit(void **state)
{
    (void)state;
    const struct given good = {"all_reduce", BIG, 0, 355, false},
                       bad = {"all_reduce", BIG, 0, 200, false};
    const struct check_end slow = {11, "slower than demanded"};
    struct check_result r = made("nccl", 4, &good);
    check_judge(&r, &firm, &slow);
    assert_int_equal(r.status, 11);
    assert_string_equal(r.verdict_text, "slower than demanded");
    check_result_fini(&r);
    r = made("nccl", 4, &bad);
    check_judge(&r, &firm, &slow);
    assert_int_equal(r.status, 11);
    assert_non_null(strstr(r.verdict_text, "54 % of the expected 370"));
    check_result_fini(&r);
}

static void warnings(void **state)
{
    (void)state;
    const struct given good = {"all_reduce", BIG, 0, 355, false};
    const struct check_end well = {0};
    struct check_result r = made("nccl", 4, &good);
    check_text_add(&r.errors, "rank 2 is slow: busy 21 ms of 22");
    check_judge(&r, &firm, &well);
    assert_int_equal(r.verdict, CHECK_WARN);
    assert_string_equal(r.verdict_text, "rank 2 is slow: busy 21 ms of 22");
    check_result_fini(&r);

    r = made("nccl", 4, &good);
    r.pairs.outliers = mem_alloc(2, sizeof *r.pairs.outliers);
    r.pairs.outliers[0] = (struct check_outlier){2, 3, 0.36, NULL};
    r.pairs.outliers[1] = (struct check_outlier){1, -1, 0.7, NULL};
    r.pairs.noutliers = 2;
    check_judge(&r, &firm, &well);
    assert_int_equal(r.verdict, CHECK_WARN);
    assert_string_equal(r.verdict_text, "link 2-3 is slow: 0.36 of the median");
    assert_string_equal(r.notes.items[0], "link 2-3 is slow: 0.36 of the median");
    assert_string_equal(r.notes.items[1], "rank 1 is slow to all: 0.70 of the median");
    check_result_fini(&r);
}

static void the_slowest_rank(void **state)
{
    (void)state;
    const struct given good = {"all_reduce", BIG, 0, 355, false};
    struct check_result r = made("nccl", 3, &good);
    double ratio = 0;
    assert_int_equal(check_result_slowest(&r, &ratio), -1); /* no times */
    r.rows[0].per_rank_us = mem_alloc(3, sizeof(double));
    r.rows[0].nper_rank = 3;
    r.rows[0].per_rank_us[0] = r.rows[0].per_rank_us[1] = 90;
    r.rows[0].per_rank_us[2] = 120;
    assert_int_equal(check_result_slowest(&r, &ratio), 2);
    assert_true(fabs(ratio - 1.2) < 1e-9);
    check_result_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speed),
        cmocka_unit_test(what_is_no_pass),
        cmocka_unit_test(how_the_job_ended),
        cmocka_unit_test(rows_without_figures),
        cmocka_unit_test(warnings),
        cmocka_unit_test(the_workers_own_limit),
        cmocka_unit_test(without_one_rank),
        cmocka_unit_test(the_slowest_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
