/* rank_set and streams: who is shown, who is written to a file, who reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "launcher/core/streams.h"

static void rank_sets(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", ",", "1,", "a", "-1", "3-1", "1-", "1-2-3", "1 2"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(rank_set_is_valid(wrong[i]));
    const char *text = "0,2-5,1200";
    assert_true(rank_set_is_valid(text));
    static const struct {
        uint32_t rank;
        bool is_in;
    } rows[] = {{0, true},  {1, false},  {2, true},   {5, true},
                {6, false}, {12, false}, {1200, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(rank_set_has(text, rows[i].rank), rows[i].is_in);
}

static void stream_maps(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",     "4",   "0:",    "0:4", ":1",
                                        "0:1,", "x:1", "0:1:2", "1,2"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(stream_map_is_valid(wrong[i]));
    assert_true(stream_map_is_valid("0:3,12:1"));
    assert_int_equal(stream_map_get("0:3,12:1", 0), STREAM_BOTH);
    assert_int_equal(stream_map_get("0:3,12:1", 1), 0);
    assert_int_equal(stream_map_get("0:3,12:1", 12), STREAM_OUT);
    assert_int_equal(stream_map_get("2", 99), STREAM_ERR);
    assert_int_equal(stream_map_get("0:3,0:1", 0), STREAM_OUT);
}

static void where_output_goes(void **state)
{
    (void)state;
    static const struct {
        struct options opt;
        uint32_t rank, local_rank;
        unsigned shown, logged;
    } rows[] = {
        {{0}, 0, 0, 3, 0},
        {{.log_dir = "d"}, 9, 1, 3, 3},
        {{.log_dir = "d", .only_ranks = "0"}, 9, 1, 0, 3},
        {{.log_dir = "d", .only_ranks = "9"}, 9, 1, 3, 3},
        {{.show = "2"}, 9, 1, 2, 0},
        {{.show = "1:2", .log_dir = "d"}, 9, 1, 2, 3},
        {{.show = "9:3"}, 9, 1, 0, 0}, /* by local rank */
        {{.log_dir = "d", .redirects = "1"}, 9, 1, 2, 1},
        {{.log_dir = "d", .redirects = "1:3"}, 9, 1, 0, 3}, /* by local rank */
        {{.log_dir = "d", .redirects = "9:3"}, 9, 1, 3, 0},
        {{.log_dir = "d", .tee = "2"}, 9, 1, 3, 2},
        {{.log_dir = "d", .redirects = "3", .tee = "1:2"}, 9, 1, 2, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(streams_shown(&rows[i].opt, rows[i].rank, rows[i].local_rank),
                         rows[i].shown);
        assert_int_equal(streams_logged(&rows[i].opt, rows[i].local_rank), rows[i].logged);
    }
}

static void where_output_goes_in_torchruns_way(void **state)
{
    (void)state;
    static const struct {
        const char *log_dir, *redirects, *tee, *local_ranks;
        unsigned shown, logged, prefixed;
    } rows[] = {
        {NULL, NULL, NULL, NULL, 3, 0, 0},
        {"d", NULL, NULL, NULL, 3, 0, 0}, /* only what is named goes to files */
        {NULL, "3", NULL, NULL, 0, 3, 0},
        {"d", "3", "3", NULL, 3, 3, 3},
        {"d", "1", "2", NULL, 2, 3, 2},
        {"d", "0:3", "1:1", NULL, 3, 1, 1},
        {"d", NULL, "3", "0,2", 0, 3, 3}, /* not ours */
        {NULL, NULL, NULL, "1", 3, 0, 0},
        {"/dev/null", "3", "3", "0", 3, 0, 0}, /* no files, so nothing is redirected */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct options opt = {
            .log_dir = rows[i].log_dir,
            .redirects = rows[i].redirects,
            .tee = rows[i].tee,
            .torchrun = {.is_on = true, .local_ranks = rows[i].local_ranks},
        };
        assert_int_equal(streams_shown(&opt, 9, 1), rows[i].shown);
        assert_int_equal(streams_logged(&opt, 1), rows[i].logged);
        assert_int_equal(streams_prefixed(&opt, 1), rows[i].prefixed);
    }
}

static void who_reads(void **state)
{
    (void)state;
    const struct options usual = {0}, none = {.input = "none"}, two = {.input = "2"};
    struct err e;
    assert_true(streams_reads_input(&usual, 0));
    assert_false(streams_reads_input(&usual, 1));
    assert_false(streams_reads_input(&none, 0));
    assert_true(streams_reads_input(&two, 2));
    assert_false(streams_reads_input(&two, 0));
    assert_int_equal(streams_check(&two, 3, &e), 0);
    assert_int_equal(streams_check(&none, 1, &e), 0);
    assert_int_equal(streams_check(&two, 2, &e), -1);
    assert_int_equal(e.code, ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_sets),
        cmocka_unit_test(stream_maps),
        cmocka_unit_test(where_output_goes),
        cmocka_unit_test(where_output_goes_in_torchruns_way),
        cmocka_unit_test(who_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
