/* restart: which failures are tried again, and after how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "launcher/core/restart.h"

static const struct worker_end one = {.kind = END_EXIT, .code = 1};

static struct options options(void)
{
    return (struct options){.max_restarts = 100,
                            .restart_delay_ms = RESTART_DELAY_MS,
                            .restart_delay_max_ms = RESTART_DELAY_MAX_MS};
}

static uint64_t wait_after(struct restart *r, const struct options *opt, uint64_t lived_ms)
{
    uint64_t delay_ms;
    assert_int_equal(restart_decide(r, opt, 0, &one, lived_ms, &delay_ms), RESTART_YES);
    return delay_ms;
}

static void waits_by_default(void **state)
{
    (void)state;
    struct options opt = options();
    struct restart r = {0};
    static const uint64_t waits[] = {0, 1000, 2000, 4000, 8000, 16000, 30000, 30000};
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
        assert_int_equal(wait_after(&r, &opt, 10), waits[i]);
    assert_int_equal(wait_after(&r, &opt, RESTART_DELAY_MAX_MS), 0);
    assert_int_equal(wait_after(&r, &opt, 10), 1000);
}

static void waits_as_asked(void **state)
{
    (void)state;
    struct options opt = options();
    struct restart r = {0};
    opt.origin[OPTION_RESTART_DELAY] = ORIGIN_COMMAND_LINE;
    opt.restart_delay_ms = 500;
    opt.restart_delay_max_ms = 1500;
    static const uint64_t waits[] = {500, 1000, 1500, 1500};
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
        assert_int_equal(wait_after(&r, &opt, 10), waits[i]);
    opt.restart_delay_ms = 0;
    for (int i = 0; i < 5; i++)
        assert_int_equal(wait_after(&r, &opt, 10), 0);
    opt.restart_delay_ms = 9000; /* the limit holds for the first as well */
    assert_int_equal(wait_after(&r, &opt, 10), 1500);
    opt.restart_delay_max_ms = UINT64_MAX;
    r.nsoon = 4000000;
    assert_int_equal(wait_after(&r, &opt, 10), UINT64_MAX);
}

static void crashes_at_start(void **state)
{
    (void)state;
    struct options opt = options();
    struct restart r = {0};
    uint64_t delay_ms;
    opt.min_uptime_ms = 1000;
    wait_after(&r, &opt, 999);
    wait_after(&r, &opt, 0);
    wait_after(&r, &opt, 1000); /* breaks the row */
    wait_after(&r, &opt, 0);
    wait_after(&r, &opt, 0);
    assert_int_equal(restart_decide(&r, &opt, 5, &one, 0, &delay_ms), RESTART_CRASHES);
    assert_int_equal(delay_ms, 0);
}

static void ends_for_good(void **state)
{
    (void)state;
    static const struct {
        struct worker_end end;
        enum restart_answer answer;
    } rows[] = {
        {{END_EXIT, 1, false}, RESTART_YES},   {{END_EXIT, 2, false}, RESTART_CODE},
        {{END_EXIT, 64, false}, RESTART_CODE}, {{END_EXIT, 78, false}, RESTART_CODE},
        {{END_EXIT, 79, false}, RESTART_YES},  {{END_EXIT, 93, false}, RESTART_CODE},
        {{END_EXEC, 2, false}, RESTART_CODE},  {{END_SIGNAL, 2, false}, RESTART_YES},
    };
    struct options opt = options();
    opt.no_restart_codes = "2,64-78";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct restart r = {0};
        uint64_t delay_ms;
        assert_int_equal(restart_decide(&r, &opt, 99, &rows[i].end, 5, &delay_ms),
                         rows[i].answer);
        assert_int_equal(restart_decide(&r, &opt, 100, &rows[i].end, 5, &delay_ms),
                         RESTART_SPENT);
    }
}

static void lists_of_codes(void **state)
{
    (void)state;
    assert_true(restart_codes_are_valid("1"));
    assert_true(restart_codes_are_valid("2,64-78,255"));
    static const char *const wrong[] = {"", "0", "0-3", "256", "1-300", "a", "3-2"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(restart_codes_are_valid(wrong[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_by_default), cmocka_unit_test(waits_as_asked),
        cmocka_unit_test(crashes_at_start), cmocka_unit_test(ends_for_good),
        cmocka_unit_test(lists_of_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
