/* log_paths: the names of both layouts; line_words: which lines torchrun's filters take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launcher/core/line_words.h"
#include "launcher/core/log_paths.h"

static void files(void **state)
{
    (void)state;
    static const struct {
        enum log_layout layout;
        enum log_kind kind;
        const char *path;
    } rows[] = {
        {LOG_LAYOUT_RANK, LOG_KIND_OUT, "d/rank-9.out"},
        {LOG_LAYOUT_RANK, LOG_KIND_ERR, "d/rank-9.err"},
        {LOG_LAYOUT_RANK, LOG_KIND_ERROR_JSON, "d/rank-9.error.json"},
        {LOG_LAYOUT_TORCHRUN, LOG_KIND_OUT, "d/1/stdout.log"},
        {LOG_LAYOUT_TORCHRUN, LOG_KIND_ERR, "d/1/stderr.log"},
        {LOG_LAYOUT_TORCHRUN, LOG_KIND_ERROR_JSON, "d/1/error.json"},
        {LOG_LAYOUT_TORCHRUN, LOG_KIND_FILTERED_OUT, "d/filtered_stdout.log"},
        {LOG_LAYOUT_TORCHRUN, LOG_KIND_FILTERED_ERR, "d/filtered_stderr.log"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf out;
        buf_init(&out, 0);
        log_path_format(rows[i].layout, "d", rows[i].kind, 9, 1, &out);
        assert_string_equal(buf_str(&out), rows[i].path);
        buf_fini(&out);
    }
}

static void folders(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 0);
    log_attempt_format(LOG_LAYOUT_RANK, 2, 0, &out);
    buf_addc(&out, ' ');
    log_attempt_format(LOG_LAYOUT_TORCHRUN, 2, 0, &out);
    buf_addc(&out, ' ');
    log_attempt_format(LOG_LAYOUT_TORCHRUN, 0, 1, &out);
    assert_string_equal(buf_str(&out), "2 attempt_2 attempt_0.1");
    buf_reset(&out);
    assert_false(log_worker_dir_format(LOG_LAYOUT_RANK, "d", 3, &out));
    assert_true(log_worker_dir_format(LOG_LAYOUT_TORCHRUN, "d", 3, &out));
    assert_string_equal(buf_str(&out), "d/3");
    buf_reset(&out);
    log_job_name_format("../a/b.c", &out);
    assert_string_equal(buf_str(&out), "_._a_b.c");
    buf_fini(&out);
}

static void words(void **state)
{
    (void)state;
    static const struct {
        const char *words, *line;
        bool is_in;
    } rows[] = {
        {"apple,orange", "an apple", true},
        {"apple,orange", "oranges", true},
        {"apple,orange", "app", false},
        {"a,,b", "xa,bx", true},
        {"a,,b", "a b", false},
        {"", "anything", true},
        {"x,", "anything", true},
        {",,", "one, two", true},
        {",,", "one two", false},
        {"two words", "with two words", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(line_words_match(rows[i].words, rows[i].line, strlen(rows[i].line)),
                         rows[i].is_in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files),
        cmocka_unit_test(folders),
        cmocka_unit_test(words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
