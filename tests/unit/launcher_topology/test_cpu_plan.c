/* cpu_plan: from --cpu-bind and a topology to masks, memory nodes and threads of a node's
 * workers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/cpu_plan.h"
#include "launcher/core/worker_env.h"
#include "launcher/io/topology.h"
#include "vector.h"

static struct err err;
static struct topology two_nodes;
static struct inventory gpus;
static const char *const environment[] = {NULL};

static int set_up(void **state)
{
    (void)state;
    const char *pci[VECTOR_LIST];
    gpus = vector_inventory("N4");
    for (int i = 0; i < gpus.ndevices; i++)
        pci[i] = gpus.devices[i].pci;
    setenv("HWLOC_XMLFILE", TESTS_DIR "/vectors/devices/topology-2x8x2.xml", 1);
    int rc = topology_load(pci, gpus.ndevices, NULL, &two_nodes, &err);
    unsetenv("HWLOC_XMLFILE");
    return rc;
}

static int tear_down(void **state)
{
    (void)state;
    topology_release(&two_nodes);
    inventory_fini(&gpus);
    return 0;
}

static struct facts facts_of(const struct topology *topology, const char *allowed,
                             uint32_t quota)
{
    struct facts facts = {.environment = environment,
                          .python = "py",
                          .ncpus = 2,
                          .cpu_quota = quota,
                          .topology = topology,
                          .inventory = topology ? &gpus : NULL};
    if (allowed)
        assert_int_equal(cpu_set_parse(str_from(allowed), &facts.allowed), 0);
    return facts;
}

static struct node_plan *plan_of(const char *cpu_bind, const struct facts *facts, uint32_t n,
                                 uint32_t per_gpu)
{
    static char word[] = "p";
    char *program[] = {word, NULL};
    const struct options opt = {
        .nproc = n, .procs_per_gpu = per_gpu, .program = program, .cpu_bind = cpu_bind};
    const struct order order = {
        .job_id = "j", .nnodes = 1, .nworkers = n, .world_size = n, .master_addr = "::1"};
    return node_plan_build(&opt, facts, &order, &err);
}

/* "cpus@node*threads" of each worker. */
static char *describe(const struct node_plan *plan)
{
    struct buf out;
    buf_init(&out, 0);
    for (uint32_t i = 0; i < plan->order.nworkers; i++) {
        const struct worker_plan *w = &plan->workers[i];
        buf_addf(&out, "%s%s", i ? " | " : "", w->cpus ? w->cpus : "any");
        if (w->mem_node >= 0)
            buf_addf(&out, " @%d", w->mem_node);
        buf_addf(&out, " *%u", w->omp_threads);
    }
    return buf_steal(&out);
}

static void expect_plan(const char *cpu_bind, const struct facts *facts, uint32_t n,
                        uint32_t per_gpu, const char *want)
{
    struct node_plan *plan = plan_of(cpu_bind, facts, n, per_gpu);
    if (!plan)
        fail_msg("%s", err.text);
    char *got = describe(plan);
    assert_string_equal(got, want);
    free(got);
    node_plan_free(plan);
}

static void threads_are_the_cores_of_the_mask(void **state)
{
    (void)state;
    static const struct {
        const char *bind;
        uint32_t n, per_gpu, quota;
        const char *want;
    } rows[] = {
        {NULL, 4, 0, 0,
         "0-7,16-23 @0 *4 | 0-7,16-23 @0 *4 | 8-15,24-31 @1 *4 | 8-15,24-31 @1 *4"},
        {NULL, 3, 0, 0, "0-7,16-23 @0 *4 | 0-7,16-23 @0 *4 | 8-15,24-31 @1 *8"},
        {NULL, 1, 0, 0, "0-7,16-23 @0 *8"},
        {"none", 3, 0, 0, "any *5 | any *5 | any *5"},
        {"exclusive", 3, 0, 0, "0-3,16-19 @0 *4 | 4-7,20-23 @0 *4 | 8-15,24-31 @1 *8"},
        /* One core, both of its CPUs, each for one rank. */
        {"list:0;16", 2, 0, 0, "0 *1 | 16 *1"},
        {"list:0-2,16-18", 2, 0, 0, "0-2,16-18 *1 | 0-2,16-18 *1"},
        {"list:0-7:0-3:4-7", 3, 0, 0, "0-7 *4 | 0-3 *2 | 4-7 *2"},
        /* Six sixths of a core are one. */
        {"list:0-5", 6, 2, 0, "0-5 *1 | 0-5 *1 | 0-5 *1 | 0-5 *1 | 0-5 *1 | 0-5 *1"},
        /* The time that a cgroup allows is for all workers together. */
        {NULL, 2, 0, 6, "0-7,16-23 @0 *3 | 0-7,16-23 @0 *3"},
        {NULL, 2, 0, 1, "0-7,16-23 @0 *1 | 0-7,16-23 @0 *1"},
        {NULL, 2, 0, 100, "0-7,16-23 @0 *4 | 0-7,16-23 @0 *4"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct facts facts = facts_of(&two_nodes, NULL, rows[i].quota);
        expect_plan(rows[i].bind, &facts, rows[i].n, rows[i].per_gpu, rows[i].want);
    }
}

static void without_a_topology_cpus_are_counted(void **state)
{
    (void)state;
    struct facts facts = facts_of(NULL, "0-6", 0);
    expect_plan(NULL, &facts, 2, 0, "any *3 | any *3");
    expect_plan("node", &facts, 2, 0, "any *3 | any *3");
    expect_plan("list:0-3:4", &facts, 2, 0, "0-3 *4 | 4 *1");
    expect_plan("list:0-4", &facts, 2, 0, "0-4 *2 | 0-4 *2");
    facts = facts_of(NULL, "0-6", 2);
    expect_plan(NULL, &facts, 1, 0, "any *2");
    facts = facts_of(NULL, NULL, 0); /* a mask that nobody could read: ncpus alone */
    expect_plan(NULL, &facts, 1, 0, "any *2");
    expect_plan(NULL, &facts, 5, 0, "any *1 | any *1 | any *1 | any *1 | any *1");
    expect_plan("list:9", &facts, 1, 0, "9 *1");
}

static void a_narrowed_mask_stays_as_it_is(void **state)
{
    (void)state;
    struct topology narrow = two_nodes;
    assert_int_equal(cpu_set_parse(str_from("0-3,16"), &narrow.allowed), 0);
    struct facts facts = facts_of(&narrow, NULL, 0);
    expect_plan(NULL, &facts, 2, 0, "any *2 | any *2");
    expect_plan("node", &facts, 3, 0, "0-3,16 @0 *1 | 0-3,16 @0 *1 | any *1");
    struct node_plan *plan = plan_of("node", &facts, 3, 0);
    assert_int_equal(plan->cpu_warnings, PLACEMENT_CPU_EMPTY);
    node_plan_free(plan);
}

static void expect_refusal(const char *cpu_bind, const struct facts *facts, uint32_t n,
                           const char *words)
{
    assert_null(plan_of(cpu_bind, facts, n, 0));
    assert_int_equal(err.code, ERR_USAGE);
    if (!strstr(err.text, words))
        fail_msg("'%s' lacks '%s'", err.text, words);
}

static void lists_have_to_fit(void **state)
{
    (void)state;
    struct facts facts = facts_of(&two_nodes, NULL, 0);
    expect_refusal("list:0;1;2", &facts, 2, "3 lists of CPUs for 2 workers");
    expect_refusal("list:0;1", &facts, 3, "2 lists of CPUs for 3 workers");
    expect_refusal("list:0;32", &facts, 2,
                   "CPU 32 is none that muster may use here; it has 0-31");
    facts = facts_of(NULL, "1-2", 0);
    expect_refusal("list:0-2", &facts, 1, "CPU 0 is none that muster may use here; it has 1-2");
}

static void the_threads_reach_the_worker_with_their_reason(void **state)
{
    (void)state;
    struct facts facts = facts_of(&two_nodes, NULL, 6);
    struct node_plan *plan = plan_of(NULL, &facts, 2, 0);
    assert_string_equal(plan->omp_why,
                        "OMP_NUM_THREADS=3: local rank 0 has 8 physical cores (CPUs "
                        "0-7,16-23), which 2 workers share; the cgroup's cpu.max is 6 CPUs");
    struct worker_env *env = worker_env_new(&facts, plan, NULL);
    char *const *v = worker_env_build(env, 1);
    while (*v && strcmp(*v, "OMP_NUM_THREADS=3") != 0)
        v++;
    assert_non_null(*v);
    worker_env_free(env);
    node_plan_free(plan);
}

static void requests_are_strict(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",        "nodes",     "list",     "list:",     "list:;", "list:0;",
        "list:;0", "list:0::1", "list:0 1", "list:4096", "LIST:0", "list:2-1"};
    struct cpu_request r;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (cpu_request_parse(str_from(bad[i]), &r) == 0)
            fail_msg("'%s' was taken", bad[i]);
    assert_int_equal(cpu_request_parse(str_from("llc"), &r), 0);
    assert_int_equal(r.bind, CPU_BIND_LLC);
    assert_null(r.lists.p);
    assert_int_equal(cpu_request_parse(str_from("list:0-1;2:3"), &r), 0);
    struct cpu_set list;
    int n = 0;
    for (; cpu_lists_next(&r.lists, &list); n++)
        assert_true(cpu_set_has(&list, n ? n + 1 : 0));
    assert_int_equal(n, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_the_cores_of_the_mask),
        cmocka_unit_test(without_a_topology_cpus_are_counted),
        cmocka_unit_test(a_narrowed_mask_stays_as_it_is),
        cmocka_unit_test(lists_have_to_fit),
        cmocka_unit_test(the_threads_reach_the_worker_with_their_reason),
        cmocka_unit_test(requests_are_strict),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
