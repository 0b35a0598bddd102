/* Who is started by the head, and when: what start_tree.h promises, one row of it a test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "launcher/core/start_tree.h"

/* 7 hosts, radix 2:   0 (1 (2), 3)   4 (5, 6). */
enum { N = 7, RADIX = 2 };

static void expect(struct start_tree *t, uint64_t now_ms, uint32_t n, ...)
{
    va_list hosts;
    uint32_t i;
    va_start(hosts, n);
    for (; n; n--) {
        assert_true(start_tree_next(t, now_ms, &i));
        assert_int_equal(i, va_arg(hosts, uint32_t));
        start_tree_began(t, i, now_ms);
    }
    va_end(hosts);
    assert_false(start_tree_next(t, now_ms, &i));
}

static struct start_tree *begin(void)
{
    struct start_tree *t = start_tree_new(N, RADIX);
    assert_int_equal(start_tree_due_ms(t), 0); /* at once */
    expect(t, 1000, 2, 0, 4);
    return t;
}

static void without_a_tree_the_head_starts_all(void **state)
{
    (void)state;
    struct start_tree *t = start_tree_new(3, 0);
    expect(t, 1000, 3, 0, 1, 2);
    assert_int_equal(start_tree_due_ms(t), UINT64_MAX);
    assert_int_equal(start_tree_below(t, 0), 0);
    assert_true(start_tree_failed(t, 1, true, true));
    expect(t, 900000, 0);
    start_tree_free(t);
    t = start_tree_new(0, 0); /* and of none nothing */
    assert_int_equal(start_tree_due_ms(t), UINT64_MAX);
    expect(t, 0, 0);
    start_tree_free(t);
}

static void all_go_well(void **state)
{
    (void)state;
    struct start_tree *t = begin();
    assert_int_equal(start_tree_below(t, 0), 3);
    assert_int_equal(start_tree_below(t, 4), 2);
    assert_true(start_tree_is_own(t, 4));
    assert_false(start_tree_is_own(t, 5));
    assert_true(start_tree_is_below(t, 2, 0) && start_tree_is_below(t, 2, 1));
    assert_false(start_tree_is_below(t, 4, 0) || start_tree_is_below(t, 0, 0)
                 || start_tree_is_below(t, 0, 2) || start_tree_is_below(t, N, 4)
                 || start_tree_is_below(t, 5, N));
    for (uint32_t i = 0; i < N; i++)
        start_tree_linked(t, i, 2000 + i);
    assert_true(start_tree_due_ms(t) > 2000); /* somebody may look then, and finds nothing */
    expect(t, 900000, 0);
    assert_int_equal(start_tree_due_ms(t), UINT64_MAX);
    start_tree_free(t);
}

/* Who is not up 10 s after its command began starts nobody; if it comes later, nor then. */
static void a_parent_that_does_not_come(void **state)
{
    (void)state;
    struct start_tree *t = begin();
    for (uint32_t i = 4; i < N; i++)
        start_tree_linked(t, i, 2000);
    assert_int_equal(start_tree_due_ms(t), 1000 + START_TREE_MS);
    expect(t, 999 + START_TREE_MS, 0);
    expect(t, 1000 + START_TREE_MS, 2, 1, 3); /* 2 is 1's */
    start_tree_up(t, 0, 20000);
    assert_int_equal(start_tree_below(t, 0), 0);
    assert_int_equal(start_tree_below(t, 1), 1);
    start_tree_free(t);
}

static void children_that_do_not_come(void **state)
{
    (void)state;
    struct start_tree *t = begin();
    start_tree_linked(t, 4, 1500);
    start_tree_linked(t, 5, 2000);
    start_tree_linked(t, 6, 2000);
    start_tree_up(t, 0, 3000);
    start_tree_up(t, 0, 4000); /* said twice: counts once */
    start_tree_linked(t, 3, 5000);
    assert_int_equal(start_tree_due_ms(t), 1500 + START_TREE_MS); /* for nothing */
    expect(t, 2999 + START_TREE_MS, 0);
    expect(t, 3000 + START_TREE_MS, 1, 1); /* not 3, which has its link */
    /* 2 waits until 1 had its time */
    expect(t, 2999 + 2 * START_TREE_MS, 0);
    expect(t, 3000 + 2 * START_TREE_MS, 1, 2);
    expect(t, 900000, 0);
    start_tree_free(t);
}

/* A grandchild counts from when its own parent came up. */
static void depth_three(void **state)
{
    (void)state;
    struct start_tree *t = begin();
    start_tree_linked(t, 4, 1500);
    start_tree_linked(t, 5, 1500);
    start_tree_linked(t, 6, 1500);
    start_tree_linked(t, 0, 2000);
    start_tree_linked(t, 3, 2000);
    start_tree_up(t, 1, 9000);
    start_tree_linked(t, 1, 11000);
    expect(t, 8999 + START_TREE_MS, 0);
    expect(t, 9000 + START_TREE_MS, 1, 2);
    start_tree_free(t);
}

static void a_parent_that_fails_or_ends(void **state)
{
    (void)state;
    struct start_tree *t = begin();
    assert_true(start_tree_failed(t, 0, true, true)); /* the job hears it */
    expect(t, 1001, 2, 1, 3);
    start_tree_linked(t, 4, 1500);
    start_tree_linked(t, 5, 1500);
    start_tree_ended(t, 4);
    expect(t, 1501, 1, 6);
    start_tree_free(t);
}

/* What a parent cannot reach the head tries itself; what is wrong on the host is wrong. */
static void failures_from_elsewhere(void **state)
{
    (void)state;
    struct start_tree *t = begin();
    start_tree_up(t, 0, 1100);
    start_tree_up(t, 4, 1100);
    assert_false(start_tree_failed(t, 1, false, true));
    expect(t, 1200, 1, 1);
    assert_false(start_tree_failed(t, 1, false, false)); /* the head is at it */
    assert_false(start_tree_failed(t, 1, false, true));
    assert_true(start_tree_failed(t, 1, true, true)); /* and has failed, too */
    expect(t, 1300, 1, 2);
    assert_true(start_tree_failed(t, 5, false, false));
    assert_false(start_tree_failed(t, 5, false, false)); /* once */
    start_tree_ended(t, 4);
    expect(t, 1400, 1, 6); /* not 5, of which all is known */
    start_tree_free(t);
}

/* Of one that has its link a failure is no news, but it starts nobody any more. */
static void failures_after_the_link(void **state)
{
    (void)state;
    struct start_tree *t = begin();
    start_tree_linked(t, 0, 1100);
    start_tree_linked(t, 1, 1100);
    assert_false(start_tree_failed(t, 1, false, true));
    expect(t, 1200, 1, 2);
    assert_false(start_tree_failed(t, 0, true, false));
    expect(t, 1200, 1, 3);
    start_tree_free(t);
}

static void hosts_that_are_none(void **state)
{
    (void)state;
    struct start_tree *t = begin();
    start_tree_began(t, N, 1);
    start_tree_up(t, N, 1);
    start_tree_linked(t, UINT32_MAX, 1);
    start_tree_ended(t, N);
    assert_false(start_tree_failed(t, N, false, true));
    assert_true(start_tree_failed(t, N, true, true)); /* a host that ssh does not reach */
    assert_false(start_tree_is_own(t, N));
    assert_int_equal(start_tree_below(t, N), 0);
    expect(t, 1001, 0);
    start_tree_free(t);
}

/* Whatever is said in whatever order: no host is started twice, and all that have neither come
 * nor failed are started in the end. */
static void at_random(void **state)
{
    (void)state;
    uint64_t x = 88172645463325252u;
    for (uint32_t run = 0; run < 2000; run++) {
        uint32_t n = 1 + run % 40, radix = run % 7, i;
        bool started[40] = {false}, is_linked[40] = {false}, has_failed[40] = {false};
        struct start_tree *t = start_tree_new(n, radix == 1 ? 2 : radix);
        uint64_t now_ms = 0;
        for (uint32_t k = 0; k < 200; k++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            uint32_t host = (uint32_t)(x >> 8) % n;
            bool is_last = k > 100; /* then only time goes by */
            now_ms += is_last ? START_TREE_MS : x % 3000;
            switch (is_last ? 0 : x >> 40 & 7) {
            case 1:
                start_tree_up(t, host, now_ms);
                break;
            case 2:
                is_linked[host] = true;
                start_tree_linked(t, host, now_ms);
                break;
            case 3:
                start_tree_ended(t, host);
                break;
            case 4:
                has_failed[host] =
                    start_tree_failed(t, host, started[host], x >> 50 & 1) || has_failed[host];
                break;
            }
            while (start_tree_next(t, now_ms, &i)) {
                assert_true(i < n && !started[i] && !is_linked[i]);
                started[i] = true;
                start_tree_began(t, i, now_ms);
            }
            assert_true(start_tree_due_ms(t) > now_ms);
        }
        assert_int_equal(start_tree_due_ms(t), UINT64_MAX);
        for (i = 0; i < n; i++)
            assert_true(started[i] || is_linked[i] || has_failed[i]);
        start_tree_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_tree_the_head_starts_all),
        cmocka_unit_test(all_go_well),
        cmocka_unit_test(a_parent_that_does_not_come),
        cmocka_unit_test(children_that_do_not_come),
        cmocka_unit_test(depth_three),
        cmocka_unit_test(a_parent_that_fails_or_ends),
        cmocka_unit_test(failures_from_elsewhere),
        cmocka_unit_test(failures_after_the_link),
        cmocka_unit_test(hosts_that_are_none),
        cmocka_unit_test(at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
