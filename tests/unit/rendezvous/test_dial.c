/* When is which candidate dialled, and what is told in the end. Time is a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rendezvous/dial.h"

static void expect_next(struct dial *d, uint64_t now, int want)
{
    size_t got = 99;
    bool is_due = dial_next(d, now, &got);
    assert_int_equal(is_due ? (int)got : -1, want);
}

static void fail_at(struct dial *d, size_t candidate, enum dial_failure how, uint64_t now,
                    const char *text)
{
    struct err e;
    err_set(&e, ERR_UNAVAILABLE, "%s", text);
    dial_failed(d, candidate, how, &e, now);
}

static void candidates_start_apart(void **state)
{
    struct dial *d = dial_new(3, 1000, 60000);
    (void)state;
    expect_next(d, 1000, 0);
    expect_next(d, 1000, -1);
    assert_int_equal(dial_deadline(d), 1250);
    expect_next(d, 1249, -1);
    expect_next(d, 1250, 1);
    expect_next(d, 1499, -1);
    expect_next(d, 1500, 2);
    expect_next(d, 59000, -1);
    assert_int_equal(dial_deadline(d), 60000);
    assert_null(dial_reason(d));
    dial_free(d);
}

static void a_failure_makes_room_at_once(void **state)
{
    struct dial *d = dial_new(3, 0, 60000);
    (void)state;
    expect_next(d, 0, 0);
    fail_at(d, 0, DIAL_UNREACHED, 3, "refused");
    expect_next(d, 3, 1);
    expect_next(d, 3, -1);
    assert_int_equal(dial_deadline(d), 53); /* candidate 0 again */
    expect_next(d, 53, 0);
    expect_next(d, 253, 2);
    dial_free(d);
}

static void pauses_double_up_to_a_second(void **state)
{
    static const uint64_t pauses[] = {50, 100, 200, 400, 800, 1000, 1000, 1000};
    struct dial *d = dial_new(1, 0, 60000);
    uint64_t now = 0;
    (void)state;
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        expect_next(d, now, 0);
        now += 7;
        fail_at(d, 0, DIAL_UNREACHED, now, "refused");
        assert_int_equal(dial_deadline(d), now + pauses[i]);
        expect_next(d, now + pauses[i] - 1, -1);
        now += pauses[i];
    }
    dial_free(d);
}

static void who_refuses_is_not_asked_again(void **state)
{
    struct dial *d = dial_new(2, 0, 60000);
    (void)state;
    expect_next(d, 0, 0);
    fail_at(d, 0, DIAL_REFUSED, 1, "another secret");
    expect_next(d, 1, 1);
    fail_at(d, 1, DIAL_STRANGER, 2, "no muster");
    assert_false(dial_is_over(d, 2));
    expect_next(d, 52, 1);
    fail_at(d, 1, DIAL_REFUSED, 60, "another job");
    assert_true(dial_is_over(d, 60));
    expect_next(d, 10000, -1);
    assert_string_equal(dial_reason(d)->text, "another secret");
    dial_free(d);
}

static void the_limit_ends_it(void **state)
{
    struct dial *d = dial_new(2, 0, 300);
    (void)state;
    expect_next(d, 0, 0);
    fail_at(d, 0, DIAL_UNREACHED, 290, "refused");
    assert_int_equal(dial_deadline(d), 290); /* candidate 1 */
    expect_next(d, 290, 1);
    assert_int_equal(dial_deadline(d), 300);
    assert_false(dial_is_over(d, 299));
    assert_true(dial_is_over(d, 300));
    expect_next(d, 340, -1);
    dial_free(d);
}

static void the_furthest_failure_is_told(void **state)
{
    struct dial *d = dial_new(3, 0, 60000);
    (void)state;
    expect_next(d, 0, 0);
    fail_at(d, 0, DIAL_UNREACHED, 0, "first refused");
    expect_next(d, 0, 1);
    fail_at(d, 1, DIAL_STRANGER, 0, "second is silent");
    expect_next(d, 0, 2);
    fail_at(d, 2, DIAL_STRANGER, 0, "third is silent");
    assert_string_equal(dial_reason(d)->text, "second is silent");
    expect_next(d, 50, 0);
    expect_next(d, 50, 1);
    fail_at(d, 1, DIAL_UNREACHED, 60, "second refused"); /* it once got further */
    assert_string_equal(dial_reason(d)->text, "second is silent");
    fail_at(d, 0, DIAL_REFUSED, 60, "first has another secret");
    assert_string_equal(dial_reason(d)->text, "first has another secret");
    dial_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_start_apart),
        cmocka_unit_test(a_failure_makes_room_at_once),
        cmocka_unit_test(pauses_double_up_to_a_second),
        cmocka_unit_test(who_refuses_is_not_asked_again),
        cmocka_unit_test(the_limit_ends_it),
        cmocka_unit_test(the_furthest_failure_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
