/* str: splitting, strict numbers, durations, UTF-8, word distance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/str.h"

static void splits_into_parts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t parts;
    } rows[] = {{"", 1}, {"a", 1}, {"a,", 2}, {",", 2}, {"a,,b", 3}, {"a,b,c", 3}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct str rest = str_from(rows[i].text), part;
        size_t n = 0;
        while (str_split(&rest, ',', &part))
            n++;
        assert_int_equal(n, rows[i].parts);
    }
    struct str rest = str_from(NULL), part;
    assert_false(str_split(&rest, ',', &part));
}

static void numbers_are_strict(void **state)
{
    (void)state;
    uint64_t v = 7;
    assert_int_equal(str_parse_u64(str_from("18446744073709551615"), 0, UINT64_MAX, &v), 0);
    assert_true(v == UINT64_MAX);
    static const char *const bad[] = {
        "", " 1", "1 ", "+1", "-1", "0x1", "1.0", "18446744073709551616", "99"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(str_parse_u64(str_from(bad[i]), 0, i == 8 ? 98 : UINT64_MAX, &v), -1);
    assert_int_equal(str_parse_u64(str_from("0"), 1, 9, &v), -1);
}

static void durations_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ms;
    } good[] = {{"0", 0},       {"25", 25000},   {"0.5", 500},
                {"250ms", 250}, {"1.5m", 90000}, {"2h", 7200000}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        uint64_t ms = 1;
        assert_int_equal(str_parse_duration_ms(str_from(good[i].text), &ms), 0);
        assert_int_equal(ms, good[i].ms);
    }
    static const char *const bad[] = {"",   "s",   "1.",  ".5",    "1d",
                                      "-1", "1 s", "1e3", "1.2.3", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t ms;
        assert_int_equal(str_parse_duration_ms(str_from(bad[i]), &ms), -1);
    }
}

static void utf8_is_validated(void **state)
{
    (void)state;
    assert_int_equal(str_utf8_len("a", 1), 1);
    assert_int_equal(str_utf8_len("\xc3\xa9", 2), 2);
    assert_int_equal(str_utf8_len("\xe2\x82\xac", 3), 3);
    assert_int_equal(str_utf8_len("\xf0\x9f\x98\x80", 4), 4);
    static const char *const bad[] = {"\x80",         "\xc0\x80",         "\xe0\x80\x80",
                                      "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(str_utf8_len(bad[i], 4), 0);
    assert_int_equal(str_utf8_len("\xe2\x82", 2), 0);
    assert_int_equal(str_utf8_len("", 0), 0);
}

static void distance_counts_edits(void **state)
{
    (void)state;
    assert_int_equal(str_distance("gpus", "gpus"), 0);
    assert_int_equal(str_distance("gpsu", "gpus"), 1);
    assert_int_equal(str_distance("gpu", "gpus"), 1);
    assert_int_equal(str_distance("", "abc"), 3);
    assert_int_equal(str_distance("kitten", "sitting"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_into_parts),     cmocka_unit_test(numbers_are_strict),
        cmocka_unit_test(durations_have_units),  cmocka_unit_test(utf8_is_validated),
        cmocka_unit_test(distance_counts_edits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
