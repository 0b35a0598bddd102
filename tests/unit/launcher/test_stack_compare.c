/* stack_compare: the rank that differs is named, and none where none can be told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "launcher/core/stack_compare.h"

enum { RANKS_MAX = 16, NOBODY = -1 };

struct row {
    const char *where;
    int64_t step; /* -1 = none */
};

static void expect(const struct row *rows, uint32_t n, const char *line, int64_t odd)
{
    struct seen seen[RANKS_MAX] = {{0}};
    struct buf out;
    struct maybe_u64 rank;
    buf_init(&out, 0);
    for (uint32_t i = 0; i < n; i++) {
        struct rank_facts facts = {.where = rows[i].where};
        if (rows[i].step >= 0)
            facts.step = (struct maybe_u64){true, (uint64_t)rows[i].step};
        if (rows[i].where)
            seen_take(&seen[i], &facts);
    }
    stack_compare(seen, n, &rank, &out);
    assert_string_equal(buf_str(&out), line);
    assert_int_equal(rank.is_known, odd >= 0);
    if (odd >= 0)
        assert_int_equal(rank.value, odd);
    buf_fini(&out);
    for (uint32_t i = 0; i < n; i++)
        seen_fini(&seen[i]);
}

static void one_differs(void **state)
{
    (void)state;
    const struct row four[] = {
        {"all_reduce", 17}, {"all_reduce", 17}, {"all_reduce", 17}, {"spin", 16}};
    expect(four, 4,
           "rank 3 differs: ranks 0-2 are in all_reduce, rank 3 is in spin, last step 16 of 17",
           3);
    const struct row first[] = {{"spin", -1}, {"all_reduce", -1}, {"all_reduce", -1}};
    expect(first, 3, "rank 0 differs: ranks 1, 2 are in all_reduce, rank 0 is in spin", 0);
}

static void several_differ(void **state)
{
    (void)state;
    const struct row rows[] = {{"a", -1}, {"a", -1}, {"a", -1}, {"b", -1}, {"b", -1}};
    expect(rows, 5, "2 ranks differ: ranks 0-2 are in a, ranks 3, 4 are in b", NOBODY);
    const struct row more[] = {{"a", -1}, {"b", -1}, {"a", -1}, {"c", -1}, {"a", -1}};
    expect(more, 5, "2 ranks differ: ranks 0, 2, 4 are in a, rank 1 is in b; rank 3 is in c",
           NOBODY);
}

static void nobody_differs(void **state)
{
    (void)state;
    const struct row rows[] = {{"all_reduce", 17}, {"all_reduce", 17}, {"all_reduce", 17}};
    expect(rows, 3, "no rank differs: ranks 0-2 are in all_reduce", NOBODY);
    const struct row alone[] = {{"spin", 4}};
    expect(alone, 1, "rank 0 is in spin, last step 4", NOBODY);
}

static void one_is_behind(void **state)
{
    (void)state;
    const struct row rows[] = {{"all_reduce", 17}, {"all_reduce", 16}, {"all_reduce", 17}};
    expect(rows, 3, "rank 1 is behind: ranks 0-2 are in all_reduce, last step 16 of 17", 1);
    const struct row two[] = {{"all_reduce", 17}, {"spin", 16}};
    expect(two, 2,
           "rank 1 is behind: rank 0 is in all_reduce, last step 17; rank 1 is in spin, last "
           "step 16 of 17",
           1);
}

/* Two that disagree do not say who is wrong; ranks that have ended are not counted. */
static void it_cannot_be_told(void **state)
{
    (void)state;
    const struct row two[] = {{"a", -1}, {"b", -1}};
    expect(two, 2, "which rank hangs cannot be told: rank 0 is in a; rank 1 is in b", NOBODY);
    const struct row gone[] = {{"a", -1}, {NULL, -1}, {"b", -1}, {NULL, -1}};
    expect(gone, 4, "which rank hangs cannot be told: rank 0 is in a; rank 2 is in b", NOBODY);
    const struct row many[] = {{"a", -1}, {"b", -1}, {"c", -1}, {"d", -1},
                               {"e", -1}, {"f", -1}, {"g", -1}};
    expect(many, 7,
           "which rank hangs cannot be told: rank 0 is in a; rank 1 is in b; rank 2 is in c; "
           "rank 3 is in d; rank 4 is in e; and 2 more places",
           NOBODY);
    const struct row none[] = {{NULL, -1}, {NULL, -1}};
    expect(none, 2, "", NOBODY);
}

static void a_second_look_adds(void **state)
{
    (void)state;
    struct seen seen = {0};
    seen_take(&seen, &(struct rank_facts){.where = "futex", .step = {true, 7}, .section = "s"});
    seen_take(&seen, &(struct rank_facts){.where = "spin"});
    assert_string_equal(seen.where, "spin");
    assert_int_equal(seen.step.value, 7);
    assert_string_equal(seen.section, "s");
    seen_take(&seen, &(struct rank_facts){.where = ""});
    assert_string_equal(seen.where, "spin");
    seen_fini(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_differs),       cmocka_unit_test(several_differ),
        cmocka_unit_test(nobody_differs),    cmocka_unit_test(one_is_behind),
        cmocka_unit_test(it_cannot_be_told), cmocka_unit_test(a_second_look_adds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
