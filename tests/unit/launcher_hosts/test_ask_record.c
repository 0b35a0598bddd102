/* A question down an agent's standard input, and the lines of its answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "launcher/core/ask_record.h"
#include "launcher/core/link_wire.h"

static void what_is_written_is_read(void **state)
{
    struct buf out;
    struct str setup;
    struct err e = {0};
    size_t length = 0;
    (void)state;
    buf_init(&out, 0);
    ask_record_encode((struct str){"a\0\n\nb", 5}, &out);
    const struct str all = {out.data, out.len};
    assert_true(ask_record_is(all));
    assert_int_equal(ask_record_parse(all, &length, &setup, &e), 0);
    assert_int_equal(length, out.len);
    assert_int_equal(setup.n, 5);
    assert_memory_equal(setup.p, "a\0\n\nb", 5);
    /* a part of the message: its length is known, what is there is given */
    assert_int_equal(ask_record_parse((struct str){out.data, out.len - 2}, &length, &setup, &e),
                     0);
    assert_int_equal(length, out.len);
    assert_int_equal(setup.n, 3);
    buf_fini(&out);
}

static void what_is_none(void **state)
{
    static const char *const bad[] = {"",
                                      "muster-boot=1\n\n",
                                      "muster-ask=\n\n",
                                      "muster-ask=0\n\n",
                                      "muster-ask=x\n\n",
                                      "muster-ask=1",
                                      "muster-ask=1\nx\n\n",
                                      "muster-ask=16777217\n\n"};
    struct str setup;
    struct err e;
    size_t length;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(ask_record_parse(str_from(bad[i]), &length, &setup, &e), -1);
        assert_int_equal(e.code, ERR_PROTOCOL);
    }
    assert_false(ask_record_is(str_from("muster-boot=1\n\n")));
}

static void lines_of_an_answer(void **state)
{
    const char *text;
    int status = -1;
    (void)state;
    assert_true(ask_record_answer("answer   {", &text, &status));
    assert_string_equal(text, "  {");
    assert_true(ask_record_answer("answer ", &text, &status));
    assert_string_equal(text, "");
    assert_int_equal(status, -1);
    assert_true(ask_record_answer("answered 78", &text, &status));
    assert_null(text);
    assert_int_equal(status, 78);
    assert_false(ask_record_answer("answered 256", &text, &status));
    assert_false(ask_record_answer("answered", &text, &status));
    assert_false(ask_record_answer("try 10.0.0.1:1 timed out", &text, &status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_none),
        cmocka_unit_test(lines_of_an_answer),
    };
    return cmocka_run_group_tests_name("ask_record", tests, NULL, NULL);
}
