/* env_forward: what wins, what does not travel, and a list as long as one likes (a search
 * through the list for each of its variables would not end in this test's time).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "launcher/core/env_forward.h"

static const char *value_of(const struct env_list *list, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < list->n; i++)
        if (strncmp(list->items[i], name, n) == 0 && list->items[i][n] == '=')
            return list->items[i] + n + 1;
    return NULL;
}

static void test_order(void **state)
{
    (void)state;
    static const char *const environment[] = {"PATH=/bin", "OMP_NUM_THREADS=1", "HOSTNAME=me",
                                              "OTHER=no", NULL};
    const struct options options = {.forward = {.items = {"PATH=/usr/bin", "OTHER"}, .n = 2}};
    struct env_list list = {0};
    struct err e;
    assert_int_equal(env_forward(&options, environment,
                                 str_from("# a comment\nOMP_NUM_THREADS=2\nPATH=/x\nPAT=y\n"),
                                 "file", &list, &e),
                     0);
    assert_int_equal(list.n, 4);
    assert_string_equal(value_of(&list, "PATH"), "/usr/bin");
    assert_string_equal(value_of(&list, "OMP_NUM_THREADS"), "2");
    assert_string_equal(value_of(&list, "PAT"), "y");
    assert_string_equal(value_of(&list, "OTHER"), "no");
    assert_null(list.items[list.n]);
    env_list_fini(&list);
}

static void test_many(void **state)
{
    (void)state;
    enum { MANY = 400000, TIMES = 2 };
    struct env_list list = {0};
    char name[48];
    for (int i = 0; i < TIMES * MANY; i++) {
        snprintf(name, sizeof name, "A_VARIABLE_WITH_A_LONG_NAME_%d", i % MANY);
        env_list_set(&list, str_from(name), str_from(i < MANY ? "old" : "new"));
    }
    assert_int_equal(list.n, MANY);
    for (size_t i = 0; i < list.n; i += 1000)
        assert_non_null(strstr(list.items[i], "=new"));
    env_list_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
