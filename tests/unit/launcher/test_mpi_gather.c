/* mpi_gather: who is awaited, who waits in vain, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/mpi_gather.h"

enum { NODES = 4 };

static const uint32_t all[] = {0, 1, 2, 3}, some[] = {1, 3};
static struct mpi_gather *g;
static struct mpi_answer answer;
static struct err e;

static int set_up(void **state)
{
    (void)state;
    g = mpi_gather_new();
    mpi_gather_begin(g, NODES);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mpi_gather_free(g);
    return 0;
}

static int come(uint32_t node, const char *operation, const uint32_t *nodes, uint32_t n,
                const char *data)
{
    const struct gather piece = {operation, nodes, n, {false, 0}, str_from(data)};
    return mpi_gather_take(g, node, &piece, &answer, &e);
}

/* "0 2: abc" or "0 2: lost 1" */
static void expect_answer(const char *want)
{
    struct buf got;
    buf_init(&got, 0);
    for (uint32_t i = 0; i < answer.nnodes; i++)
        buf_addf(&got, "%s%u", i ? " " : "", answer.nodes[i]);
    buf_adds(&got, ": ");
    if (answer.gathered.is_lost)
        buf_addf(&got, "lost %u", answer.missing);
    buf_add(&got, answer.gathered.data.p, answer.gathered.data.n);
    assert_string_equal(buf_str(&got), want);
    buf_fini(&got);
}

static void all_come(void **state)
{
    (void)state;
    assert_int_equal(come(2, "f", all, 4, "c"), 0);
    assert_int_equal(come(0, "f", all, 4, "a"), 0);
    assert_int_equal(come(3, "f", all, 4, ""), 0);
    assert_int_equal(come(1, "f", all, 4, "b"), 1);
    expect_answer("2 0 3 1: cab");
    assert_string_equal(answer.gathered.operation, "f");
    mpi_gather_settle(g);
    /* The same operation begins anew. */
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(come(i, "f", all, 4, "x"), 0);
    assert_int_equal(come(3, "f", all, 4, "y"), 1);
    expect_answer("0 1 2 3: xxxy");
}

static void operations_are_apart(void **state)
{
    (void)state;
    assert_int_equal(come(1, "f", all, 4, "1"), 0);
    assert_int_equal(come(1, "g", some, 2, "2"), 0);
    assert_int_equal(come(3, "g", some, 2, "3"), 1);
    expect_answer("1 3: 23");
    const struct mpi_answer first = answer;
    assert_int_equal(come(0, "f", all, 4, "0"), 0);
    assert_int_equal(come(2, "f", all, 4, "2"), 0);
    assert_int_equal(come(3, "f", all, 4, "3"), 1);
    expect_answer("1 0 2 3: 1023");
    answer = first; /* answers stay until they are settled */
    expect_answer("1 3: 23");
}

static void who_leaves_is_not_awaited(void **state)
{
    (void)state;
    assert_int_equal(come(0, "f", all, 4, "0"), 0);
    assert_int_equal(come(2, "f", all, 4, "2"), 0);
    assert_int_equal(come(3, "g", some, 2, "3"), 0);
    assert_true(mpi_gather_leave(g, 1, &answer));
    expect_answer("0 2: lost 1");
    assert_true(mpi_gather_leave(g, 1, &answer));
    expect_answer("3: lost 1");
    assert_false(mpi_gather_leave(g, 1, &answer));
    /* Nor in what begins later. */
    assert_int_equal(come(3, "h", all, 4, "3"), 1);
    expect_answer("3: lost 1");
    assert_false(mpi_gather_leave(g, NODES, &answer));
}

static void what_was_given_stays(void **state)
{
    (void)state;
    assert_int_equal(come(1, "f", some, 2, "one"), 0);
    assert_false(mpi_gather_leave(g, 1, &answer));
    assert_int_equal(come(3, "f", some, 2, "three"), 1);
    expect_answer("1 3: onethree");
}

static void a_generation_forgets(void **state)
{
    (void)state;
    assert_int_equal(come(1, "f", some, 2, "old"), 0);
    assert_false(mpi_gather_leave(g, 2, &answer));
    mpi_gather_begin(g, 4);
    assert_int_equal(come(3, "f", some, 2, "new"), 0);
    assert_int_equal(come(1, "f", some, 2, "er"), 1);
    expect_answer("3 1: newer");
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(come(i, "f", all, 4, ""), 0);
    assert_int_equal(come(3, "f", all, 4, ""), 1);
}

static void expect_refused(int rc, enum err_code code, const char *says)
{
    assert_int_equal(rc, -1);
    assert_int_equal(e.code, code);
    if (!strstr(e.text, says))
        fail_msg("\"%s\" does not say \"%s\"", e.text, says);
    assert_true(answer.gathered.is_lost);
}

static void strangers_are_refused(void **state)
{
    static const uint32_t twice[] = {1, 1}, back[] = {3, 1}, far[] = {1, 4};
    (void)state;
    expect_refused(come(0, "f", some, 2, ""), ERR_PROTOCOL, "does not take part");
    expect_answer("0: lost 0");
    expect_refused(come(1, "f", twice, 2, ""), ERR_PROTOCOL, "does not have");
    expect_refused(come(1, "f", back, 2, ""), ERR_PROTOCOL, "does not have");
    expect_refused(come(1, "f", far, 2, ""), ERR_PROTOCOL, "does not have");
    expect_refused(come(1, "f", all, 0, ""), ERR_PROTOCOL, "does not take part");
}

static void who_waits_hears_of_a_refusal(void **state)
{
    (void)state;
    assert_int_equal(come(0, "f", all, 4, "0"), 0);
    assert_int_equal(come(1, "f", all, 4, "1"), 0);
    expect_refused(come(1, "f", all, 4, "1"), ERR_PROTOCOL, "node 1 comes twice");
    expect_answer("0 1: lost 1");
    assert_int_equal(come(0, "f", all, 4, "0"), 0);
    expect_refused(come(3, "f", some, 2, "3"), ERR_PROTOCOL, "nodes 0 and 3 do not agree");
    expect_answer("0 3: lost 3");
}

static void memory_is_bounded(void **state)
{
    (void)state;
    size_t n = MPI_GATHER_BYTES_MAX / 2 + 1;
    char *data = mem_alloc(n, 1), name[16];
    const struct gather piece = {"f", all, 4, {false, 0}, {data, n}};
    assert_int_equal(mpi_gather_take(g, 0, &piece, &answer, &e), 0);
    expect_refused(mpi_gather_take(g, 1, &piece, &answer, &e), ERR_LIMIT, "15 MiB");
    expect_answer("0 1: lost 1");
    mpi_gather_settle(g);
    unsigned k = 0;
    for (int rc = 0; rc == 0; k++) { /* what is not complete, together */
        const struct gather more = {name, all, 4, {false, 0}, {data, n}};
        snprintf(name, sizeof name, "f%u", k);
        rc = mpi_gather_take(g, 0, &more, &answer, &e);
    }
    expect_refused(-1, ERR_LIMIT, "128 MiB");
    assert_int_equal(k, 128 / (15.0 / 2) + 1);
    free(data);
    mpi_gather_begin(g, 4);
    for (unsigned i = 0; i < MPI_GATHER_OPEN_MAX; i++) {
        snprintf(name, sizeof name, "f%u", i);
        assert_int_equal(come(2, name, all, 4, ""), 0);
    }
    expect_refused(come(2, "one more", all, 4, ""), ERR_LIMIT, "256 fences");
    assert_int_equal(come(3, "f0", all, 4, ""), 0); /* what is open goes on */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(all_come),
        TEST(operations_are_apart),
        TEST(who_leaves_is_not_awaited),
        TEST(what_was_given_stays),
        TEST(a_generation_forgets),
        TEST(strangers_are_refused),
        TEST(who_waits_hears_of_a_refusal),
        TEST(memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
