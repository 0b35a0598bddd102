/* expect: the model against systems whose measured bandwidth is known, and its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "launcher/core/expect.h"

/* n equal GPUs. */
struct machine {
    const char *name;
    size_t n;
    int major, minor;
    unsigned to_switch, to_each; /* NVLinks; to_each: to every other GPU */
    unsigned gen, width;
    bool has_two_nodes;
    enum expect_cpu cpu;
    double expected; /* GB/s */
    bool is_firm;
    double measured; /* all-reduce busbw of large messages, published; 0 = none */
};

static const struct machine machines[] = {
    {"4 x H200 SXM", 4, 9, 0, 18, 0, 5, 16, true, EXPECT_CPU_SAPPHIRE_RAPIDS, 370.8, true, 365},
    {"2 x H200 SXM", 2, 9, 0, 18, 0, 5, 16, false, EXPECT_CPU_UNKNOWN, 344.8, true, 345},
    {"8 x H100 SXM", 8, 9, 0, 18, 0, 5, 16, true, EXPECT_CPU_SAPPHIRE_RAPIDS, 370.8, true, 368},
    {"8 x A100 SXM", 8, 8, 0, 12, 0, 4, 16, true, EXPECT_CPU_AMD, 240, true, 230},
    {"2 x A100 with a bridge", 2, 8, 0, 0, 12, 4, 16, false, EXPECT_CPU_AMD, 223.2, true, 208},
    {"2 x H100 PCIe with a bridge", 2, 9, 0, 0, 6, 5, 16, false, EXPECT_CPU_UNKNOWN, 114.9,
     true, 116},
    {"8 x H100 PCIe", 8, 9, 0, 0, 0, 5, 16, true, EXPECT_CPU_SAPPHIRE_RAPIDS, 22, false, 35},
    {"2 x A100 PCIe, no bridge", 2, 8, 0, 0, 0, 4, 16, false, EXPECT_CPU_AMD, 24, false, 20},
    {"72 x GB200", 72, 10, 0, 18, 0, 6, 16, false, EXPECT_CPU_UNKNOWN, 721.8, true, 835},
    {"4 x V100, full mesh", 4, 7, 0, 0, 2, 3, 16, true, EXPECT_CPU_SKYLAKE, 120, false, 0},
    {"2 x GPUs, x8", 2, 8, 9, 0, 0, 4, 8, false, EXPECT_CPU_UNKNOWN, 12, false, 0},
    {"PCIe not known", 2, 8, 9, 0, 0, 0, 0, false, EXPECT_CPU_UNKNOWN, 0, false, 0},
    {"one GPU", 1, 9, 0, 18, 0, 5, 16, false, EXPECT_CPU_UNKNOWN, 0, false, 0},
};

static void build(const struct machine *m, struct expect_facts *f)
{
    expect_facts_init(f, m->n);
    f->cpu = m->cpu;
    for (size_t i = 0; i < m->n; i++) {
        f->gpus[i] = (struct expect_gpu){.cc_major = m->major,
                                         .cc_minor = m->minor,
                                         .numa = m->has_two_nodes ? i >= m->n / 2 : 0,
                                         .links = m->to_switch + m->to_each,
                                         .switch_links = m->to_switch,
                                         .pcie_gen = m->gen,
                                         .pcie_width = m->width};
        snprintf(f->gpus[i].pci, sizeof f->gpus[i].pci, "00000000:%02X:00.0", (unsigned)i + 1);
        for (size_t k = 0; k < m->n; k++)
            f->to[i * m->n + k] = i == k ? 0 : m->to_each;
    }
}

static void systems(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        const struct machine *m = &machines[i];
        struct expect_facts f;
        struct buf why;
        build(m, &f);
        buf_init(&why, 0);
        struct expectation e = expect_node(&f, &why);
        if (fabs(e.gbs - m->expected) > 0.1 || e.is_firm != m->is_firm)
            fail_msg("%s: %g GB/s, firm %d", m->name, e.gbs, e.is_firm);
        assert_true(why.len > 0);
        /* A good machine never fails. */
        if (m->measured > 0 && m->measured < 0.8 * e.gbs)
            fail_msg("%s: measured %g would fail", m->name, m->measured);
        buf_fini(&why);
        expect_facts_fini(&f);
    }
}

static void the_slowest_counts(void **state)
{
    (void)state;
    struct expect_facts f;
    struct buf why;
    build(&machines[0], &f);
    buf_init(&why, 0);
    f.gpus[2].switch_links = 15; /* three links are down */
    assert_true(fabs(expect_node(&f, &why).gbs - 15 * 20.6) < 0.01);
    f.gpus[2].switch_links = 0; /* one GPU is not on the switch: PCIe and the sockets */
    assert_true(fabs(expect_node(&f, &why).gbs - 22) < 0.01);
    expect_facts_fini(&f);
    buf_fini(&why);
}

static double expected(const struct expect_facts *f)
{
    struct buf why;
    buf_init(&why, 0);
    struct expectation e = expect_node(f, &why);
    buf_fini(&why);
    return e.gbs;
}

static const struct machine *named(const char *name)
{
    size_t i = 0;
    while (strcmp(machines[i].name, name) != 0)
        i++;
    return &machines[i];
}

static void the_slowest_counts_without_a_switch(void **state)
{
    (void)state;
    struct expect_facts f;
    build(named("4 x V100, full mesh"), &f);
    for (size_t k = 0; k < 4; k++)
        f.to[2 * 4 + k] = k != 2; /* one link of each two is down */
    assert_true(fabs(expected(&f) - 3 * 20) < 0.01);
    expect_facts_fini(&f);
    build(named("2 x A100 PCIe, no bridge"), &f);
    f.gpus[1].pcie_width = 4;
    assert_true(fabs(expected(&f) - 6) < 0.01);
    expect_facts_fini(&f);
    build(named("8 x H100 PCIe"), &f); /* slower than the way between the sockets */
    for (size_t i = 0; i < f.n; i++)
        f.gpus[i].pcie_width = 4;
    assert_true(fabs(expected(&f) - 12) < 0.01);
    expect_facts_fini(&f);
}

static void no_peer_access(void **state)
{
    (void)state;
    struct expect_facts f;
    struct buf why;
    build(&machines[0], &f);
    buf_init(&why, 0);
    f.p2p[1 * 4 + 3] = EXPECT_P2P_NONE;
    struct expectation e = expect_node(&f, &why);
    assert_false(e.is_firm);
    assert_non_null(strstr(
        buf_str(&why), "no peer access between GPUs 00000000:02:00.0 and 00000000:04:00.0"));
    expect_facts_fini(&f);
    buf_fini(&why);
}

static void a_ring_of_links_is_not_known(void **state)
{
    (void)state;
    struct expect_facts f;
    struct buf why;
    const struct machine square = {.n = 4, .major = 8, .gen = 4, .width = 16};
    build(&square, &f);
    for (size_t i = 0; i < 4; i++)
        f.to[i * 4 + (i + 1) % 4] = f.to[i * 4 + (i + 3) % 4] = 4;
    buf_init(&why, 0);
    assert_true(expect_node(&f, &why).gbs == 0);
    assert_non_null(strstr(buf_str(&why), "is not known"));
    f.to[3 * 4 + 0] = f.to[0 * 4 + 3] = 0; /* a chain: no ring closes without PCIe */
    assert_true(fabs(expect_node(&f, &why).gbs - 24) < 0.01);
    expect_facts_fini(&f);
    buf_fini(&why);
}

static void some_of_them(void **state)
{
    (void)state;
    struct expect_facts f, chosen;
    const char *const two[] = {"0000:04:00.0", "00000000:02:00.0"}, *const none[] = {
                                                                        "0000:04:00.0", NULL};
    build(&machines[0], &f);
    f.gpus[3].switch_links = 7;
    f.to[3 * 4 + 1] = 5;
    f.p2p[3 * 4 + 1] = EXPECT_P2P_NONE;
    assert_true(expect_facts_pick(&f, two, 2, &chosen));
    assert_int_equal(chosen.gpus[0].switch_links, 7);
    assert_int_equal(chosen.to[0 * 2 + 1], 5);
    assert_int_equal(chosen.p2p[0 * 2 + 1], EXPECT_P2P_NONE);
    assert_int_equal(chosen.p2p[1 * 2 + 0], EXPECT_P2P_UNKNOWN);
    assert_int_equal(chosen.cpu, EXPECT_CPU_SAPPHIRE_RAPIDS);
    expect_facts_fini(&chosen);
    assert_false(expect_facts_pick(&f, none, 2, &chosen));
    expect_facts_fini(&f);
}

static void cpus(void **state)
{
    (void)state;
    static const struct {
        const char *vendor;
        int family, model;
        enum expect_cpu cpu;
    } rows[] = {
        {"AuthenticAMD", 25, 1, EXPECT_CPU_AMD},
        {"GenuineIntel", 6, 79, EXPECT_CPU_BROADWELL},
        {"GenuineIntel", 6, 85, EXPECT_CPU_SKYLAKE},
        {"GenuineIntel", 6, 106, EXPECT_CPU_SKYLAKE},
        {"GenuineIntel", 6, 143, EXPECT_CPU_SAPPHIRE_RAPIDS},
        {"GenuineIntel", 6, 207, EXPECT_CPU_EMERALD_RAPIDS},
        {"GenuineIntel", 6, -1, EXPECT_CPU_UNKNOWN},
        {"", -1, -1, EXPECT_CPU_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(expect_cpu_of(rows[i].vendor, rows[i].family, rows[i].model),
                         rows[i].cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(systems),
        cmocka_unit_test(the_slowest_counts),
        cmocka_unit_test(the_slowest_counts_without_a_switch),
        cmocka_unit_test(no_peer_access),
        cmocka_unit_test(a_ring_of_links_is_not_known),
        cmocka_unit_test(some_of_them),
        cmocka_unit_test(cpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
