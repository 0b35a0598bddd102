/* The tree of ssh: every host once, in ranges, with no more children than the radix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "launcher/core/tree_shape.h"

static void when_there_is_a_tree(void **state)
{
    (void)state;
    static const struct {
        uint32_t n, above, radix;
    } rows[] = {{1, 64, 0},        {64, 64, 0},     {65, 64, 32}, {10000, 64, 32},
                {65536, 4096, 32}, {4096, 4096, 0}, {7, 2, 2},    {2, 2, 0},
                {33, 31, 31},      {10000, 0, 0},   {3, 1, 2},    {65536, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(tree_shape_radix(rows[i].n, rows[i].above), rows[i].radix);
}

/* Runs are contiguous, cover all, and are of one length, to one. */
static void runs(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 1, 31, 32, 33, 64, 312, 1000, 10000};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        uint32_t next = 0, n = sizes[s], count = tree_shape_runs(n, 32);
        assert_int_equal(count, n < 32 ? n : 32);
        for (uint32_t i = 0; i < count; i++) {
            struct tree_run run = tree_shape_run(n, 32, i);
            assert_int_equal(run.first, next);
            assert_true(run.count == n / count || run.count == n / count + 1);
            next += run.count;
        }
        assert_int_equal(next, n);
    }
}

/* Of one tree: parents and subtrees fit each other, and so do the runs that a parent makes. */
static void check_tree(uint32_t n, uint32_t radix, uint32_t max_depth)
{
    uint32_t tops = 0, end = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct tree_place p = tree_shape_find(n, radix, i);
        assert_true(p.count >= 1 && p.count <= n - i && p.depth <= max_depth);
        if (p.parent == TREE_HEAD) {
            assert_int_equal(p.depth, 1);
            assert_int_equal(i, end); /* behind the subtree before it */
            end = i + p.count;
            tops++;
        } else {
            struct tree_place parent = tree_shape_find(n, radix, p.parent);
            assert_true(p.parent < i && i + p.count <= p.parent + parent.count);
            assert_int_equal(p.depth, parent.depth + 1);
        }
        uint32_t children = p.count > 1 ? tree_shape_runs(p.count - 1, radix) : 0;
        assert_true(children <= radix);
        for (uint32_t k = 0; k < children; k++) {
            struct tree_run run = tree_shape_run(p.count - 1, radix, k);
            struct tree_place child = tree_shape_find(n, radix, i + 1 + run.first);
            assert_int_equal(child.parent, i);
            assert_int_equal(child.count, run.count);
        }
    }
    assert_int_equal(end, n);
    assert_int_equal(tops, n < radix ? n : radix);
}

static void every_host_once(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < 80; n++)
        for (uint32_t radix = 1; radix < 9; radix++)
            check_tree(n, radix, n);
    check_tree(1000, 32, 2); /* as docs/multi-node.md says */
    check_tree(10000, 32, 3);
    check_tree(65536, 32, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(when_there_is_a_tree),
        cmocka_unit_test(runs),
        cmocka_unit_test(every_host_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
