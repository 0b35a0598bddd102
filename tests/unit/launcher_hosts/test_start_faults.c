/* Several hosts that could not be started: said together, equal ones once, names as ranges; and
 * the line that says who is waited for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/core/awaited.h"
#include "launcher/core/host_span.h"
#include "launcher/core/start_faults.h"

static void spans(void **state)
{
    (void)state;
    static const struct {
        const char *names[8];
        const char *want;
    } rows[] = {
        {{NULL}, ""},
        {{"n1", NULL}, "n1"},
        {{"n1", "n2", NULL}, "n1, n2"},
        {{"n1", "n2", "n3", NULL}, "n1-n3"},
        {{"n8", "n9", "n10", "n12", NULL}, "n8-n10, n12"},
        {{"n08", "n09", "n10", NULL}, "n08-n10"},
        {{"n9", "n010", NULL}, "n9, n010"},
        {{"a1-ib", "a2-ib", "a3-eth", NULL}, "a1-ib, a2-ib, a3-eth"},
        {{"n1", "n1", NULL}, "n1, n1"},
        {{"login", "n1", "n2", "n3", "x", NULL}, "login, n1-n3, x"},
        {{"10.0.0.9", "10.0.0.10", "10.0.0.11", NULL}, "10.0.0.9-10.0.0.11"},
        {{"n3", "n2", "n1", NULL}, "n3, n2, n1"},
        {{"n", "n1", NULL}, "n, n1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_span span = {0};
        struct buf text;
        buf_init(&text, 0);
        for (size_t k = 0; rows[i].names[k]; k++)
            host_span_add(&span, rows[i].names[k], &text);
        host_span_end(&span, &text);
        assert_string_equal(buf_str(&text), rows[i].want);
        buf_fini(&text);
    }
}

static void add(struct start_faults *f, uint32_t node, const char *host, enum err_code code,
                const char *why, uint64_t now_ms)
{
    struct err e;
    err_set(&e, code, "%s", why);
    start_faults_add(f, node, host, &e, now_ms);
}

static void expect_next(struct start_faults *f, uint32_t node, const char *want)
{
    struct buf text;
    uint32_t got = 99;
    enum err_code code;
    buf_init(&text, 0);
    assert_int_equal(start_faults_next(f, &got, &code, &text), want != NULL);
    if (want) {
        assert_string_equal(buf_str(&text), want);
        assert_int_equal(got, node);
    }
    buf_fini(&text);
}

static void equal_ones_once(void **state)
{
    (void)state;
    struct start_faults f = {0};
    assert_true(start_faults_due_ms(&f) == UINT64_MAX);
    add(&f, 4, "n4", ERR_UNAVAILABLE, "ssh: connect to host n4 port 22: Connection refused",
        1000);
    add(&f, 1, "n1", ERR_UNAVAILABLE, "root@n1: Permission denied (publickey).", 1700);
    add(&f, 2, "n2", ERR_UNAVAILABLE, "ssh: connect to host n2 port 22: Connection refused",
        1100);
    add(&f, 3, "n3", ERR_UNAVAILABLE, "ssh: connect to host n3 port 22: Connection refused",
        1200);
    assert_int_equal(start_faults_due_ms(&f), 1000 + START_FAULTS_MS);
    expect_next(&f, 1, "n1: root@n1: Permission denied (publickey).");
    expect_next(&f, 2, "n2-n4: ssh: connect to host HOST port 22: Connection refused");
    expect_next(&f, 0, NULL);
    start_faults_fini(&f);
    assert_true(start_faults_due_ms(&f) == UINT64_MAX);
}

/* A name is taken out as a word only: n1 is not in n10. */
static void other_reasons_stay_apart(void **state)
{
    (void)state;
    struct start_faults f = {0};
    add(&f, 0, "n1", ERR_UNAVAILABLE, "no n10 from n1", 0);
    add(&f, 1, "n2", ERR_UNAVAILABLE, "no n20 from n2", 0);
    expect_next(&f, 0, "n1: no n10 from n1");
    expect_next(&f, 1, "n2: no n20 from n2");
    start_faults_fini(&f);
}

/* The class decides the exit status. */
static void other_classes_stay_apart(void **state)
{
    (void)state;
    struct start_faults f = {0};
    struct buf text;
    uint32_t node;
    enum err_code code;
    buf_init(&text, 0);
    add(&f, 1, "n2", ERR_NOT_FOUND, "no such program: x", 0);
    add(&f, 0, "n1", ERR_USAGE, "no such program: x", 0);
    add(&f, 2, "n3", ERR_NOT_FOUND, "no such program: x", 0);
    assert_true(start_faults_next(&f, &node, &code, &text));
    assert_int_equal(code, ERR_USAGE);
    assert_string_equal(buf_str(&text), "n1: no such program: x");
    buf_reset(&text);
    assert_true(start_faults_next(&f, &node, &code, &text));
    assert_int_equal(code, ERR_NOT_FOUND);
    assert_string_equal(buf_str(&text), "n2, n3: no such program: x");
    buf_fini(&text);
    start_faults_fini(&f);
}

static void who_is_awaited(void **state)
{
    (void)state;
    struct awaited a = {0};
    struct members m;
    struct err e;
    struct buf text;
    buf_init(&text, 0);
    members_init(&m, 5);
    awaited_format(&a, &m, &text); /* nodes that come by themselves have no name before */
    assert_string_equal(buf_str(&text), "");
    awaited_set(&a, 5, 0, "n0", "not logged in yet");
    awaited_set(&a, 5, 1, "n1", "not logged in yet");
    awaited_set(&a, 5, 2, "n2", "unknown name, trying again");
    awaited_set(&a, 5, 3, "n3", "not logged in yet");
    awaited_set(&a, 5, 4, "n4", "not logged in yet");
    awaited_set(&a, 5, 5, "n5", "beyond the last");
    awaited_set(&a, 5, 1, "n1", "ssh up, no link: 10.0.0.1:41234: timed out");
    struct frame hello = {.type = FRAME_HELLO};
    hello.u.hello.host = "n0";
    hello.u.hello.slots = 1;
    hello.u.hello.node_rank = 0;
    assert_int_equal(members_join(&m, 1, &hello, 0, &e), 0);
    awaited_format(&a, &m, &text);
    assert_string_equal(buf_str(&text),
                        ": n1 (ssh up, no link: 10.0.0.1:41234: timed out), n2 (unknown name, "
                        "trying again), n3, n4 (not logged in yet)");
    buf_fini(&text);
    awaited_fini(&a);
    members_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans),
        cmocka_unit_test(equal_ones_once),
        cmocka_unit_test(other_reasons_stay_apart),
        cmocka_unit_test(other_classes_stay_apart),
        cmocka_unit_test(who_is_awaited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
