/* callers: who gives way, and who has taken too long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "launcher/core/callers.h"

enum { N = 4 };

static void make(struct list *calls, struct call *all)
{
    list_init(calls);
    for (int i = 0; i < N; i++) {
        all[i] = (struct call){.deadline_ms = UINT64_MAX};
        list_init(&all[i].link);
        list_push(calls, &all[i].link);
    }
}

static void the_first_that_has_said_nothing_gives_way(void **state)
{
    (void)state;
    struct list calls;
    struct call all[N];
    list_init(&calls);
    assert_null(callers_idle(&calls));
    make(&calls, all);
    all[0].is_waiting = true;
    all[1].is_answered = true;
    assert_ptr_equal(callers_idle(&calls), &all[2]);
    all[2].is_waiting = all[3].is_waiting = true;
    assert_null(callers_idle(&calls));
}

static void each_has_its_own_deadline(void **state)
{
    (void)state;
    struct list calls;
    struct call all[N];
    list_init(&calls);
    assert_true(callers_deadline(&calls) == UINT64_MAX);
    assert_null(callers_late(&calls, 1000));
    make(&calls, all);
    assert_true(callers_deadline(&calls) == UINT64_MAX);
    assert_null(callers_late(&calls, UINT64_MAX - 1));
    all[1].deadline_ms = 30;
    all[2].deadline_ms = 20;
    assert_int_equal(callers_deadline(&calls), 20);
    assert_null(callers_late(&calls, 19));
    assert_ptr_equal(callers_late(&calls, 20), &all[2]);
    list_remove(&all[2].link);
    assert_null(callers_late(&calls, 29));
    assert_ptr_equal(callers_late(&calls, 31), &all[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_has_said_nothing_gives_way),
        cmocka_unit_test(each_has_its_own_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
