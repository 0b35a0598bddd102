/* The tables of the collectives: sizes, factors, and that what is received was sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "worker/collective.h"

enum { MOST = 8, COUNT = 6 };

static void factors_are_those_of_nccl_tests(void **state)
{
    (void)state;
    assert_true(collective_factor(COLLECTIVE_ALLREDUCE, 8) == 1.75);
    assert_true(collective_factor(COLLECTIVE_ALLGATHER, 8) == 0.875);
    assert_true(collective_factor(COLLECTIVE_REDUCESCATTER, 4) == 0.75);
    assert_true(collective_factor(COLLECTIVE_ALLTOALL, 2) == 0.5);
    assert_true(collective_factor(COLLECTIVE_BROADCAST, 8) == 1);
    assert_true(collective_factor(COLLECTIVE_HYPERCUBE, 8) == 1);
    for (int c = 0; c < COLLECTIVE_COUNT; c++)
        assert_true(collective_factor((enum collective)c, 1) == 0);
}

static void sizes_are_those_of_nccl_tests(void **state)
{
    (void)state;
    assert_int_equal(collective_count(COLLECTIVE_ALLREDUCE, 1024, 4, 8), 256);
    assert_int_equal(collective_count(COLLECTIVE_ALLGATHER, 1024, 4, 8), 32);
    assert_int_equal(collective_count(COLLECTIVE_ALLTOALL, 1000, 4, 3), 80);
    assert_int_equal(collective_count(COLLECTIVE_ALLTOALL, 8, 4, 3), 4);
    assert_int_equal(collective_bytes(COLLECTIVE_ALLGATHER, 32, 4, 8), 1024);
    assert_int_equal(collective_bytes(COLLECTIVE_HYPERCUBE, 32, 4, 8), 896);
    assert_int_equal(collective_region(COLLECTIVE_HYPERCUBE, 32, 4, 8), 1024);
    assert_int_equal(collective_bytes(COLLECTIVE_SENDRECV, 32, 4, 8), 128);
}

static void hypercubes_have_powers_of_two(void **state)
{
    (void)state;
    assert_true(collective_takes(COLLECTIVE_HYPERCUBE, 8));
    assert_false(collective_takes(COLLECTIVE_HYPERCUBE, 6));
    assert_true(collective_takes(COLLECTIVE_ALLTOALL, 6));
}

/* Every element of a received block lies within what its source sends, and in place what is
 * sent and received lies within the region. */
static void what_is_received_was_sent(void **state)
{
    (void)state;
    for (int i = 0; i < COLLECTIVE_COUNT; i++)
        for (uint32_t n = 1; n <= MOST; n++)
            for (uint32_t rank = 0; rank < n; rank++)
                for (int in_place = 0; in_place < 2; in_place++) {
                    enum collective c = (enum collective)i;
                    const struct collective_group g = {rank, n, n / 2};
                    const uint64_t first = 100, end = first + collective_region(c, COUNT, 1, n);
                    struct pattern_span s = collective_sent(c, &g, COUNT, in_place, first);
                    assert_true(s.begin >= first && s.end <= end);
                    assert_int_equal(s.begin + s.shift, first);
                    for (uint32_t k = 0; k < collective_blocks_received(c, n); k++) {
                        struct pattern_span r =
                            collective_received(c, &g, COUNT, in_place, first, k);
                        assert_true(r.begin >= first && r.end <= end);
                        if (r.begin == r.end)
                            continue;
                        struct collective_group from = g;
                        from.rank = r.source < 0 ? 0 : (uint32_t)r.source;
                        struct pattern_span sent =
                            collective_sent(c, &from, COUNT, false, first);
                        assert_true(r.begin + r.shift >= sent.begin);
                        assert_true(r.end + r.shift <= sent.end);
                    }
                }
}

/* What an alltoall takes from a rank differs from receiver to receiver. */
static void blocks_go_to_their_own_rank(void **state)
{
    (void)state;
    const struct collective_group one = {1, 4, 0}, two = {2, 4, 0};
    struct pattern_span a = collective_received(COLLECTIVE_ALLTOALL, &one, COUNT, false, 0, 3),
                        b = collective_received(COLLECTIVE_ALLTOALL, &two, COUNT, false, 0, 3);
    assert_int_equal(a.source, 3);
    assert_int_equal(a.begin + a.shift, 1 * COUNT);
    assert_int_equal(b.begin + b.shift, 2 * COUNT);
    a = collective_received(COLLECTIVE_SENDRECV, &one, COUNT, false, 0, 0);
    assert_int_equal(a.source, 0);
}

static void names_are_those_of_the_command_line(void **state)
{
    (void)state;
    assert_string_equal(collective_name(COLLECTIVE_REDUCESCATTER), "reducescatter");
    assert_string_equal(collective_title(COLLECTIVE_REDUCESCATTER), "reduce_scatter");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_are_those_of_nccl_tests),
        cmocka_unit_test(sizes_are_those_of_nccl_tests),
        cmocka_unit_test(hypercubes_have_powers_of_two),
        cmocka_unit_test(what_is_received_was_sent),
        cmocka_unit_test(blocks_go_to_their_own_rank),
        cmocka_unit_test(names_are_those_of_the_command_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
