/* What a host has answered, as rows and remarks; what is no answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "launcher/io/hosts_gpus_json.h"

static const char answer[] =
    "{\"schema\": \"muster-gpus/1\", \"cuinit\": 0, \"refused\": \"no GPU 9\","
    " \"words\": [\"a\"], \"gpus\": ["
    " {\"index\": 0, \"cuda\": null, \"ranks\": [], \"name\": \"A\\u001b[31mB\","
    "  \"memory_total_mib\": 143771, \"processes\": 2, \"lost\": false, \"mig_enabled\": "
    "false},"
    " {\"index\": 1, \"cuda\": 0, \"ranks\": [1], \"name\": \"H\", \"memory_total_mib\": null,"
    "  \"processes\": null, \"lost\": true, \"mig_enabled\": true,"
    "  \"mig\": [{\"ranks\": [2, 3]}, {}]}, 7]}";

static void rows_of_an_answer(void **state)
{
    static const char *const want[][HOSTS_GPUS_COLUMN_COUNT] = {
        {"0", "hidden", "-", "A?[31mB", "143771", "2 processes"},
        {"1", "cuda:0", "1,2,3", "H (MIG on, 2 instances)", "-",
         "LOST: it has fallen off the bus"},
        {"?", "hidden", "-", "?", "-", "?"}, /* what is none is shown as such */
    };
    struct err e;
    struct hosts_gpus h = {0};
    struct buf remark;
    struct json_t *root = hosts_gpus_parse(answer, &e);
    (void)state;
    assert_non_null(root);
    hosts_gpus_read(root, &h);
    assert_int_equal(h.nrows, 3);
    for (size_t r = 0; r < 3; r++)
        for (int c = 0; c < HOSTS_GPUS_COLUMN_COUNT; c++)
            assert_string_equal(h.rows[r].cells[c], want[r][c]);
    hosts_gpus_fini(&h);
    buf_init(&remark, 0);
    hosts_gpus_remark(root, 0, &remark);
    assert_string_equal(buf_str(&remark), "");
    hosts_gpus_remark(root, 2, &remark);
    assert_string_equal(buf_str(&remark), "no GPU 9");
    buf_fini(&remark);
    hosts_gpus_release(root);
}

static void a_host_without_gpus_says_why(void **state)
{
    struct err e;
    struct buf remark;
    struct json_t *root = hosts_gpus_parse(
        "{\"schema\": \"muster-gpus/1\", \"gpus\": [], \"words\": [\"no driver\"]}", &e);
    (void)state;
    assert_non_null(root);
    buf_init(&remark, 0);
    hosts_gpus_remark(root, 0, &remark);
    assert_string_equal(buf_str(&remark), "no driver");
    buf_fini(&remark);
    hosts_gpus_release(root);
}

static void what_is_no_answer(void **state)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "[]",
                                      "{}",
                                      "{\"schema\": \"muster-gpus/2\", \"gpus\": []}",
                                      "{\"schema\": \"muster-gpus/1\", \"gpus\": {}}",
                                      "{\"schema\": 1, \"gpus\": []}"};
    struct err e;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_null(hosts_gpus_parse(bad[i], &e));
        assert_int_equal(e.code, ERR_PROTOCOL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_an_answer),
        cmocka_unit_test(a_host_without_gpus_says_why),
        cmocka_unit_test(what_is_no_answer),
    };
    return cmocka_run_group_tests_name("hosts_gpus_json", tests, NULL, NULL);
}
