/* Of those who were turned away: each reason once an address, then a count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "launcher/core/strangers.h"

static struct peer_ip ip(unsigned char last)
{
    return (struct peer_ip){{[10] = 0xff, [11] = 0xff, 10, 0, 0, last}};
}

static void expect_all(const struct strangers *s, const char *want)
{
    struct buf text;
    buf_init(&text, 0);
    strangers_format(s, &text);
    assert_string_equal(buf_str(&text), want);
    buf_fini(&text);
}

static void each_reason_once_an_address(void **state)
{
    struct strangers *s = strangers_new();
    struct peer_ip one = ip(1), two = ip(2);
    (void)state;
    assert_true(strangers_add(s, &one, "garbage"));
    assert_true(strangers_add(s, &two, "garbage"));
    assert_true(strangers_add(s, &one, "no secret"));
    expect_all(s, ""); /* all of them were told */
    for (int i = 0; i < 20; i++)
        assert_false(strangers_add(s, &one, "garbage"));
    expect_all(s, "23 connections were turned away in all: 22 from 10.0.0.1, 1 from 10.0.0.2");
    strangers_free(s);
}

static void many_addresses_are_only_counted(void **state)
{
    struct strangers *s = strangers_new();
    struct buf text;
    int told = 0;
    (void)state;
    for (unsigned i = 0; i < 250; i++) {
        struct peer_ip from = ip((unsigned char)i);
        told += strangers_add(s, &from, "garbage");
    }
    assert_int_equal(told, STRANGERS_TOLD_MAX);
    buf_init(&text, 0);
    strangers_format(s, &text);
    assert_memory_equal(buf_str(&text),
                        "250 connections were turned away in all: 1 from 10.0.0.0, ", 57);
    assert_string_equal(buf_str(&text) + text.len - 12, ", 186 others");
    buf_fini(&text);
    strangers_free(s);
}

static void long_reasons_are_compared_as_far_as_they_are_kept(void **state)
{
    struct strangers *s = strangers_new();
    struct peer_ip from = ip(1);
    char reason[3 * STRANGERS_REASON_MAX + 1];
    (void)state;
    snprintf(reason, sizeof reason, "%0*d", (int)sizeof reason - 1, 7);
    assert_true(strangers_add(s, &from, reason));
    assert_false(strangers_add(s, &from, reason));
    strangers_free(s);
}

static bool is_one(bool is_named, enum err_code code)
{
    struct err e;
    err_set(&e, code, "10.0.0.1:40112: whatever");
    return strangers_is_one(is_named, &e);
}

static void a_node_that_lets_go_of_a_connection_is_none(void **state)
{
    (void)state;
    assert_false(is_one(true, ERR_UNAVAILABLE)); /* closed, or silent until the limit */
    assert_true(is_one(false, ERR_UNAVAILABLE));
    assert_true(is_one(true, ERR_AUTH)); /* a proof that is wrong */
    assert_true(is_one(false, ERR_AUTH));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_lets_go_of_a_connection_is_none),
        cmocka_unit_test(each_reason_once_an_address),
        cmocka_unit_test(many_addresses_are_only_counted),
        cmocka_unit_test(long_reasons_are_compared_as_far_as_they_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
