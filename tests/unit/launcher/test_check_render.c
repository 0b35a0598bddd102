/* check_json, check_judge and the renderers on the results in vectors/check: what is read is
 * judged and shown. CHECK_REWRITE=1 writes the expected files anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/check_html.h"
#include "launcher/core/check_judge.h"
#include "launcher/core/check_junit.h"
#include "launcher/core/check_table.h"
#include "launcher/io/check_json.h"

static void read_file(const char *name, struct buf *out)
{
    char *path = mem_printf(TESTS_DIR "/vectors/check/%s", name);
    FILE *f = fopen(path, "re");
    char part[4096];
    buf_init(out, 0);
    for (size_t n; f && (n = fread(part, 1, sizeof part, f)) > 0;)
        buf_add(out, part, n);
    if (f)
        fclose(f);
    free(path);
}

/* Whether text is what the file holds. */
static void expect_file(const char *name, const struct buf *text)
{
    struct buf wanted;
    if (getenv("CHECK_REWRITE")) {
        char *path = mem_printf(TESTS_DIR "/vectors/check/%s", name);
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        fputs(buf_str(text), f);
        fclose(f);
        free(path);
    }
    read_file(name, &wanted);
    assert_string_equal(buf_str(text), buf_str(&wanted));
    buf_fini(&wanted);
}

static const struct check_limits h200 = {
    .warn_below = 0.9, .fail_below = 0.8, .expected = {370.8, true}, .has_gpus = true};

/* As muster check does it once the job has ended with that status. */
static void load(const char *name, const struct check_limits *limits, int status,
                 struct check_result *r)
{
    struct buf json;
    struct err e;
    const struct check_end end = {.status = status};
    read_file(name, &json);
    check_result_init(r);
    assert_int_equal(check_json_read(json.data, json.len, r, &e), 0);
    r->expected_gbs = limits->expected.gbs;
    if (r->expected_gbs > 0)
        r->expected_why = mem_strdup("18 NVLinks of 20.6 GB/s from each GPU to the NVSwitch");
    check_judge(r, limits, &end);
    buf_fini(&json);
}

static void expect_rendered(const char *name, const struct check_result *r,
                            void (*renderer)(const struct check_result *, struct buf *))
{
    struct buf text;
    buf_init(&text, 0);
    renderer(r, &text);
    expect_file(name, &text);
    buf_fini(&text);
}

static void a_good_machine(void **state)
{
    (void)state;
    struct check_result r;
    load("h200.json", &h200, 0, &r);
    assert_int_equal(r.verdict, CHECK_PASS);
    assert_int_equal(r.status, 0);
    assert_int_equal(r.nrows, 10);
    assert_int_equal(r.pairs.uni.n, 4);
    expect_rendered("h200.table", &r, check_table);
    expect_rendered("h200.nccl-tests", &r, check_nccl_tests);
    expect_rendered("h200.csv", &r, check_csv);
    expect_rendered("h200.xml", &r, check_junit);
    check_result_fini(&r);
}

static void a_slow_machine(void **state)
{
    (void)state;
    struct check_result r;
    load("slow.json", &h200, 0, &r);
    assert_int_equal(r.verdict, CHECK_FAIL);
    assert_int_equal(r.status, CHECK_STATUS_SLOW);
    assert_int_equal(r.rows[0].verdict, CHECK_PASS); /* 8 bytes are not judged */
    assert_int_equal(r.rows[1].verdict, CHECK_FAIL);
    assert_int_equal(r.rows[2].verdict, CHECK_WARN);
    expect_rendered("slow.table", &r, check_table);
    expect_rendered("slow.xml", &r, check_junit);
    check_result_fini(&r);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        n++;
    return n;
}

static void what_was_not_tested_has_not_passed(void **state)
{
    (void)state;
    struct check_result r;
    struct buf text;
    load("h200.json", &h200, CHECK_STATUS_UNTESTED, &r);
    buf_init(&text, 0);
    check_junit(&r, &text);
    assert_int_equal(count(buf_str(&text), " skipped=\"1\""), 1);
    assert_int_equal(count(buf_str(&text), "<skipped message=\"nothing was tested: "), 1);
    assert_int_equal(count(buf_str(&text), "</skipped></testcase>\n</testsuite>"), 1);
    buf_fini(&text);
    check_result_fini(&r);
}

static void nothing_escapes_into_the_page(void **state)
{
    (void)state;
    struct check_result r;
    struct buf text;
    const struct check_limits limits = {.warn_below = 0.9, .fail_below = 0.8};
    load("hostile.json", &limits, 0, &r);
    assert_int_equal(r.status, CHECK_STATUS_WRONG);
    buf_init(&text, 0);
    check_html(&r, &text);
    assert_int_equal(count(buf_str(&text), "<script"), 0);
    assert_int_equal(count(buf_str(&text), "<img"), 0);
    assert_int_equal(count(buf_str(&text), "<svg onload"), 0);
    assert_int_equal(count(buf_str(&text), "</style>"), 1);
    assert_int_equal(count(buf_str(&text), "</body>"), 1);
    assert_non_null(strstr(buf_str(&text), "&lt;img src=x onerror=alert(1)&gt;&quot;'&amp;?"));
    buf_reset(&text);
    check_csv(&r, &text);
    assert_non_null(strstr(buf_str(&text), "\"a\"\"><svg onload=1>,\n\",<b>,,65536"));
    buf_reset(&text);
    check_table(&r, &text);
    assert_null(strchr(buf_str(&text), '\a'));
    buf_fini(&text);
    check_result_fini(&r);
}

static void a_page_is_whole(void **state)
{
    (void)state;
    struct check_result r;
    struct buf text;
    load("h200.json", &h200, 0, &r);
    for (size_t i = 0; i < r.nranks; i++)
        for (int p = 0; p < CHECK_PHASE_COUNT; p++)
            r.ranks[i].reached_ms[p] = 1790000000000 + 100 * (uint64_t)p + i;
    r.ranks[3].reached_ms[CHECK_PHASE_init_done] = r.ranks[3].reached_ms[CHECK_PHASE_warm] = 0;
    buf_init(&text, 0);
    check_html(&r, &text);
    const char *page = buf_str(&text);
    assert_int_equal(count(page, "<svg"), count(page, "</svg>"));
    assert_int_equal(count(page, "class=\"line expected\""), 2); /* wide and narrow */
    assert_int_equal(count(page, "class=\"dot out\" cx"), 2 * (5 + 1));
    assert_int_equal(count(page, ">118</text>") + count(page, ">115</text>"), 6);
    assert_int_equal(count(page, "last: init_enter"), 2);
    assert_int_equal(count(page, "http"), 1); /* http-equiv: nothing is loaded */
    assert_int_equal(count(page, "url("), 0);
    assert_null(strstr(page, "nan"));
    assert_null(strstr(page, "inf\""));
    buf_fini(&text);
    check_result_fini(&r);
}

static void nothing_at_all_is_shown(void **state)
{
    (void)state;
    struct check_result r;
    struct buf text;
    const struct check_limits limits = {.warn_below = 0.9, .fail_below = 0.8};
    const struct check_end end = {.status = 75, .text = "host b was lost"};
    check_result_init(&r);
    check_judge(&r, &limits, &end);
    assert_int_equal(r.status, 75);
    buf_init(&text, 0);
    check_table(&r, &text);
    assert_string_equal(buf_str(&text), "FAIL: host b was lost\n");
    buf_reset(&text);
    r.has_colour = true;
    check_table(&r, &text);
    assert_string_equal(buf_str(&text), "\033[1;31mFAIL\033[0m: host b was lost\n");
    buf_reset(&text);
    check_html(&r, &text);
    assert_non_null(strstr(buf_str(&text), "host b was lost"));
    buf_reset(&text);
    check_json_write(&r, "", 0, &text);
    struct check_result again;
    struct err e;
    check_result_init(&again);
    assert_int_equal(check_json_read(text.data, text.len, &again, &e), 0);
    assert_int_equal(again.nrows, 0);
    assert_non_null(strstr(buf_str(&text), "\"exit\": 75"));
    buf_fini(&text);
    check_result_fini(&again);
    check_result_fini(&r);
}

static void what_the_worker_wrote_is_kept(void **state)
{
    (void)state;
    struct check_result r, again;
    struct buf json, text;
    struct err e;
    load("slow.json", &h200, 0, &r);
    read_file("slow.json", &json);
    buf_init(&text, 0);
    check_json_write(&r, json.data, json.len, &text);
    assert_non_null(strstr(buf_str(&text), "\"NCCL_NVLS_ENABLE\": \"0\""));
    assert_non_null(strstr(buf_str(&text), "\"expected\": 370.8"));
    assert_non_null(strstr(buf_str(&text), "\"verdict\": \"fail\""));
    assert_non_null(strstr(buf_str(&text), "\"exit\": 11"));
    check_result_init(&again);
    assert_int_equal(check_json_read(text.data, text.len, &again, &e), 0);
    assert_int_equal(again.nrows, r.nrows);
    assert_int_equal(again.pairs.noutliers, 2);
    assert_int_equal(again.pairs.outliers[1].b, -1);
    buf_fini(&text);
    buf_fini(&json);
    check_result_fini(&again);
    check_result_fini(&r);
}

static void what_is_no_result(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "{", "[]", "7", "{\"schema\":\"muster.check/2\"}", "{\"schema\":5}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct check_result r;
        struct err e;
        check_result_init(&r);
        assert_int_equal(check_json_read(texts[i], strlen(texts[i]), &r, &e), -1);
        assert_int_equal(e.code, ERR_PROTOCOL);
        assert_false(r.is_tested);
        check_result_fini(&r);
    }
}

static void many_ranks_are_shown_by_host(void **state)
{
    (void)state;
    enum { RANKS = 72 };
    struct check_result r;
    struct buf text;
    check_result_init(&r);
    check_result_set_ranks(&r, RANKS);
    r.world_size = RANKS;
    r.is_tested = true;
    check_matrix_set(&r.pairs.uni, RANKS);
    for (size_t i = 0; i < RANKS; i++)
        r.ranks[i].host = mem_printf("node%zu", i / 8);
    for (size_t i = 0; i < RANKS * RANKS; i++)
        r.pairs.uni.at[i] = i / RANKS / 8 == i % RANKS / 8 ? 118 : 25;
    buf_init(&text, 0);
    check_html(&r, &text);
    assert_non_null(strstr(buf_str(&text), "means of hosts"));
    assert_int_equal(count(buf_str(&text), ">25.0</text>"), 72);
    check_table(&r, &text); /* does not print 72 columns */
    assert_null(strstr(buf_str(&text), "one way from row"));
    buf_fini(&text);
    check_result_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_machine),
        cmocka_unit_test(a_slow_machine),
        cmocka_unit_test(what_was_not_tested_has_not_passed),
        cmocka_unit_test(nothing_escapes_into_the_page),
        cmocka_unit_test(a_page_is_whole),
        cmocka_unit_test(nothing_at_all_is_shown),
        cmocka_unit_test(what_the_worker_wrote_is_kept),
        cmocka_unit_test(what_is_no_result),
        cmocka_unit_test(many_ranks_are_shown_by_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
