/* One slow link, one slow rank, both, and none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "worker/links.h"

static struct links even(uint32_t n, double gbs)
{
    struct links l;
    links_init(&l, n);
    l.bytes = 1000000;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            l.uni[a * n + b] = a == b ? 0 : gbs + (a * 7 + b * 3) % 5; /* some spread */
    return l;
}

static void one_way(struct links *l, uint32_t a, uint32_t b, double gbs)
{
    l->uni[a * l->n + b] = gbs;
}

static void an_even_group_has_no_outlier(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 9; n++) {
        struct links l = even(n, 100);
        links_judge(&l, 0);
        assert_int_equal(l.noutliers, 0);
        links_fini(&l);
    }
}

static void one_slow_direction_makes_a_link_slow(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= 8; n++) {
        struct links l = even(n, 100);
        one_way(&l, 2, 1, 50);
        links_judge(&l, 0);
        assert_int_equal(l.noutliers, 1);
        assert_int_equal(l.outliers[0].kind, LINKS_LINK);
        assert_int_equal(l.outliers[0].a, 1);
        assert_int_equal(l.outliers[0].b, 2);
        assert_true(l.outliers[0].gbs == 50 && l.outliers[0].median >= 100);
        links_fini(&l);
    }
}

static void a_rank_that_is_slow_to_all_is_one_outlier(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= 8; n++)
        for (uint32_t slow = 0; slow < n; slow++) {
            struct links l = even(n, 100);
            for (uint32_t r = 0; r < n; r++) {
                one_way(&l, slow, r, 40);
                one_way(&l, r, slow, 45);
            }
            links_judge(&l, 0);
            assert_int_equal(l.noutliers, 1);
            assert_int_equal(l.outliers[0].kind, LINKS_RANK);
            assert_int_equal(l.outliers[0].a, slow);
            links_fini(&l);
        }
}

static void a_slow_link_beside_a_slow_rank_is_named_too(void **state)
{
    (void)state;
    struct links l = even(6, 100);
    for (uint32_t r = 0; r < 6; r++)
        one_way(&l, r, 3, 40);
    one_way(&l, 0, 5, 60);
    links_judge(&l, 0);
    assert_int_equal(l.noutliers, 2);
    assert_int_equal(l.outliers[0].a, 3);
    assert_int_equal(l.outliers[1].a, 0);
    assert_int_equal(l.outliers[1].b, 5);
    links_fini(&l);
}

static void a_slack_forgives_what_takes_little_time(void **state)
{
    (void)state;
    struct links l = even(4, 100); /* 1 MB at 50 instead of 100 GB/s: 10 us more */
    one_way(&l, 2, 1, 50);
    links_judge(&l, 100);
    assert_int_equal(l.noutliers, 0);
    links_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_even_group_has_no_outlier),
        cmocka_unit_test(one_slow_direction_makes_a_link_slow),
        cmocka_unit_test(a_rank_that_is_slow_to_all_is_one_outlier),
        cmocka_unit_test(a_slow_link_beside_a_slow_rank_is_named_too),
        cmocka_unit_test(a_slack_forgives_what_takes_little_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
