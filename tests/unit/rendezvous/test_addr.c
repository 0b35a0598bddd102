/* Addresses as text, and the order of candidates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rendezvous/addr.h"

enum { DEFAULT = 29400 };

static void parse_takes(void **state)
{
    static const struct {
        const char *text, *host;
        unsigned port;
        const char *again; /* formatted */
    } rows[] = {
        {"[::1]:90", "::1", 90, "[::1]:90"},
        {"host", "host", DEFAULT, "host:29400"},
        {"  host:1 \t\r\n", "host", 1, "host:1"},
        {"localhost:0", "localhost", 0, "localhost:0"},
        {"10.0.0.7:65535", "10.0.0.7", 65535, "10.0.0.7:65535"},
        {"::1", "::1", DEFAULT, "[::1]:29400"},
        {"[fd00::7]", "fd00::7", DEFAULT, "[fd00::7]:29400"},
        {"[fe80::1%eth0]:5", "fe80::1%eth0", 5, "[fe80::1%eth0]:5"},
        {"fe80::1%eth0", "fe80::1%eth0", DEFAULT, "[fe80::1%eth0]:29400"},
        {"n1.example.com.:7", "n1.example.com.", 7, "n1.example.com.:7"},
        {"job_1-worker-0.job.ns.svc:7", "job_1-worker-0.job.ns.svc", 7,
         "job_1-worker-0.job.ns.svc:7"},
        {"1::2:90", "1::2:90", DEFAULT, "[1::2:90]:29400"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct addr a;
        struct err e = {ERR_OK, 0, ""};
        struct buf text;
        buf_init(&text, 0);
        if (addr_parse(str_from(rows[i].text), DEFAULT, &a, &e) < 0)
            fail_msg("%s: %s", rows[i].text, e.text);
        addr_format(&a, &text);
        assert_string_equal(a.host, rows[i].host);
        assert_int_equal(a.port, rows[i].port);
        assert_string_equal(buf_str(&text), rows[i].again);
        buf_fini(&text);
    }
}

static void parse_refuses(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "empty"},
        {"  ", "empty"},
        {"host:99999", "\"99999\" is no port; a number up to 65535"},
        {"host:", "\"\" is no port"},
        {"host:-1", "is no port"},
        {"host:+1", "is no port"},
        {"host: 1", "is no port"},
        {"host:1x", "is no port"},
        {":90", "names no host"},
        {"[::1", "no ] after"},
        {"[::1]x", "after ] comes :PORT"},
        {"[host]:1", "in brackets stands an IPv6 address"},
        {"[1.2.3.4]:1", "in brackets stands an IPv6 address"},
        {"[]:1", "in brackets stands an IPv6 address"},
        {"a:b:1", "several colons"},
        {"::1%:", "several colons"},
        {"12", "is no IPv4 address"},
        {"1.2.3", "is no IPv4 address"},
        {"256.1.1.1:5", "is no IPv4 address"},
        {"-host", "is no host"},
        {"ho st", "is no host"},
        {"a..b", "is no host"},
        {".", "is no host"},
        {"h\xc3\xb6st", "is no host"},
        {"fe80::1%e\x1b", "several colons"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "is no host"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct addr a;
        struct err e = {ERR_OK, 0, ""};
        if (addr_parse(str_from(rows[i].text), DEFAULT, &a, &e) == 0)
            fail_msg("%s was taken as %s:%u", rows[i].text, a.host, a.port);
        assert_int_equal(e.code, ERR_USAGE);
        if (!strstr(e.text, rows[i].says))
            fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].text, e.text, rows[i].says);
    }
    struct addr a;
    struct err e;
    assert_int_equal(addr_parse(STR_LIT("ho\0st"), DEFAULT, &a, &e), -1);
    char longest[400];
    memset(longest, 'a', sizeof longest);
    for (size_t i = 50; i < sizeof longest; i += 50)
        longest[i] = '.';
    assert_int_equal(addr_parse((struct str){longest, sizeof longest}, 1, &a, &e), -1);
    assert_non_null(strstr(e.text, "400 bytes"));
    assert_int_equal(addr_parse((struct str){longest, 253}, 1, &a, &e), 0);
}

static void a_port_can_be_required(void **state)
{
    struct addr a;
    struct err e;
    (void)state;
    assert_int_equal(addr_parse(STR_LIT("host"), -1, &a, &e), -1);
    assert_non_null(strstr(e.text, "has no port"));
    assert_int_equal(addr_parse(STR_LIT("::1"), -1, &a, &e), -1);
    assert_int_equal(addr_parse(STR_LIT("host:5"), -1, &a, &e), 0);
    assert_int_equal(a.port, 5);
}

static void questions(void **state)
{
    (void)state;
    assert_true(addr_is_numeric("10.0.0.1") && addr_is_numeric("fe80::1%eth0"));
    assert_false(addr_is_numeric("host") || addr_is_numeric("")
                 || addr_is_numeric("10.0.0.1%e"));
    assert_true(addr_is_loopback("127.0.1.1") && addr_is_loopback("::1"));
    assert_true(addr_is_loopback("::ffff:127.0.0.1") && addr_is_loopback("LocalHost"));
    assert_false(addr_is_loopback("128.0.0.1") || addr_is_loopback("::2"));
    assert_false(addr_is_loopback("localhost.example.com"));
    assert_true(addr_is_link_local("fe80::1") && addr_is_link_local("febf::1"));
    assert_true(addr_is_link_local("169.254.3.4"));
    assert_false(addr_is_link_local("fec0::1") || addr_is_link_local("169.253.0.1"));
    assert_true(addr_is_same_host("10.0.0.1", "::ffff:10.0.0.1"));
    assert_true(addr_is_same_host("fd00::1", "fd00:0::01") && addr_is_same_host("N1", "n1"));
    assert_false(addr_is_same_host("n1", "n1.example.com"));
    assert_false(addr_is_same_host("fe80::1%eth0", "fe80::1%eth1"));
    assert_false(addr_is_same_host("localhost", "127.0.0.1"));
    struct addr a = {"::1", 1}, b = {"0::1", 1};
    assert_true(addr_is_same(&a, &b));
    b.port = 2;
    assert_false(addr_is_same(&a, &b));
}

static void subnets(void **state)
{
    (void)state;
    assert_true(addr_is_subnet(STR_LIT("10.0.0.0/8")) && addr_is_subnet(STR_LIT("::/0")));
    assert_false(addr_is_subnet(STR_LIT("10.0.0.0")) || addr_is_subnet(STR_LIT("eth0")));
    assert_false(addr_is_subnet(STR_LIT("10.0.0.0/33")) || addr_is_subnet(STR_LIT("x/8")));
    assert_false(addr_is_subnet(STR_LIT("::/129")) || addr_is_subnet(STR_LIT("1.2.3.4/")));
    assert_true(addr_in_subnet("10.1.2.3", STR_LIT("10.0.0.0/8")));
    assert_true(addr_in_subnet("10.1.2.3", STR_LIT("10.1.2.2/31")));
    assert_false(addr_in_subnet("10.1.2.3", STR_LIT("10.1.2.4/30")));
    assert_true(addr_in_subnet("10.1.2.3", STR_LIT("10.1.2.3/32")));
    assert_false(addr_in_subnet("10.1.2.2", STR_LIT("10.1.2.3/32")));
    assert_true(addr_in_subnet("1.2.3.4", STR_LIT("0.0.0.0/0")));
    assert_false(addr_in_subnet("::1", STR_LIT("0.0.0.0/0")));
    assert_false(addr_in_subnet("1.2.3.4", STR_LIT("::/0")));
    assert_true(addr_in_subnet("fd12::1", STR_LIT("fd00::/9")));
    assert_false(addr_in_subnet("fd80::1", STR_LIT("fd00::/9")));
    assert_false(addr_in_subnet("host", STR_LIT("0.0.0.0/0")));
}

static void expect_order(const struct addr_sources *from, const char *const *want, size_t n)
{
    struct addr got[ADDR_CANDIDATES_MAX];
    assert_int_equal(addr_candidates(from, 7, got), n);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(got[i].host, want[i]);
        assert_int_equal(got[i].port, 7);
    }
}

static void candidates_in_order(void **state)
{
    const struct addr ssh[] = {{"192.0.2.1", 0}, {"127.0.0.1", 0}},
                      route[] = {{"10.0.0.1", 0}, {"::ffff:192.0.2.1", 0}},
                      own[] = {{"127.0.0.1", 0}, {"10.0.0.1", 0},    {"172.17.0.1", 0},
                               {"::1", 0},       {"fd00::1", 0},     {"fe80::1%eth0", 0},
                               {"0.0.0.0", 0},   {"169.254.1.1", 0}, {"::", 0}},
                      shared[] = {{"172.17.0.1", 0}, {"127.0.0.1", 0}},
                      chosen[] = {
                          {"198.51.100.1", 0}, {"fe80::1%eth0", 0}, {"198.51.100.1", 9}};
    struct addr_sources from = {.ssh = {ssh, 2}, .route = {route, 2}, .own = {own, 9}};
    (void)state;
    expect_order(&from,
                 (const char *const[]){"192.0.2.1", "10.0.0.1", "172.17.0.1", "fd00::1",
                                       "127.0.0.1", "::1"},
                 6);
    from.shared = (struct addr_list){shared, 2};
    expect_order(&from,
                 (const char *const[]){"192.0.2.1", "10.0.0.1", "fd00::1", "127.0.0.1", "::1"},
                 5);
    from.chosen = (struct addr_list){chosen, 3};
    expect_order(&from, (const char *const[]){"198.51.100.1", "fe80::1%eth0"}, 2);
}

static void candidates_are_bounded(void **state)
{
    struct addr many[ADDR_CANDIDATES_MAX + 5], got[ADDR_CANDIDATES_MAX];
    struct addr_sources from = {.own = {many, ADDR_CANDIDATES_MAX + 5}};
    (void)state;
    for (size_t i = 0; i < from.own.len; i++) {
        memset(&many[i], 0, sizeof many[i]);
        snprintf(many[i].host, sizeof many[i].host, "10.0.0.%zu", i + 1);
    }
    assert_int_equal(addr_candidates(&from, 1, got), ADDR_CANDIDATES_MAX);
    from.own.len = 0;
    assert_int_equal(addr_candidates(&from, 1, got), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse_takes),
        cmocka_unit_test(parse_refuses),
        cmocka_unit_test(a_port_can_be_required),
        cmocka_unit_test(questions),
        cmocka_unit_test(subnets),
        cmocka_unit_test(candidates_in_order),
        cmocka_unit_test(candidates_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
