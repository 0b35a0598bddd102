/* NVML asked in a process of its own: the same answer, and a bound on one that does not come.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "launcher/io/probe_apart.h"
#include "launcher/io/probe_nvml.h"
#include "vector.h"

enum { LONG_MS = 60000, SHORT_MS = 100 };

static void use(const char *fault)
{
    setenv("FAKE_GPU_FILE", TESTS_DIR "/vectors/devices/inventories.json", 1);
    setenv("FAKE_GPU_NODE", "N4", 1);
    setenv("FAKE_NVML_FAULT", fault, 1);
}

static void nothing_is_left(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_null(dlopen(FAKE_NVML, RTLD_NOW | RTLD_NOLOAD));
}

static void the_answer_is_nvmls(void **state)
{
    (void)state;
    struct inventory apart, here;
    struct err e;
    use("nvmlDeviceGetName=999,after=1");
    assert_int_equal(probe_apart(FAKE_NVML, true, LONG_MS, &apart, &e), 0);
    nothing_is_left();
    assert_int_equal(probe_nvml(FAKE_NVML, true, &here, &e), 0);
    assert_int_equal(apart.ndevices, 4);
    assert_int_equal(here.ndevices, 4);
    for (int i = 0; i < 4; i++) {
        const struct device *a = &apart.devices[i], *b = &here.devices[i];
        assert_string_equal(a->uuid, b->uuid);
        assert_string_equal(a->name, b->name);
        assert_string_equal(a->pci, b->pci);
        assert_true(a->mem_total == b->mem_total && a->util == b->util && a->index == i);
    }
    inventory_fini(&apart);
    inventory_fini(&here);
}

static void so_is_the_failure(void **state)
{
    (void)state;
    struct inventory inv;
    struct err e, here;
    use("nvmlDeviceGetCount_v2=999");
    assert_int_equal(probe_apart(FAKE_NVML, false, LONG_MS, &inv, &e), -1);
    nothing_is_left();
    assert_int_equal(probe_nvml(FAKE_NVML, false, &inv, &here), -1);
    assert_int_equal(e.code, here.code);
    assert_string_equal(e.text, here.text);
    assert_int_equal(probe_apart("/nowhere/libnvidia-ml.so.1", false, LONG_MS, &inv, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
}

static void an_answer_that_does_not_come_is_not_waited_for(void **state)
{
    (void)state;
    struct inventory inv;
    struct err e;
    use("nvmlDeviceGetCount_v2=0,delay=600000");
    assert_int_equal(probe_apart(FAKE_NVML, false, SHORT_MS, &inv, &e), -1);
    assert_int_equal(e.code, ERR_TIMEOUT);
    assert_non_null(strstr(e.text, "NVML did not answer within "));
    nothing_is_left();
}

static void a_library_that_ends_its_process_ends_that_only(void **state)
{
    (void)state;
    struct inventory inv;
    struct err e;
    use("nvmlDeviceGetCount_v2=0,abort");
    assert_int_equal(probe_apart(FAKE_NVML, false, LONG_MS, &inv, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_string_equal(e.text, "NVML ended the process that asked it (signal 6)");
    nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_is_nvmls),
        cmocka_unit_test(so_is_the_failure),
        cmocka_unit_test(an_answer_that_does_not_come_is_not_waited_for),
        cmocka_unit_test(a_library_that_ends_its_process_ends_that_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
