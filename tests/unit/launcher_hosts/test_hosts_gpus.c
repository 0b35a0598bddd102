/* Hosts whose GPUs look alike stand together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "launcher/core/hosts_gpus.h"

#define ROW(index, rank, use)                                                                  \
    {                                                                                          \
        {                                                                                      \
            (char *)(index), (char *)"cuda:0", (char *)(rank), (char *)"H200",                 \
                (char *)"143771", (char *)(use)                                                \
        }                                                                                      \
    }

static struct hosts_gpus_row idle[] = {ROW("0", "0", "nobody"), ROW("1", "1", "nobody")};
static struct hosts_gpus_row busy[] = {ROW("0", "0", "nobody"), ROW("1", "1", "2 processes")};

static void expect(const struct hosts_gpus *list, size_t n, const char *want)
{
    struct buf out;
    buf_init(&out, 0);
    hosts_gpus_render(list, n, &out);
    assert_string_equal(buf_str(&out), want);
    buf_fini(&out);
}

static void equal_hosts_are_merged(void **state)
{
    const struct hosts_gpus list[] = {
        {"n1", idle, 1, 0}, {"n2", idle, 2, 0}, {"n3", idle, 2, 0}, {"n4", busy, 2, 0},
        {"n5", NULL, 0, 0}, {"n6", idle, 2, 0}, {"n7", NULL, 0, 0}};
    (void)state;
    expect(list, sizeof list / sizeof list[0],
           "host        GPU  CUDA now  local rank  name  MiB     used by\n"
           "n1          0    cuda:0    0           H200  143771  nobody\n"
           "n2, n3, n6  0    cuda:0    0           H200  143771  nobody\n"
           "            1    cuda:0    1           H200  143771  nobody\n"
           "n4          0    cuda:0    0           H200  143771  nobody\n"
           "            1    cuda:0    1           H200  143771  2 processes\n"
           "n5, n7      none\n");
}

static void long_names_have_a_line(void **state)
{
    const struct hosts_gpus list[] = {
        {"a-host-with-a-rather-long-name.example.com", idle, 1, 0}, {"n1", busy, 2, 0}};
    (void)state;
    expect(list, 2,
           "host  GPU  CUDA now  local rank  name  MiB     used by\n"
           "a-host-with-a-rather-long-name.example.com\n"
           "      0    cuda:0    0           H200  143771  nobody\n"
           "n1    0    cuda:0    0           H200  143771  nobody\n"
           "      1    cuda:0    1           H200  143771  2 processes\n");
}

static void no_host_no_table(void **state)
{
    (void)state;
    expect(NULL, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_hosts_are_merged),
        cmocka_unit_test(long_names_have_a_line),
        cmocka_unit_test(no_host_no_table),
    };
    return cmocka_run_group_tests_name("hosts_gpus", tests, NULL, NULL);
}
