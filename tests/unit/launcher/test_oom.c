/* oom: the kernel's counters below a made-up root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/io/folder.h"
#include "launcher/io/oom.h"

static char root[] = "/tmp/muster-test-XXXXXX";

static void shell(const char *format)
{
    char *command = mem_printf("cd %s && { %s; }", root, format);
    assert_int_equal(system(command), 0);
    free(command);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(root);
    return access(root, F_OK) == 0;
}

static void a_limit_of_a_parent(void **state)
{
    (void)state;
    struct oom_count before, after;
    shell("mkdir -p proc/self sys/fs/cgroup/a/b && printf '4:memory:/old\\n0::/a/b\\n' "
          ">proc/self/cgroup && printf 'low 0\\noom 9\\noom_kill 3\\n' "
          ">sys/fs/cgroup/a/b/memory.events && echo max >sys/fs/cgroup/a/b/memory.max && "
          "echo 2147483648 >sys/fs/cgroup/a/memory.max");
    oom_count_read(root, &before);
    assert_true(before.has_group);
    assert_int_equal(before.group, 3);
    assert_null(oom_cause(&before, &before));
    shell("printf 'oom_kill 4\\n' >sys/fs/cgroup/a/b/memory.events");
    oom_count_read(root, &after);
    oom_sizes_read(root, &after);
    char *text = oom_cause(&before, &after);
    assert_string_equal(text,
                        "the cgroup's memory limit was hit (oom_kill 3 -> 4, limit 2.0 GiB)");
    free(text);
    shell("echo 104857600 >sys/fs/cgroup/a/b/memory.max; echo 104333312 "
          ">sys/fs/cgroup/a/b/memory.peak");
    oom_count_read(root, &after);
    oom_sizes_read(root, &after);
    text = oom_cause(&before, &after);
    assert_string_equal(text, "the cgroup's memory limit was hit (oom_kill 3 -> 4, limit 100.0 "
                              "MiB, peak 99.5 MiB)");
    free(text);
}

static void version_1_counts_kills(void **state)
{
    (void)state;
    struct oom_count before, after;
    shell("rm -rf sys proc; mkdir -p proc/self sys/fs/cgroup/memory/a && "
          "printf '9:cpu,cpuacct:/x\\n4:hugetlb,memory:/a\\n' >proc/self/cgroup && cd "
          "sys/fs/cgroup/memory/a && printf 'oom_kill_disable 0\\nunder_oom 0\\noom_kill 1\\n' "
          ">memory.oom_control && echo 5 >memory.failcnt && echo 104857600 "
          ">memory.limit_in_bytes && echo 104333312 >memory.max_usage_in_bytes");
    oom_count_read(root, &before);
    assert_true(before.has_group && !before.has_failcnt && !before.is_under_oom);
    assert_int_equal(before.group, 1);
    shell("cd sys/fs/cgroup/memory/a && echo 900 >memory.failcnt");
    oom_count_read(root, &after);
    oom_sizes_read(root, &after);
    assert_null(oom_cause(&before, &after)); /* memory was found after all */
    shell("cd sys/fs/cgroup/memory/a && printf 'under_oom 0\\noom_kill 2\\n' "
          ">memory.oom_control");
    oom_count_read(root, &after);
    oom_sizes_read(root, &after);
    char *text = oom_cause(&before, &after);
    assert_string_equal(text, "the cgroup's memory limit was hit (oom_kill 1 -> 2, limit 100.0 "
                              "MiB, peak 99.5 MiB)");
    free(text);
}

static void an_old_version_1_counts_only_hits(void **state)
{
    (void)state;
    struct oom_count before, after;
    /* the path is the host's; the container's cgroup is mounted as the root */
    shell("rm -rf sys proc; mkdir -p proc/self sys/fs/cgroup/memory && "
          "printf '4:memory:/docker/abc\\n' >proc/self/cgroup && cd sys/fs/cgroup/memory && "
          "printf 'oom_kill_disable 0\\nunder_oom 0\\n' >memory.oom_control && echo 5 "
          ">memory.failcnt && echo 9223372036854771712 >memory.limit_in_bytes");
    oom_count_read(root, &before);
    assert_false(before.has_group);
    assert_int_equal(before.limit, UINT64_MAX);
    assert_null(oom_cause(&before, &before));
    shell("cd sys/fs/cgroup/memory && printf 'under_oom 1\\n' >memory.oom_control && echo "
          "1073741824 >memory.limit_in_bytes");
    oom_count_read(root, &after);
    oom_sizes_read(root, &after);
    char *text = oom_cause(&before, &after);
    assert_string_equal(text, "probably the cgroup's memory limit, which was hit "
                              "(memory.failcnt 5 -> 5, under_oom, limit 1.0 GiB)");
    free(text);
    shell("cd sys/fs/cgroup/memory && printf 'under_oom 0\\n' >memory.oom_control && echo 8 "
          ">memory.failcnt");
    oom_count_read(root, &after);
    oom_sizes_read(root, &after);
    text = oom_cause(&before, &after);
    assert_string_equal(text, "probably the cgroup's memory limit, which was hit "
                              "(memory.failcnt 5 -> 8, limit 1.0 GiB)");
    free(text);
}

static void without_a_limit_it_was_the_machine(void **state)
{
    (void)state;
    const struct oom_count before = {.has_group = true, .group = 0, .limit = UINT64_MAX};
    struct oom_count after = before;
    after.group = 1;
    char *text = oom_cause(&before, &after);
    assert_string_equal(text,
                        "the kernel's out-of-memory killer ended processes of this cgroup "
                        "(oom_kill 0 -> 1)");
    free(text);
}

static void the_machines_counter_is_second_best(void **state)
{
    (void)state;
    struct oom_count before, after;
    shell("rm -rf sys proc && mkdir proc && printf 'nr_free 1\\noom_kill 7\\n' >proc/vmstat");
    oom_count_read(root, &before);
    assert_false(before.has_group);
    shell("printf 'oom_kill 9\\n' >proc/vmstat");
    oom_count_read(root, &after);
    oom_sizes_read(root, &after);
    char *text = oom_cause(&before, &after);
    assert_string_equal(text, "the kernel's out-of-memory killer was at work on this machine "
                              "(oom_kill 7 -> 9 in /proc/vmstat)");
    free(text);
}

static void what_cannot_be_read_is_unknown(void **state)
{
    (void)state;
    struct oom_count none, some = {.has_group = true, .group = 5, .has_machine = true};
    oom_count_read("/nowhere", &none);
    assert_false(none.has_group || none.has_machine);
    assert_null(oom_cause(&none, &some));
    assert_null(oom_cause(&some, &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_of_a_parent),
        cmocka_unit_test(version_1_counts_kills),
        cmocka_unit_test(an_old_version_1_counts_only_hits),
        cmocka_unit_test(without_a_limit_it_was_the_machine),
        cmocka_unit_test(the_machines_counter_is_second_best),
        cmocka_unit_test(what_cannot_be_read_is_unknown),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
