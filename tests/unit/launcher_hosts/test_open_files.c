/* How many open files a job over several nodes needs, and what is said of a limit below that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "launcher/core/open_files.h"

static void links_ranks_and_commands_count(void **state)
{
    (void)state;
    const struct open_files none = {0}, nodes = {.nnodes = 7}, ranks = {.nranks = 56},
                            commands = {.ncommands = 3},
                            large = {65536, (uint64_t)65536 * 4096, 65536};
    assert_int_equal(open_files_need(&none), OPEN_FILES_OWN);
    assert_int_equal(open_files_need(&nodes), OPEN_FILES_OWN + 7);
    assert_int_equal(open_files_need(&ranks), OPEN_FILES_OWN + 56);
    assert_int_equal(open_files_need(&commands), OPEN_FILES_OWN + 12);
    assert_int_equal(open_files_need(&large), OPEN_FILES_OWN + 268435456ull + 5 * 65536);
}

static void a_limit_below_is_refused_with_both_numbers(void **state)
{
    const struct open_files f = {.nnodes = 1000, .nranks = 1000, .ncommands = 1000};
    uint64_t need = open_files_need(&f);
    struct err e;
    (void)state;
    assert_int_equal(open_files_check(&f, UINT64_MAX, &e), 0);
    assert_int_equal(open_files_check(&f, need, &e), 0);
    assert_int_equal(open_files_check(&f, need - 1, &e), -1);
    assert_int_equal(e.code, ERR_USAGE);
    assert_int_equal(open_files_check(&f, 3000, &e), -1);
    assert_string_equal(
        e.text, "1000 nodes with 1000 ranks and 1000 commands that start them need 6048 "
                "open files here, and the hard limit is 3000 (ulimit -Hn); raise it, or "
                "use fewer nodes");
}

static void so_is_a_node(void **state)
{
    struct err e;
    (void)state;
    assert_int_equal(open_files_check_node(4096, 0, &e), 0);
    assert_int_equal(open_files_check_node(4096, UINT64_MAX, &e), 0);
    assert_int_equal(open_files_check_node(80, 256, &e), 0);
    assert_int_equal(open_files_check_node(81, 256, &e), -1);
    assert_int_equal(e.code, ERR_USAGE);
    assert_string_equal(e.text, "81 ranks on one node need 259 open files there, and the hard "
                                "limit is 256 (ulimit -Hn); raise it, or start fewer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_ranks_and_commands_count),
        cmocka_unit_test(so_is_a_node),
        cmocka_unit_test(a_limit_below_is_refused_with_both_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
