/* bisect: the order of the arms, the first that passes, and when there is nothing to search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launcher/core/bisect.h"

static void says(const struct bisect *b, const char *text)
{
    struct buf out;
    buf_init(&out, 0);
    bisect_format(b, &out);
    assert_string_equal(buf_str(&out), text);
    buf_fini(&out);
}

static void the_first_that_passes(void **state)
{
    (void)state;
    struct bisect b;
    bisect_init(&b);
    assert_string_equal(bisect_next(&b), "NCCL_P2P_DISABLE=1");
    bisect_ended(&b, 12);
    assert_string_equal(bisect_next(&b), "NCCL_SHM_DISABLE=1");
    bisect_ended(&b, 13);
    assert_string_equal(bisect_next(&b), "NCCL_NVLS_ENABLE=0");
    bisect_ended(&b, 0);
    assert_null(bisect_next(&b));
    says(&b, "bisect: it passes with NCCL_NVLS_ENABLE=0: without NVLink SHARP");
}

static void none_helps(void **state)
{
    (void)state;
    struct bisect b;
    size_t n = 0;
    bisect_init(&b);
    for (; bisect_next(&b); n++)
        bisect_ended(&b, 12);
    assert_int_equal(n, BISECT_ARM_COUNT);
    says(&b, "bisect: it fails with each of 7 settings, too: NCCL_P2P_DISABLE=1 (12), "
             "NCCL_SHM_DISABLE=1 (12), NCCL_NVLS_ENABLE=0 (12), NCCL_CUMEM_ENABLE=0 (12), "
             "NCCL_CUMEM_HOST_ENABLE=0 (12), NCCL_IB_DISABLE=1 (12), NCCL_NET=Socket (12)");
}

static void the_user_ends_it(void **state)
{
    (void)state;
    struct bisect b;
    bisect_init(&b);
    bisect_ended(&b, 130);
    assert_null(bisect_next(&b));
    says(&b, "bisect: it fails with each of 1 settings, too: NCCL_P2P_DISABLE=1 (130)");
}

static void what_is_searched(void **state)
{
    (void)state;
    static const int yes[] = {1, 10, 12, 13, 14, 15, 124, 137, 139, 134};
    static const int no[] = {0, 2, 11, 16, 17, 69, 77, 78, 125, 126, 127, 129, 130, 131, 143};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        assert_true(bisect_is_for(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        assert_false(bisect_is_for(no[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_passes),
        cmocka_unit_test(none_helps),
        cmocka_unit_test(the_user_ends_it),
        cmocka_unit_test(what_is_searched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
