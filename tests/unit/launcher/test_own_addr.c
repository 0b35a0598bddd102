/* What addr= and iface= mean on a machine with these interfaces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "launcher/io/own_addr.h"

static struct netif made_up[] = {
    {"lo", {"127.0.0.1", 0}, true}, {"eth0", {"10.0.0.7", 0}, true},
    {"ib0", {"10.1.0.7", 0}, true}, {"ib0", {"fe80::7%ib0", 0}, true},
    {"ib0", {"fd00::7", 0}, true},  {"eth1", {"10.2.0.7", 0}, false},
};
static const struct netif_list netifs = {made_up, sizeof made_up / sizeof *made_up, 0};

static void expect(const char *addr, const char *iface, const char *want)
{
    const struct own_addr wish = {addr, iface, "hosts:3"};
    struct addr found[ADDR_CANDIDATES_MAX];
    struct err e = {0};
    char got[256] = "";
    int n = own_addr_find(&wish, &netifs, found, ADDR_CANDIDATES_MAX, &e);
    if (n < 0)
        fail_msg("%s", e.text);
    for (int i = 0; i < n; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? " " : "",
                 found[i].host);
    assert_string_equal(got, want);
}

/* One address or two, as this machine's /etc/hosts has it. */
static void expect_localhost(void)
{
    const struct own_addr wish = {"localhost", NULL, "hosts:3"};
    struct addr found[ADDR_CANDIDATES_MAX];
    struct err e = {0};
    int n = own_addr_find(&wish, &netifs, found, ADDR_CANDIDATES_MAX, &e);
    assert_true(n > 0);
    for (int i = 0; i < n; i++)
        assert_true(addr_is_loopback(found[i].host));
}

static void what_there_is(void **state)
{
    (void)state;
    expect(NULL, NULL, "");
    expect("", "", "");
    expect("10.1.0.7", NULL, "10.1.0.7");
    expect("::ffff:10.1.0.7", NULL, "::ffff:10.1.0.7");
    expect("fd00::7", NULL, "fd00::7");
    expect("127.0.0.1", NULL, "127.0.0.1");
    expect_localhost();
    expect(NULL, "eth0", "10.0.0.7");
    expect(NULL, "ib0", "10.1.0.7 fd00::7");
    expect("fd00::7", "ib0", "fd00::7");
}

static void one_is_enough(void **state)
{
    (void)state;
    const struct own_addr wish = {.iface = "ib0", .line = "hosts:3"};
    struct addr found;
    struct err e = {0};
    assert_int_equal(own_addr_find(&wish, &netifs, &found, 1, &e), 1);
    assert_string_equal(found.host, "10.1.0.7");
}

static void refused(const char *addr, const char *iface, const char *says)
{
    const struct own_addr wish = {addr, iface, "hosts:3"};
    struct addr found[ADDR_CANDIDATES_MAX];
    struct err e = {0};
    assert_int_equal(own_addr_find(&wish, &netifs, found, ADDR_CANDIDATES_MAX, &e), -1);
    assert_int_equal(e.code, ERR_USAGE);
    if (strcmp(e.text, says) != 0)
        fail_msg("\"%s\" is not \"%s\"", e.text, says);
}

static void what_there_is_not(void **state)
{
    static const char there[] =
        "addresses here: 10.0.0.7 (eth0), 10.1.0.7 (ib0), fd00::7 (ib0)";
    char want[256];
    (void)state;
    snprintf(want, sizeof want, "hosts:3: addr=10.9.0.7 is no address of this host; %s", there);
    refused("10.9.0.7", NULL, want);
    snprintf(want, sizeof want, "hosts:3: addr=10.0.0.7 is not on ib0; %s", there);
    refused("10.0.0.7", "ib0", want);
    snprintf(want, sizeof want,
             "hosts:3: addr=no.such.name.invalid is not known on this host; %s", there);
    refused("no.such.name.invalid", NULL, want);
    refused(NULL, "eth9",
            "hosts:3: iface=eth9: no interface that is up is called \"eth9\" with an address; "
            "there are: lo eth0 ib0 eth1");
    refused(NULL, "eth1", /* down */
            "hosts:3: iface=eth1: no interface that is up is called \"eth1\" with an address; "
            "there are: lo eth0 ib0 eth1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_there_is),
        cmocka_unit_test(one_is_enough),
        cmocka_unit_test(what_there_is_not),
    };
    return cmocka_run_group_tests_name("own_addr", tests, NULL, NULL);
}
