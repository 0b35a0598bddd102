/* notify_parse, notice: what workers may say, and what --preempt-signal may ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launcher/core/notice.h"
#include "launcher/core/notify_parse.h"

static struct notify_message parsed(const char *text)
{
    struct notify_message m;
    struct err e;
    assert_int_equal(notify_parse(text, strlen(text), &m, &e), 0);
    return m;
}

static void signs_of_life(void **state)
{
    (void)state;
    assert_true(parsed("HEARTBEAT=1").is_alive);
    assert_true(parsed("HEARTBEAT=1\n").is_alive);
    assert_true(parsed("READY=1").is_alive);
    struct notify_message m = parsed("STEP=1234\nSTATUS=epoch 3, loss 0.5");
    assert_true(m.is_alive && m.step.is_known);
    assert_int_equal(m.step.value, 1234);
    assert_string_equal(m.status, "epoch 3, loss 0.5");
    assert_false(parsed("STATUS=compiling").is_alive);
    assert_false(parsed("").is_alive);
    assert_false(parsed("\n\n").is_alive);
}

static void sections(void **state)
{
    (void)state;
    struct notify_message m = parsed("SECTION=+save");
    assert_true(m.is_alive);
    assert_string_equal(m.section, "+save");
    assert_int_equal(m.section_ms, 0);
    m = parsed("SECTION=+save:10m");
    assert_string_equal(m.section, "+save");
    assert_int_equal(m.section_ms, 600000);
    assert_string_equal(parsed("SECTION=-save").section, "-save");
}

static void who_it_is_from(void **state)
{
    (void)state;
    struct notify_message m = parsed("HEARTBEAT=1\nRANK=3");
    assert_true(m.rank.is_known);
    assert_int_equal(m.rank.value, 3);
    assert_false(parsed("HEARTBEAT=1").rank.is_known);
}

/* sd_notify's own keys and those of a later version. */
static void unknown_keys_are_skipped(void **state)
{
    (void)state;
    struct notify_message m = parsed("MAINPID=7\nWATCHDOG=1\nX_MINE=1\nSTEP=2");
    assert_int_equal(m.step.value, 2);
}

static void wrong_values_are_told(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "HEARTBEAT",
        "HEARTBEAT=yes",
        "HEARTBEAT=",
        "READY=0",
        "STEP=",
        "STEP=-1",
        "STEP=1.5",
        "STEP=x",
        "RANK=all",
        "SECTION=save",
        "SECTION=+",
        "SECTION=",
        "SECTION=+save:",
        "SECTION=+:1s",
        "SECTION=-save:1s",
        "SECTION=+a:0",
        "SECTION=+a:1y",
        "STEP=99999999999999999999",
        "STATUS=ok\nSTEP=17\nHEARTBEAT=2",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct notify_message m;
        struct err e;
        assert_int_equal(notify_parse(texts[i], strlen(texts[i]), &m, &e), -1);
        assert_int_equal(e.code, ERR_USAGE);
        assert_non_null(strstr(e.text, "is not understood; as in HEARTBEAT=1"));
        assert_false(m.is_alive || m.step.is_known || m.status[0]);
    }
}

static void texts_are_cut_and_cleaned(void **state)
{
    (void)state;
    char text[4000] = "STATUS=\033[2J";
    memset(text + strlen(text), 'x', 3000);
    struct notify_message m = parsed(text);
    assert_int_equal(strlen(m.status), NOTIFY_STATUS_MAX - 1);
    assert_memory_equal(m.status, "?[2Jxxx", 7);
    struct err e;
    static const char with_nul[] = "STATUS=a\0b";
    assert_int_equal(notify_parse(with_nul, sizeof with_nul - 1, &m, &e), 0);
    assert_string_equal(m.status, "a?b");
}

static void expect_notice(const char *text, int signo, uint64_t ms)
{
    struct notice notice;
    assert_int_equal(notice_parse(text, &notice), 0);
    assert_int_equal(notice.signo, signo);
    assert_int_equal(notice.ms, ms);
}

static void notices(void **state)
{
    (void)state;
    expect_notice(NULL, 0, 0);
    expect_notice("USR1", 10, 10000);
    expect_notice("SIGUSR1:30s", 10, 30000);
    expect_notice("12:500ms", 12, 500);
    expect_notice("TERM:1m", 15, 60000);
    static const char *const wrong[] = {"",       "USR3", "usr1",  "KILL",  "SIGSTOP",
                                        "9",      "0",    "64",    "USR1:", "USR1:0",
                                        "USR1:x", ":5s",  "SIG:5s"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct notice notice;
        assert_int_equal(notice_parse(wrong[i], &notice), -1);
        assert_int_equal(notice.ms, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_of_life),
        cmocka_unit_test(sections),
        cmocka_unit_test(who_it_is_from),
        cmocka_unit_test(unknown_keys_are_skipped),
        cmocka_unit_test(wrong_values_are_told),
        cmocka_unit_test(texts_are_cut_and_cleaned),
        cmocka_unit_test(notices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
