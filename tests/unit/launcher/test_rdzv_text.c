/* rdzv_text: endpoints and the configuration of the rendezvous. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launcher/core/rdzv_text.h"

static struct err err;

static void endpoints(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host;
        int port;
    } rows[] = {
        {"host", "host", -1},        {"host:0", "host", 0},
        {" host:99 ", "host", 99},   {"10.0.0.1:65535", "10.0.0.1", 65535},
        {"[::1]:90", "::1", 90},     {"[::1]", "::1", -1},
        {"::1", "::1", -1},          {"fe80::1:2", "fe80::1:2", -1},
        {"a_b-c.d:1", "a_b-c.d", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rdzv_endpoint end;
        assert_int_equal(rdzv_endpoint_parse("--x", rows[i].text, &end, &err), 0);
        assert_true(str_eq(end.host, rows[i].host));
        assert_int_equal(end.port, rows[i].port);
    }
}

static void bad_endpoints(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "--x: the value is empty"},
        {"  ", "--x: the value is empty"},
        {"host:", "'' in 'host:' is not a port"},
        {"host:99999", "'99999' in 'host:99999' is not a port"},
        {"host:-1", "'-1' in"},
        {"host:x", "'x' in"},
        {":80", "is not HOST[:PORT]"},
        {"[]:80", "is not HOST[:PORT]"},
        {"[::1]80", "is not a port"},
        {"[::1", "is not HOST[:PORT]"},
        {"a b", "is not HOST[:PORT]"},
        {"http://h:1", "is not HOST[:PORT]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rdzv_endpoint end;
        assert_int_equal(rdzv_endpoint_parse("--x", rows[i].text, &end, &err), -1);
        assert_int_equal(err.code, ERR_USAGE);
        if (!strstr(err.text, rows[i].words))
            fail_msg("'%s': '%s' lacks '%s'", rows[i].text, err.text, rows[i].words);
    }
}

static void configurations(void **state)
{
    (void)state;
    struct options opt;
    options_init(&opt);
    assert_int_equal(rdzv_conf_parse("--x", "", false, &opt, &err), 0);
    assert_int_equal(rdzv_conf_parse("--x", " ", false, &opt, &err), 0);
    assert_int_equal(opt.join_timeout_ms, 600000);
    assert_int_equal(rdzv_conf_parse("--x",
                                     " join_timeout = 7 , rank=0,store_type=tcp,is_host=no,"
                                     "cas_backoff_max_seconds=0.5,close_timeout=1",
                                     false, &opt, &err),
                     0);
    assert_int_equal(opt.join_timeout_ms, 7000);
    assert_int_equal(opt.is_host, IS_HOST_NO);
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"join_timeout", "'join_timeout' is not KEY=VALUE"},
        {"join_timeout=", "seconds from 1"},
        {"join_timeout=x", "join_timeout=x: it should be seconds"},
        {"join_timeout=0", "seconds from 1"},
        {"keep_alive_max_attempt=0", "a number from 1"},
        {"is_host=maybe", "1 or 0"},
        {"store_type=file", "tcp"},
        {"rank=x", "a number"},
        {"=3", "'' is not KEY=VALUE"},
        {"a=1", "there is no key 'a'"},
        {"last_call_timeot=1", "the nearest is last_call_timeout"},
        {"join_timeout=1,", "'' is not KEY=VALUE"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(rdzv_conf_parse("--x", rows[i].text, false, &opt, &err), -1);
        if (!strstr(err.text, rows[i].words))
            fail_msg("'%s': '%s' lacks '%s'", rows[i].text, err.text, rows[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endpoints),
        cmocka_unit_test(bad_endpoints),
        cmocka_unit_test(configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
