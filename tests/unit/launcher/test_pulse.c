/* pulse: which limit passes first. What the node does with it is in tests/trace/node_*.txt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "launcher/core/pulse.h"

static const struct sign beat = {.is_alive = true};

static void without_limits_nothing_is_due(void **state)
{
    (void)state;
    struct hang hang;
    struct pulse *p = pulse_new(2, 0, 0);
    pulse_start(p, 0);
    pulse_sign(p, 1, &beat, 5);
    assert_int_equal(pulse_deadline(p), UINT64_MAX);
    assert_false(pulse_hung(p, 1000000, &hang));
    pulse_free(p);
}

static void the_longest_overdue_is_told_first(void **state)
{
    (void)state;
    struct hang hang;
    struct pulse *p = pulse_new(3, 1000, 0);
    pulse_start(p, 0);
    pulse_sign(p, 0, &beat, 30);
    pulse_sign(p, 1, &beat, 10);
    pulse_sign(p, 2, &beat, 20);
    assert_int_equal(pulse_deadline(p), 1010);
    assert_true(pulse_hung(p, 1025, &hang));
    assert_int_equal(hang.local_rank, 1);
    assert_int_equal(hang.quiet_ms, 1015);
    assert_true(pulse_hung(p, 1025, &hang));
    assert_int_equal(hang.local_rank, 2);
    assert_false(pulse_hung(p, 1025, &hang));
    assert_int_equal(pulse_deadline(p), 1030);
    pulse_free(p);
}

static void two_reasons_hold_it_until_both_are_gone(void **state)
{
    (void)state;
    struct pulse *p = pulse_new(1, 1000, 0);
    pulse_start(p, 0);
    pulse_sign(p, 0, &beat, 0);
    pulse_hold(p, PULSE_SUSPENDED, true, 10);
    pulse_hold(p, PULSE_BLOCKED, true, 20);
    pulse_hold(p, PULSE_SUSPENDED, false, 30);
    assert_int_equal(pulse_deadline(p), UINT64_MAX);
    pulse_hold(p, PULSE_BLOCKED, false, 5000);
    assert_int_equal(pulse_deadline(p), 6000);
    pulse_free(p);
}

/* Output that the driver reports late, or from before the limit began again, takes nothing
 * back.
 */
static void old_output_is_no_news(void **state)
{
    (void)state;
    struct hang hang;
    struct pulse *p = pulse_new(1, 0, 1000);
    pulse_start(p, 5000);
    pulse_looked(p, 4000, 5500);
    assert_int_equal(pulse_deadline(p), 6000);
    assert_true(pulse_hung(p, 6000, &hang));
    assert_int_equal(hang.kind, HANG_SILENCE);
    assert_false(pulse_hung(p, 6001, &hang));
    pulse_looked(p, 7000, 7000);
    assert_true(pulse_hung(p, 7000, &hang));
    assert_int_equal(hang.kind, HANG_NONE);
    assert_false(pulse_hung(p, 7000, &hang));
    assert_int_equal(pulse_deadline(p), 8000);
    pulse_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_limits_nothing_is_due),
        cmocka_unit_test(the_longest_overdue_is_told_first),
        cmocka_unit_test(two_reasons_hold_it_until_both_are_gone),
        cmocka_unit_test(old_output_is_no_news),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
