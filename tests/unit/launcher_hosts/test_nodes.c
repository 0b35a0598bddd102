/* Natural order of node names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "launcher/core/node_order.h"

static int sign(int d)
{
    return (d > 0) - (d < 0);
}

/* Each name comes before all that follow it, and the order is one both ways round. */
static void names_in_natural_order(void **state)
{
    (void)state;
    static const char *const names[] = {"",
                                        "10.0.0.9",
                                        "10.0.0.10",
                                        "gpu",
                                        "gpu0",
                                        "gpu01",
                                        "gpu1",
                                        "gpu1-ib",
                                        "GPU2",
                                        "gpu2",
                                        "gpu10",
                                        "gpu10a",
                                        "gpu10b",
                                        "gpu99999999999999999999",
                                        "gpu100000000000000000000",
                                        "r1n1",
                                        "r1n2",
                                        "r1n10",
                                        "r2n1",
                                        "worker-0",
                                        "worker-9",
                                        "worker-10"};
    enum { N = sizeof names / sizeof names[0] };
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < N; k++)
            assert_int_equal(sign(node_name_compare(names[i], names[k])), (i > k) - (i < k));
}

static void ties_by_address_then_pid(void **state)
{
    (void)state;
    static const struct node_identity nodes[] = {
        {"n1", "10.0.0.9", 3}, {"n1", "10.0.0.9", 20}, {"n1", "10.0.0.10", 7},
        {"n1", "fd00::1", 1},  {"n2", "10.0.0.1", 1},  {"n10", "10.0.0.1", 1}};
    enum { N = sizeof nodes / sizeof nodes[0] };
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < N; k++)
            assert_int_equal(sign(node_compare(&nodes[i], &nodes[k])), (i > k) - (i < k));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_in_natural_order),
        cmocka_unit_test(ties_by_address_then_pid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
