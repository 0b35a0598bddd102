/* The machine's own addresses, and the choice by interface or subnet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rendezvous/netif.h"

static struct netif made_up[] = {
    {"lo", {"127.0.0.1", 0}, true},      {"lo", {"::1", 0}, true},
    {"eth0", {"fe80::7%eth0", 0}, true}, {"eth0", {"fd00::7", 0}, true},
    {"eth0", {"10.0.0.7", 0}, true},     {"ib0", {"10.1.0.7", 0}, true},
    {"down0", {"10.2.0.7", 0}, false},   {"ll0", {"fe80::9%ll0", 0}, true},
};
static const struct netif_list list = {made_up, sizeof made_up / sizeof *made_up, 0};

static void this_machine_has_loopback(void **state)
{
    struct netif_list own;
    struct addr found[4];
    struct err e;
    (void)state;
    assert_int_equal(netif_list(&own, &e), 0);
    assert_true(netif_find(&own, "127.0.0.0/8", found, 4, &e) >= 1);
    assert_true(addr_is_loopback(found[0].host));
    for (size_t i = 0; i < own.len; i++) {
        assert_true(addr_is_numeric(own.items[i].addr.host));
        assert_true(own.items[i].name[0] != '\0');
        assert_true(netif_is_mine(&own, own.items[i].addr.host));
    }
    assert_false(netif_is_mine(&own, "192.0.2.99")); /* RFC 5737: nobody's */
    netif_fini(&own);
    assert_int_equal(own.len, 0);
}

static void by_name(void **state)
{
    struct addr found[4];
    struct err e;
    (void)state;
    assert_int_equal(netif_find(&list, "eth0", found, 4, &e), 2);
    assert_string_equal(found[0].host, "10.0.0.7");
    assert_string_equal(found[1].host, "fd00::7");
    assert_int_equal(netif_find(&list, "eth0", found, 1, &e), 1);
    assert_int_equal(netif_find(&list, "ll0", found, 4, &e), 1); /* nothing better */
    assert_string_equal(found[0].host, "fe80::9%ll0");
}

static void by_subnet(void **state)
{
    struct addr found[4];
    struct err e;
    (void)state;
    assert_int_equal(netif_find(&list, "10.0.0.0/8", found, 4, &e), 2);
    assert_string_equal(found[1].host, "10.1.0.7");
    assert_int_equal(netif_find(&list, "fd00::/8", found, 4, &e), 1);
}

static void what_is_not_there(void **state)
{
    struct addr found[4];
    struct err e;
    (void)state;
    assert_int_equal(netif_find(&list, "eth7", found, 4, &e), -1);
    assert_int_equal(e.code, ERR_USAGE);
    assert_string_equal(e.text, "no interface that is up is called \"eth7\" with an address; "
                                "there are: lo eth0 ib0 down0 ll0");
    assert_int_equal(netif_find(&list, "down0", found, 4, &e), -1);
    assert_int_equal(netif_find(&list, "10.2.0.0/16", found, 4, &e), -1);
    assert_non_null(strstr(e.text, "lies in \"10.2.0.0/16\""));
}

static void mine(void **state)
{
    (void)state;
    assert_true(netif_is_mine(&list, "::ffff:10.0.0.7") && netif_is_mine(&list, "127.9.9.9"));
    assert_false(netif_is_mine(&list, "10.0.0.8") || netif_is_mine(&list, "localhost"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_machine_has_loopback),
        cmocka_unit_test(by_name),
        cmocka_unit_test(by_subnet),
        cmocka_unit_test(what_is_not_there),
        cmocka_unit_test(mine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
