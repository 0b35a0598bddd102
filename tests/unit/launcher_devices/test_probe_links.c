/* probe_links against the fake NVML: what it learns, and what stays unknown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/io/probe_links.h"
#include "launcher/io/probe_nvml.h"

static char cpuinfo[64];

static int enter(void **state)
{
    (void)state;
    setenv("FAKE_GPU_FILE", TESTS_DIR "/vectors/devices/inventories.json", 1);
    setenv("FAKE_GPU_NODE", "N4", 1);
    unsetenv("FAKE_NVML_FAULT");
    unsetenv("FAKE_NVLINK");
    unsetenv("FAKE_NVLINKS");
    strcpy(cpuinfo, "/tmp/muster-cpuinfo-XXXXXX");
    int fd = mkstemp(cpuinfo);
    FILE *f = fdopen(fd, "w");
    fputs("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
          "model name\t: Xeon\n\nvendor_id\t: AuthenticAMD\n",
          f);
    return fclose(f);
}

static int leave(void **state)
{
    (void)state;
    return unlink(cpuinfo);
}

static struct expectation expected(struct expect_facts *facts)
{
    struct inventory inv;
    struct err e;
    struct buf why;
    assert_int_equal(probe_nvml(FAKE_NVML, true, &inv, &e), 0);
    assert_int_equal(probe_links(FAKE_NVML, cpuinfo, &inv, facts, &e), 0);
    buf_init(&why, 0);
    struct expectation found = expect_node(facts, &why);
    buf_fini(&why);
    inventory_fini(&inv);
    return found;
}

static void a_switch(void **state)
{
    (void)state;
    struct expect_facts f;
    struct expectation e = expected(&f);
    assert_int_equal(f.n, 4);
    assert_int_equal(f.gpus[3].links, 18);
    assert_int_equal(f.gpus[3].switch_links, 18);
    assert_int_equal(f.gpus[0].pcie_gen, 5);
    assert_int_equal(f.gpus[0].pcie_width, 16);
    assert_int_equal(f.cpu, EXPECT_CPU_SAPPHIRE_RAPIDS);
    assert_int_equal(f.p2p[1], EXPECT_P2P_OK);
    assert_int_equal(f.p2p[0], EXPECT_P2P_UNKNOWN);
    assert_true(fabs(e.gbs - 370.8) < 0.01 && e.is_firm);
    expect_facts_fini(&f);
}

static void as_many_links_as_there_may_be(void **state)
{
    (void)state;
    struct expect_facts f;
    setenv("FAKE_NVLINKS", "36", 1);
    expected(&f);
    assert_int_equal(f.gpus[3].switch_links, 36);
    expect_facts_fini(&f);
}

static void straight_to_each_other(void **state)
{
    (void)state;
    struct expect_facts f;
    setenv("FAKE_NVLINK", "peers", 1);
    struct expectation e = expected(&f);
    assert_int_equal(f.to[0 * 4 + 1], 6);
    assert_int_equal(f.to[2 * 4 + 0], 6);
    assert_int_equal(f.gpus[0].switch_links, 0);
    assert_true(fabs(e.gbs - 370.8) < 0.01 && !e.is_firm);
    expect_facts_fini(&f);
}

static void a_far_end_that_cannot_be_seen(void **state)
{
    (void)state;
    struct expect_facts f;
    setenv("FAKE_NVML_FAULT",
           "nvmlDeviceGetNvLinkRemoteDeviceType=3;nvmlDeviceGetNvLinkRemotePciInfo_v2=3", 1);
    struct expectation e = expected(&f);
    assert_int_equal(f.gpus[0].switch_links, 18);
    assert_true(fabs(e.gbs - 370.8) < 0.01 && e.is_firm);
    expect_facts_fini(&f);
}

static void what_is_not_answered(void **state)
{
    (void)state;
    struct expect_facts f;
    setenv("FAKE_NVML_FAULT",
           "nvmlDeviceGetNvLinkState=3;nvmlDeviceGetP2PStatus=999;"
           "nvmlDeviceGetMaxPcieLinkWidth=3",
           1);
    struct expectation e = expected(&f);
    assert_int_equal(f.gpus[0].links, 0);
    assert_int_equal(f.p2p[1], EXPECT_P2P_UNKNOWN);
    assert_true(e.gbs == 0);
    expect_facts_fini(&f);
}

static void no_nvml(void **state)
{
    (void)state;
    struct inventory none = {0};
    struct expect_facts f;
    struct err e;
    assert_int_equal(probe_links("/nowhere/libnvidia-ml.so.1", cpuinfo, &none, &f, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    setenv("FAKE_NVML_FAULT", "nvmlInit_v2=18", 1);
    assert_int_equal(probe_links(FAKE_NVML, cpuinfo, &none, &f, &e), -1);
    assert_string_equal(e.text,
                        "NVML: nvmlInit_v2 gives 18 (fake error); the driver was updated "
                        "under a running system: reboot or reload it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_switch, enter, leave),
        cmocka_unit_test_setup_teardown(as_many_links_as_there_may_be, enter, leave),
        cmocka_unit_test_setup_teardown(straight_to_each_other, enter, leave),
        cmocka_unit_test_setup_teardown(a_far_end_that_cannot_be_seen, enter, leave),
        cmocka_unit_test_setup_teardown(what_is_not_answered, enter, leave),
        cmocka_unit_test_setup_teardown(no_nvml, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
