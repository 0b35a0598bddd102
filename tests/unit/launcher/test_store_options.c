/* store_options: parsing, the one variable, help, messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launcher/core/command_page.h"
#include "launcher/core/store_options.h"
#include "tests/unit/words.h"

static struct store_options opt;
static struct err err;
static struct words words;

static int parse_with(const char *text, const char *const *environment)
{
    return store_options_parse(words_split(&words, text), environment, &opt, &err);
}

static int parse(const char *text)
{
    return parse_with(text, NULL);
}

static void defaults_and_all(void **state)
{
    (void)state;
    assert_int_equal(parse(""), 0);
    assert_string_equal(opt.host, "127.0.0.1");
    assert_int_equal(opt.port, 0);
    assert_int_equal(opt.ready_fd, -1);
    assert_false(opt.is_port_only || opt.is_open || opt.is_verbose || opt.is_help);
    assert_int_equal(parse("--host all --port=29400 --ready_fd 3 --print_port -v --store-open"),
                     0);
    assert_string_equal(opt.host, "all");
    assert_int_equal(opt.port, 29400);
    assert_int_equal(opt.ready_fd, 3);
    assert_true(opt.is_port_only && opt.is_open && opt.is_verbose);
    assert_int_equal(parse("--store-open=no"), 0);
    assert_false(opt.is_open);
    assert_int_equal(parse("-h"), 0);
    assert_true(opt.is_help);
}

static void the_variable(void **state)
{
    (void)state;
    static const char *const yes[] = {"MUSTER_STORE_OPEN=1",
                                      "MUSTER_STORE_PORT=tcp://10.0.0.1:1", NULL},
                             *const bad[] = {"MUSTER_STORE_OPEN=perhaps", NULL},
                             *const empty[] = {"MUSTER_STORE_OPEN=", NULL};
    assert_int_equal(parse_with("", yes), 0);
    assert_true(opt.is_open);
    assert_int_equal(opt.port, 0);
    assert_int_equal(parse_with("--store-open=no", yes), 0);
    assert_false(opt.is_open);
    assert_int_equal(parse_with("", empty), 0);
    assert_false(opt.is_open);
    assert_int_equal(parse_with("", bad), -1);
    assert_non_null(strstr(err.text, "MUSTER_STORE_OPEN"));
}

static void bad_words(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"--prt 3", "nearest is --port"},
        {"--print_prt", "--print-prt: no such option; the nearest is --print-port"},
        {"train.py", "starts no program"},
        {"-", "starts no program"},
        {"--port", "--port needs a value"},
        {"--port 65536", "'65536'"},
        {"--port=", "--port"},
        {"--host=", "--host"},
        {"--ready-fd 0", "from 1 on"},
        {"--ready-fd=-1", "from 1 on"},
        {"--print-port=1", "takes no value"},
        {"-vv", "takes no value"},
        {"-x", "-x"},
        {"--", "no such option"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (parse(rows[i][0]) != -1 || err.code != ERR_USAGE || !strstr(err.text, rows[i][1]))
            fail_msg("%s: %s", rows[i][0], err.text);
    }
}

static void help(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 0);
    command_page_help(command_page(COMMAND_store), &text);
    assert_non_null(strstr(buf_str(&text), "--ready-fd N"));
    assert_non_null(strstr(buf_str(&text), "-v, --verbose"));
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_and_all),
        cmocka_unit_test(the_variable),
        cmocka_unit_test(bad_words),
        cmocka_unit_test(help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
