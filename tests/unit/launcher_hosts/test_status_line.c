/* What agents say upward: there and back, and lines that are none of theirs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "launcher/core/status_line.h"

static const struct {
    struct status_line s;
    const char *line;
} rows[] = {
    {{STATUS_TRY, 0, "10.0.0.1:41234: timed out"}, "try 10.0.0.1:41234: timed out\n"},
    {{STATUS_LINKED, 0, ""}, "linked\n"},
    {{STATUS_UP, 0, ""}, "below 0 up\n"},
    {{STATUS_STATE, 65535, "ssh refused, trying again"},
     "below 65535 state ssh refused, trying again\n"},
    {{STATUS_UNREACHABLE, 7, "root@n7: Permission denied (publickey)."},
     "below 7 unreachable root@n7: Permission denied (publickey).\n"},
    {{STATUS_FAILED, 12, "muster is not there: sh: not found"},
     "below 12 failed muster is not there: sh: not found\n"},
    {{STATUS_ENDED, 3, ""}, "below 3 ended\n"},
    {{STATUS_STATE, 3, ""}, "below 3 state \n"},
};

static void there_and_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf text;
        struct status_line back;
        buf_init(&text, 0);
        status_line_format(&rows[i].s, &text);
        assert_string_equal(buf_str(&text), rows[i].line);
        text.data[text.len - 1] = '\0';
        assert_true(status_line_parse(buf_str(&text), &back));
        assert_int_equal(back.kind, rows[i].s.kind);
        assert_int_equal(back.node, rows[i].s.node);
        assert_string_equal(back.text, rows[i].s.text);
        buf_fini(&text);
    }
}

static void a_text_is_one_line(void **state)
{
    (void)state;
    const struct status_line s = {STATUS_FAILED, 1, "a\nbelow 2 up\r\x1b[1mb\x7f"};
    struct buf text;
    buf_init(&text, 0);
    status_line_format(&s, &text);
    assert_string_equal(buf_str(&text), "below 1 failed a below 2 up  [1mb \n");
    buf_fini(&text);
}

static void what_is_none(void **state)
{
    (void)state;
    static const char *const lines[] = {"",
                                        "try",
                                        "linked now",
                                        "below",
                                        "below ",
                                        "below 1",
                                        "below 1 ",
                                        "below 1 up ",
                                        "below 1 up x",
                                        "below 1 state",
                                        "below x up",
                                        "below -1 up",
                                        "below 65536 up",
                                        "below  1 up",
                                        "below 1  up",
                                        "1 up",
                                        "up",
                                        "state x",
                                        "welcome to n1",
                                        "below 1 try x",
                                        "below 1 linked",
                                        "Below 1 up"};
    struct status_line s;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        print_message("%s\n", lines[i]);
        assert_false(status_line_parse(lines[i], &s));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(a_text_is_one_line),
        cmocka_unit_test(what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
