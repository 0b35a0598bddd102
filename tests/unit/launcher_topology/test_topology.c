/* topology: what hwloc says as placement's table; no library, a broken file, unknown devices.
 */
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
#include "launcher/io/topology.h"
#include "vector.h"

#define TOPOLOGY_XML TESTS_DIR "/vectors/devices/topology-2x8x2.xml"

static struct err err;

/* Of the leak checker, where there is one: hwloc 2.9 loses the object that it was reading when
 * a file ends. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static void expect_cpus(const struct cpu_set *s, const char *want)
{
    struct buf b;
    buf_init(&b, 0);
    cpu_set_format(s, &b);
    assert_string_equal(buf_str(&b), want);
    buf_fini(&b);
}

static void a_file_becomes_the_table(void **state)
{
    (void)state;
    static const char *const pci[] = {"00000000:17:00.0", "00000000:FE:00.0", NULL, "nonsense"};
    struct topology t;
    struct cpu_set own;
    assert_int_equal(cpu_set_parse(str_from("0"), &own), 0);
    setenv("HWLOC_XMLFILE", TOPOLOGY_XML, 1);
    assert_true(topology_has_nodes());
    assert_int_equal(topology_load(pci, 4, &own, &t, &err), 0);
    assert_int_equal(t.ncpus, 32);
    assert_int_equal(t.nnodes, 2);
    expect_cpus(&t.allowed, "0-31"); /* the own mask is that of another machine */
    for (int i = 0; i < 32; i++) {
        const struct topology_cpu *c = &t.cpus[i];
        assert_int_equal(c->cpu, i);
        assert_int_equal(c->core, i % 16);
        assert_int_equal(c->node, i % 16 / 8);
        assert_int_equal(c->package, i % 16 / 8);
        assert_int_equal(c->llc, i % 16 / 8);
    }
    assert_int_equal(t.ndevices, 4);
    assert_int_equal(t.devices[0].node, 0);
    for (int i = 1; i < 4; i++)
        assert_int_equal(t.devices[i].node, -1);
    topology_release(&t);
    unsetenv("HWLOC_XMLFILE");
}

static void every_gpu_of_the_vectors_has_its_node(void **state)
{
    (void)state;
    struct inventory inv = vector_inventory("N8");
    const char *pci[VECTOR_LIST];
    struct topology t;
    for (int i = 0; i < inv.ndevices; i++)
        pci[i] = inv.devices[i].pci;
    setenv("HWLOC_XMLFILE", TOPOLOGY_XML, 1);
    assert_int_equal(topology_load(pci, inv.ndevices, NULL, &t, &err), 0);
    for (int i = 0; i < inv.ndevices; i++)
        assert_int_equal(t.devices[i].node, inv.devices[i].numa);
    topology_release(&t);
    inventory_fini(&inv);
    unsetenv("HWLOC_XMLFILE");
}

/* The first len bytes of the good file, in a file of its own. */
static char *cut_file(size_t len)
{
    char *path = mem_strdup("/tmp/muster-test-XXXXXX"), *text = mem_alloc(len + 1, 1);
    int fd = mkstemp(path);
    FILE *good = fopen(TOPOLOGY_XML, "r");
    assert_true(fd >= 0 && good);
    assert_int_equal(fread(text, 1, len, good), len);
    assert_int_equal(write(fd, text, len), len);
    fclose(good);
    close(fd);
    free(text);
    return path;
}

static void expect_failure(const char *words)
{
    struct topology t;
    char **before = environ;
    err = (struct err){0};
    if (__lsan_disable)
        __lsan_disable();
    int rc = topology_load(NULL, 0, NULL, &t, &err);
    if (__lsan_enable)
        __lsan_enable();
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    if (!strstr(err.text, words))
        fail_msg("'%s' lacks '%s'", err.text, words);
    assert_ptr_equal(environ, before);
}

static void a_broken_file_is_an_error_not_this_machine(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 9, 150, 700, 3000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char *path = cut_file(lengths[i]);
        setenv("HWLOC_XMLFILE", path, 1);
        expect_failure(path);
        unlink(path);
        free(path);
    }
    setenv("HWLOC_XMLFILE", "/no/such/file.xml", 1);
    expect_failure("/no/such/file.xml");
    unsetenv("HWLOC_XMLFILE");
}

static void without_the_library_it_is_said(void **state)
{
    (void)state;
    setenv("MUSTER_HWLOC_PATH", "/no/such/libhwloc.so", 1);
    expect_failure("/no/such/libhwloc.so");
    setenv("MUSTER_HWLOC_PATH", "libc.so.6", 1); /* a library, but another one */
    expect_failure("the library has no hwloc_");
    unsetenv("MUSTER_HWLOC_PATH");
}

static void this_machine_has_its_own_cpus(void **state)
{
    (void)state;
    struct topology t;
    struct cpu_set own = {{0}};
    assert_int_equal(topology_load(NULL, 0, NULL, &t, &err), 0);
    assert_true(t.ncpus >= 1);
    assert_true(t.nnodes >= 1);
    int cpu = t.cpus[0].cpu, n = cpu_set_count(&t.allowed);
    assert_true(n >= 1 && n <= t.ncpus);
    for (int i = 0; i < t.ncpus && !cpu_set_has(&t.allowed, cpu); i++)
        cpu = t.cpus[i].cpu;
    topology_release(&t);
    cpu_set_add(&own, cpu);
    assert_int_equal(topology_load(NULL, 0, &own, &t, &err), 0);
    assert_int_equal(cpu_set_count(&t.allowed), 1);
    assert_true(cpu_set_has(&t.allowed, cpu));
    topology_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_becomes_the_table),
        cmocka_unit_test(every_gpu_of_the_vectors_has_its_node),
        cmocka_unit_test(a_broken_file_is_an_error_not_this_machine),
        cmocka_unit_test(without_the_library_it_is_said),
        cmocka_unit_test(this_machine_has_its_own_cpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
