/* Words and numbers of the result: the last line, the JSON object, what is hidden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "worker/result.h"
#include "worker/result_table.h"
#include "worker/status.h"

static struct result sample(uint32_t world_size)
{
    struct result r;
    result_init(&r);
    r.world_size = world_size;
    r.nodes = 1;
    r.job_id = "a \"job\"";
    r.backend = "host";
    r.why = "--backend host";
    r.nccl_version = r.nccl_path = "";
    r.ranks = mem_alloc(world_size, sizeof *r.ranks);
    for (uint32_t i = 0; i < world_size; i++) {
        r.ranks[i].rank = i;
        r.ranks[i].device = -1;
    }
    for (int place = 0; place < 2; place++) {
        struct result_row *row = result_add_row(&r);
        row->type = TYPE_FLOAT;
        row->op = OP_SUM;
        row->bytes = 64;
        row->count = 16;
        row->in_place = place;
        row->is_checked = true;
        row->busbw = row->algbw = 2.5;
        row->verdict = ROW_OK;
    }
    r.compared_bytes = 128;
    return r;
}

static void has(const struct buf *text, const char *part)
{
    if (!strstr(buf_str(text), part))
        fail_msg("no \"%s\" in: %s", part, buf_str(text));
}

static void hasnt(const struct buf *text, const char *part)
{
    if (strstr(buf_str(text), part))
        fail_msg("\"%s\" in: %s", part, buf_str(text));
}

static void the_verdict_says_what_was_found(void **state)
{
    (void)state;
    struct buf text;
    struct result r = sample(2);
    buf_init(&text, 0);
    result_verdict(&r, &text);
    assert_string_equal(buf_str(&text),
                        "verified: 0 wrong of 128 bytes compared; peak busbw 2.50 GB/s");
    buf_reset(&text);
    r.wrong = 3;
    result_verdict(&r, &text);
    has(&text, "WRONG DATA: 3 wrong elements");
    result_fini(&r);
    r = sample(1);
    buf_reset(&text);
    result_verdict(&r, &text);
    has(&text, "busbw not applicable");
    result_fini(&r);
    buf_fini(&text);
}

static void nothing_tested_is_said(void **state)
{
    (void)state;
    struct buf text;
    struct result r;
    result_init(&r);
    buf_init(&text, 0);
    result_verdict(&r, &text);
    assert_string_equal(buf_str(&text), "nothing was tested");
    buf_fini(&text);
    result_fini(&r);
}

static void json_has_its_keys_and_hides_secrets(void **state)
{
    (void)state;
    char *environment[] = {(char[]){"NCCL_DEBUG=WARN"}, (char[]){"MUSTER_API_TOKEN=abc123"},
                           (char[]){"HOME=/home/someone"}, (char[]){"CUDA_X=\x01"}, NULL};
    struct buf text;
    struct result r = sample(2);
    r.env = environment;
    buf_adds(&r.errors, "one\ntwo\n");
    buf_init(&text, 0);
    result_json(&r, &text);
    has(&text, "{\"schema\":\"muster.check/1\",");
    has(&text, "\"job\":{\"id\":\"a \\\"job\\\"\",\"world_size\":2,");
    has(&text, "\"nccl\":null,\"cuda\":null");
    has(&text, "\"NCCL_DEBUG\":\"WARN\"");
    has(&text, "\"MUSTER_API_TOKEN\":\"***\"");
    has(&text, "\"CUDA_X\":\"\\u0001\"");
    hasnt(&text, "abc123");
    hasnt(&text, "someone");
    has(&text, "\"errors\":[\"one\",\"two\"]");
    has(&text, "\"placement\":\"in-place\"");
    has(&text, "\"wrong\":0,\"verdict\":\"ok\"");
    r.rows[0].is_checked = false;
    r.rows[0].verdict = ROW_UNCHECKED;
    buf_reset(&text);
    result_json(&r, &text);
    has(&text, "\"wrong\":null,\"verdict\":\"unchecked\"");
    buf_fini(&text);
    result_fini(&r);
}

static void one_rank_has_no_bus(void **state)
{
    (void)state;
    struct buf text;
    struct result r = sample(1);
    buf_init(&text, 0);
    result_json(&r, &text);
    has(&text, "\"busbw\":null");
    buf_reset(&text);
    result_table_line(&r, FORMAT_TABLE, &r.rows[0], &r.rows[1], &text);
    has(&text, "n/a");
    buf_fini(&text);
    result_fini(&r);
}

static struct result_row *large(struct result *r, enum collective c, double busbw)
{
    struct result_row *row = result_add_row(r);
    row->collective = c;
    row->bytes = row->count = 256ull << 20;
    row->is_checked = true;
    row->busbw = busbw;
    return row;
}

static void speed_is_judged_against_what_is_expected(void **state)
{
    (void)state;
    const struct result_limits limits = {0, 100, 0.9, 0.8};
    const struct {
        enum collective collective;
        double busbw;
        enum row_verdict verdict;
        int status;
    } rows[] = {
        {COLLECTIVE_ALLREDUCE, 120, ROW_OK, 0},
        {COLLECTIVE_ALLREDUCE, 90, ROW_OK, 0},
        {COLLECTIVE_ALLREDUCE, 89, ROW_WARN, 0},
        {COLLECTIVE_ALLREDUCE, 79, ROW_SLOW, STATUS_SLOW},
        {COLLECTIVE_ALLGATHER, 79, ROW_SLOW, STATUS_SLOW},
        {COLLECTIVE_REDUCESCATTER, 79, ROW_SLOW, STATUS_SLOW},
        {COLLECTIVE_ALLTOALL, 10, ROW_WARN, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct result r = sample(2); /* its small rows are never judged */
        large(&r, rows[i].collective, rows[i].busbw);
        result_judge(&r, &limits);
        assert_int_equal(r.rows[2].verdict, rows[i].verdict);
        assert_int_equal(r.rows[0].verdict, ROW_OK);
        assert_int_equal(r.status, rows[i].status);
        assert_int_equal(r.is_warned, rows[i].verdict == ROW_WARN);
        assert_true(r.rows[2].ratio == rows[i].busbw / 100);
        result_fini(&r);
    }
}

static void what_is_too_small_to_judge_is_said(void **state)
{
    (void)state;
    const struct result_limits limits = {0, 100, 0.9, 0.8};
    struct result r = sample(2);
    result_judge(&r, &limits);
    assert_int_equal(r.status, 0);
    has(&r.errors, "the speed was not judged: no size from 256M on was tested");
    result_fini(&r);
}

static void a_demand_that_nothing_was_held_against_is_said(void **state)
{
    (void)state;
    const struct result_limits limits = {50, 0, 0.9, 0.8};
    struct result r;
    result_init(&r);
    r.world_size = 2;
    links_init(&r.links, 2);
    result_judge(&r, &limits);
    assert_int_equal(r.status, 0);
    has(&r.errors, "--min-busbw was held against nothing: no collective was tested");
    result_fini(&r);
}

static void an_absolute_demand_takes_the_place_of_the_expectation(void **state)
{
    (void)state;
    struct result_limits limits = {50, 100, 0.9, 0.8};
    struct result r = sample(2);
    large(&r, COLLECTIVE_ALLREDUCE, 60);
    result_judge(&r, &limits);
    assert_int_equal(r.status, 0);
    assert_true(r.is_warned);
    limits.min_busbw_gbs = 61;
    result_judge(&r, &limits);
    assert_int_equal(r.status, STATUS_SLOW);
    r.rows[2].wrong = r.wrong = 1;
    result_judge(&r, &limits);
    assert_int_equal(r.status, STATUS_WRONG);
    assert_int_equal(r.rows[2].verdict, ROW_WRONG);
    result_fini(&r);
}

static void pairs_and_isolate_are_in_the_json(void **state)
{
    (void)state;
    struct buf text;
    struct result r = sample(3);
    links_init(&r.links, 3);
    r.links.bytes = 64;
    for (int i = 0; i < 9; i++)
        r.links.uni[i] = i % 4 ? 10 : 0;
    r.links.uni[5] = r.links.uni[7] = 1;
    links_judge(&r.links, 0);
    r.isolate.without = mem_alloc(3, sizeof *r.isolate.without);
    r.isolate.without[2] = 362;
    r.isolate.with_all = 120;
    buf_init(&text, 0);
    result_json(&r, &text);
    has(&text, "\"pairs\":{\"bytes\":64,\"uni\":[[null,10,10],[10,null,1],[10,1,null]],"
               "\"bidi\":null,\"latency_us\":null,"
               "\"outliers\":[{\"a\":1,\"b\":2,\"ratio\":0.1,\"kind\":\"link\"}]}");
    has(&text, "\"isolate\":{\"bytes\":0,\"with_all\":120,\"without\":[null,null,362]}");
    buf_reset(&text);
    result_table_links(&r, &text);
    has(&text, "\nlink 1-2 is slow: 1.00 GB/s, the median beside it 10.00\n");
    has(&text, "\nwithout rank 2: 362.00 GB/s, with it: 120.00\n");
    has(&text, "\n# without rank 1: 0.00");
    buf_fini(&text);
    result_fini(&r);
}

static void the_columns_are_those_of_nccl_tests(void **state)
{
    (void)state;
    struct buf text;
    struct result r = sample(2);
    buf_init(&text, 0);
    r.rows[0].mean_us = 12.345;
    result_table_line(&r, FORMAT_NCCL_TESTS, &r.rows[0], &r.rows[1], &text);
    assert_string_equal(buf_str(&text),
                        "          64            16     float     sum      -1    12.35    2.50"
                        "    2.50       0     0.00    2.50    2.50       0\n");
    buf_reset(&text);
    r.rows[0].collective = COLLECTIVE_BROADCAST;
    result_table_line(&r, FORMAT_NCCL_TESTS, &r.rows[0], NULL, &text);
    has(&text, " none       0 ");
    has(&text, "     N/A\n");
    buf_fini(&text);
    result_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_verdict_says_what_was_found),
        cmocka_unit_test(nothing_tested_is_said),
        cmocka_unit_test(json_has_its_keys_and_hides_secrets),
        cmocka_unit_test(one_rank_has_no_bus),
        cmocka_unit_test(speed_is_judged_against_what_is_expected),
        cmocka_unit_test(what_is_too_small_to_judge_is_said),
        cmocka_unit_test(a_demand_that_nothing_was_held_against_is_said),
        cmocka_unit_test(an_absolute_demand_takes_the_place_of_the_expectation),
        cmocka_unit_test(pairs_and_isolate_are_in_the_json),
        cmocka_unit_test(the_columns_are_those_of_nccl_tests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
