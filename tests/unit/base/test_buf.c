/* buf: text by printf's rules at every distance from the end of its room, and at its limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"

static void formats_at_any_room(void **state)
{
    (void)state;
    for (size_t before = 0; before < 70; before++) {
        struct buf b;
        buf_init(&b, 0);
        for (size_t i = 0; i < before; i++)
            buf_addc(&b, 'x');
        buf_addf(&b, "%s=%d", "number", 42);
        assert_int_equal(b.len, before + 9);
        assert_string_equal(buf_str(&b) + before, "number=42");
        assert_int_equal(strlen(buf_str(&b)), b.len);
        buf_fini(&b);
    }
}

static void what_is_over_the_limit_leaves_nothing(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 10);
    buf_addf(&b, "%s", "12345");
    buf_addf(&b, "%s", "678901");
    assert_true(b.overflowed);
    assert_int_equal(b.len, 5);
    assert_string_equal(buf_str(&b), "12345");
    buf_addf(&b, "%s", "67890");
    assert_string_equal(buf_str(&b), "1234567890");
    buf_fini(&b);
}

static void nothing_is_text_too(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 0);
    buf_addf(&b, "%s", "");
    assert_string_equal(buf_str(&b), "");
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_at_any_room),
        cmocka_unit_test(what_is_over_the_limit_leaves_nothing),
        cmocka_unit_test(nothing_is_text_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
