/* Findings: one for all hosts that share it, differences first, and the forms they take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "launcher/core/finding.h"

static void expect(struct buf *text, const char *want)
{
    assert_string_equal(buf_str(text), want);
    buf_reset(text);
}

static void equal_ones_name_all_their_hosts(void **state)
{
    struct finding_list list = {0};
    struct buf text;
    static const char *const hosts[] = {"n2", "n3", "n4", "n7"};
    (void)state;
    for (size_t i = 0; i < 4; i++)
        finding_add_host(finding_add(&list, "shm.size", FINDING_ERROR, "NCCL stops",
                                     "--shm-size=1g", "%d MiB free", 64),
                         hosts[i]);
    finding_add_host(finding_add(&list, "shm.size", FINDING_ERROR, "NCCL stops",
                                 "--shm-size=1g", "%d MiB free", 32),
                     "n5");
    finding_list_merge(&list);
    assert_int_equal(list.n, 2);
    buf_init(&text, 0);
    finding_format(&list.items[0], &text);
    expect(&text, "E shm.size  n2-n4, n7: 64 MiB free\n"
                  "    leads to: NCCL stops\n"
                  "    fix: --shm-size=1g\n");
    finding_format(&list.items[1], &text);
    expect(&text, "E shm.size  n5: 32 MiB free\n"
                  "    leads to: NCCL stops\n"
                  "    fix: --shm-size=1g\n");
    buf_fini(&text);
    finding_list_fini(&list);
}

static void what_differs_in_level_fix_or_kind_stays_apart(void **state)
{
    struct finding_list list = {0};
    (void)state;
    finding_add(&list, "a", FINDING_ERROR, NULL, NULL, "x");
    finding_add(&list, "a", FINDING_WARNING, NULL, NULL, "x");
    finding_add(&list, "b", FINDING_ERROR, NULL, NULL, "x");
    finding_add(&list, "a", FINDING_ERROR, NULL, "y", "x");
    finding_add(&list, "a", FINDING_ERROR, "y", NULL, "x");
    finding_add(&list, "a", FINDING_ERROR, NULL, NULL, "x")->is_difference = true;
    finding_list_merge(&list);
    assert_int_equal(list.n, 6);
    finding_list_fini(&list);
}

static void differences_come_first_then_the_worst(void **state)
{
    struct finding_list list = {0};
    static const char *const want[] = {"e", "d", "b", "f", "a", "c"};
    (void)state;
    finding_add(&list, "a", FINDING_WARNING, NULL, NULL, "x");
    finding_add(&list, "b", FINDING_ERROR, NULL, NULL, "x");
    finding_add(&list, "c", FINDING_NOTE, NULL, NULL, "x");
    finding_add(&list, "d", FINDING_WARNING, NULL, NULL, "x")->is_difference = true;
    finding_add(&list, "e", FINDING_ERROR, NULL, NULL, "x")->is_difference = true;
    finding_add(&list, "f", FINDING_ERROR, NULL, NULL, "x");
    finding_list_order(&list);
    for (size_t i = 0; i < list.n; i++)
        assert_string_equal(list.items[i].rule, want[i]);
    finding_list_fini(&list);
}

static void only_an_error_asks_for_78(void **state)
{
    struct finding_list list = {0};
    (void)state;
    assert_int_equal(finding_list_status(&list), 0);
    finding_add(&list, "a", FINDING_WARNING, NULL, NULL, "x");
    finding_add(&list, "b", FINDING_UNKNOWN, NULL, NULL, "x");
    finding_add(&list, "c", FINDING_NOTE, NULL, NULL, "x");
    assert_int_equal(finding_list_status(&list), 0);
    finding_list_harden(&list);
    assert_int_equal(finding_list_status(&list), 78);
    assert_int_equal(finding_list_count(&list, FINDING_ERROR), 1);
    assert_int_equal(finding_list_count(&list, FINDING_UNKNOWN), 1);
    finding_list_fini(&list);
}

static void hosts_and_the_whole_job(void **state)
{
    struct finding_list list = {0};
    struct buf text;
    (void)state;
    struct finding *f =
        finding_add(&list, "gpu.duplicate", FINDING_ERROR, NULL, "x", "both use GPU-1");
    finding_add_host(f, "n1");
    finding_add_host(f, "n3");
    finding_add_host(f, "n3");
    finding_set_fix(f, "take %s", "LOCAL_RANK");
    buf_init(&text, 0);
    finding_format(f, &text);
    expect(&text, "E gpu.duplicate  n1, n3: both use GPU-1\n    fix: take LOCAL_RANK\n");
    finding_format(finding_add(&list, "world.one", FINDING_ERROR, NULL, NULL, "two\nlines"),
                   &text);
    expect(&text, "E world.one  two lines\n");
    finding_list_json(&list, &text);
    expect(&text, "[{\"rule\": \"gpu.duplicate\", \"level\": \"error\", \"difference\": false, "
                  "\"hosts\": [\"n1\", \"n3\"], \"seen\": \"both use GPU-1\", "
                  "\"symptom\": null, \"fix\": \"take LOCAL_RANK\"}, "
                  "{\"rule\": \"world.one\", \"level\": \"error\", \"difference\": false, "
                  "\"hosts\": [], \"seen\": \"two lines\", \"symptom\": null, "
                  "\"fix\": null}]");
    buf_fini(&text);
    finding_list_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_ones_name_all_their_hosts),
        cmocka_unit_test(what_differs_in_level_fix_or_kind_stays_apart),
        cmocka_unit_test(differences_come_first_then_the_worst),
        cmocka_unit_test(only_an_error_asks_for_78),
        cmocka_unit_test(hosts_and_the_whole_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
