/* turns: when an unfinished line is shown, and where a newline comes first. Virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "launcher/core/turns.h"

enum { START = 5000, PROMPT = 6 };

static void wait_for_end(struct turns *t, struct turn *turn, uint64_t now_ms)
{
    turns_wait(t, turn, true, true, PROMPT, now_ms);
}

/* As a driver does it: nothing came between the two calls. */
static struct turn *due(struct turns *t, uint64_t now_ms)
{
    struct turn *turn = turns_due(t, now_ms);
    return turn ? turn : turns_due(t, now_ms);
}

static void shown_after_a_quiet_time(void **state)
{
    (void)state;
    struct turns t;
    struct turn a;
    turns_init(&t, TURNS_CUT_STREAMS, true);
    turn_init(&a, 0);
    assert_true(turns_deadline(&t) == UINT64_MAX);
    wait_for_end(&t, &a, START);
    assert_int_equal(turns_deadline(&t), START + TURNS_QUIET_MS);
    assert_null(due(&t, START + TURNS_QUIET_MS - 1));
    assert_null(turns_due(&t, START + TURNS_QUIET_MS)); /* first a look at the pipe */
    assert_ptr_equal(turns_due(&t, START + TURNS_QUIET_MS), &a);
    turns_wait(&t, &a, false, false, 0, START + TURNS_QUIET_MS);
    assert_true(turns_deadline(&t) == UINT64_MAX);
}

static void what_comes_in_time_is_not_shown_early(void **state)
{
    (void)state;
    struct turns t;
    struct turn a;
    turns_init(&t, TURNS_CUT_STREAMS, true);
    turn_init(&a, 0);
    wait_for_end(&t, &a, START);
    assert_null(turns_due(&t, START + 5000));
    turns_wait(&t, &a, true, false, PROMPT, START + 5000); /* more of it was in the pipe */
    assert_null(turns_due(&t, START + 5000));
    turns_wait(&t, &a, true, true, PROMPT, START + 5000); /* it ended, another one began */
    assert_int_equal(turns_deadline(&t), START + 5000 + TURNS_QUIET_MS);
    turns_wait(&t, &a, false, true, PROMPT, START + 5001);
    assert_true(turns_deadline(&t) == UINT64_MAX);
}

static void a_full_buffer_of_stdio_waits_for_the_next(void **state)
{
    (void)state;
    struct turns t;
    struct turn a;
    turns_init(&t, TURNS_CUT_STREAMS, true);
    turn_init(&a, 0);
    turns_wait(&t, &a, true, true, 8192, START);
    assert_true(turns_deadline(&t) == UINT64_MAX);
    turns_wait(&t, &a, true, false, PROMPT, START + 1);
    assert_int_equal(turns_deadline(&t), START + TURNS_QUIET_MS);
}

/* One worker alone: bytes pass as they are. Several without a cut: only whole lines. */
static void without_a_cut_only_one_worker_is_shown_early(void **state)
{
    (void)state;
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        struct turns t;
        struct turn a;
        turns_init(&t, TURNS_CUT_NEVER, is_shared);
        turn_init(&a, 0);
        wait_for_end(&t, &a, START);
        assert_true((turns_deadline(&t) == UINT64_MAX) == is_shared);
        assert_true((due(&t, START + 5000) == NULL) == is_shared);
    }
}

static void a_line_in_between_ends_the_shown_part(void **state)
{
    (void)state;
    static const struct {
        enum turns_cut cut;
        uint32_t other;
        bool is_cut;
    } rows[] = {
        {TURNS_CUT_NEVER, 0, false}, {TURNS_CUT_NEVER, 1, false},  {TURNS_CUT_RANKS, 0, false},
        {TURNS_CUT_RANKS, 1, true},  {TURNS_CUT_STREAMS, 0, true}, {TURNS_CUT_STREAMS, 1, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct turns t;
        struct turn a, b;
        turns_init(&t, rows[i].cut, false);
        turn_init(&a, 0);
        turn_init(&b, rows[i].other);
        assert_false(turns_take(&t, &a, false, START));
        assert_true(turns_goes_on(&t, &a));
        assert_false(turns_take(&t, &a, false, START)); /* its own rest */
        assert_int_equal(turns_take(&t, &b, true, START), rows[i].is_cut);
        assert_false(turns_goes_on(&t, &a));
        assert_false(turns_take(&t, &a, true, START)); /* nothing is open */
    }
}

static void an_open_line_holds_others_back_for_a_while(void **state)
{
    (void)state;
    struct turns t;
    struct turn a, b, err_of_a;
    turns_init(&t, TURNS_CUT_STREAMS, true);
    turn_init(&a, 0);
    turn_init(&b, 1);
    turn_init(&err_of_a, 0);
    turns_take(&t, &a, false, START);
    wait_for_end(&t, &b, START);
    assert_int_equal(turns_deadline(&t), START + TURNS_YIELD_MS);
    wait_for_end(&t, &a, START + 1); /* more of the open line */
    assert_int_equal(turns_deadline(&t), START + 1 + TURNS_QUIET_MS);
    turns_wait(&t, &a, false, false, 0, START + 1);
    wait_for_end(&t, &err_of_a, START + 2); /* the same program's */
    assert_int_equal(turns_deadline(&t), START + 2 + TURNS_QUIET_MS);
    turns_leave(&t, &err_of_a);
    turns_leave(&t, &a); /* an ended stream holds nobody back, but its line is cut */
    assert_int_equal(turns_deadline(&t), START + TURNS_QUIET_MS);
    assert_true(turns_take(&t, &b, false, START + 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shown_after_a_quiet_time),
        cmocka_unit_test(what_comes_in_time_is_not_shown_early),
        cmocka_unit_test(a_full_buffer_of_stdio_waits_for_the_next),
        cmocka_unit_test(without_a_cut_only_one_worker_is_shown_early),
        cmocka_unit_test(a_line_in_between_ends_the_shown_part),
        cmocka_unit_test(an_open_line_holds_others_back_for_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
