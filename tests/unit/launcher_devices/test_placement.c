/* placement: every row of binding.tsv on the topology of topology-2x8x2.xml, and what the rows
 * leave out. hwloc is used here only to read that file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/device_select.h"
#include "launcher/core/placement.h"
#include "vector.h"

static int ancestor(hwloc_topology_t h, hwloc_obj_t pu, hwloc_obj_type_t type)
{
    hwloc_obj_t o = hwloc_get_ancestor_obj_by_type(h, type, pu);
    return o ? (int)o->logical_index : -1;
}

static void load(struct topology *t)
{
    hwloc_topology_t h;
    hwloc_topology_init(&h);
    hwloc_topology_set_io_types_filter(h, HWLOC_TYPE_FILTER_KEEP_ALL);
    assert_int_equal(hwloc_topology_set_xml(h, TESTS_DIR "/vectors/devices/topology-2x8x2.xml"),
                     0);
    assert_int_equal(hwloc_topology_load(h), 0);
    *t = (struct topology){.nnodes = hwloc_get_nbobjs_by_type(h, HWLOC_OBJ_NUMANODE)};
    size_t cap = 0, devices_cap = 0;
    for (int cpu = 0; cpu < 64; cpu++) {
        hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(h, (unsigned)cpu);
        if (!pu)
            continue;
        array_grow(t->cpus, (size_t)t->ncpus, cap);
        t->cpus[t->ncpus++] = (struct topology_cpu){
            cpu, ancestor(h, pu, HWLOC_OBJ_CORE), hwloc_bitmap_first(pu->nodeset),
            ancestor(h, pu, HWLOC_OBJ_PACKAGE), ancestor(h, pu, HWLOC_OBJ_L3CACHE)};
    }
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_pcidev(h, o));) {
        array_grow(t->devices, (size_t)t->ndevices, devices_cap);
        struct topology_pci *d = &t->devices[t->ndevices++];
        snprintf(d->pci, sizeof d->pci, "%08X:%02X:%02X.0", o->attr->pcidev.domain,
                 o->attr->pcidev.bus, o->attr->pcidev.dev);
        d->node = hwloc_bitmap_first(hwloc_get_non_io_ancestor_obj(h, o)->nodeset);
    }
    hwloc_topology_destroy(h);
}

static void unload(struct topology *t)
{
    free(t->cpus);
    free(t->devices);
}

/* "a|b" of what was planned, in the table's own words. */
static void describe(const struct rank_cpus *ranks, int n, struct buf *cpus, struct buf *mem)
{
    for (int r = 0; r < n; r++) {
        buf_adds(cpus, r ? "|" : "");
        buf_adds(mem, r ? "|" : "");
        if (ranks[r].bound)
            cpu_set_format(&ranks[r].cpus, cpus);
        else
            buf_adds(cpus, "\\N");
        if (ranks[r].mem_node >= 0)
            buf_addf(mem, "%d", ranks[r].mem_node);
        else
            buf_adds(mem, "\\N");
    }
}

static void check_list(const struct vector *v, int row, const char *column, const char *got)
{
    const char *want[VECTOR_LIST];
    struct buf b;
    buf_init(&b, 0);
    int n = vector_list(v, row, column, '|', true, want);
    for (int i = 0; i < n; i++)
        buf_addf(&b, "%s%s", i ? "|" : "", want[i] ? want[i] : "\\N");
    assert_string_equal(got, buf_str(&b));
    buf_fini(&b);
}

static void check_row(const struct vector *v, int row, struct topology *t)
{
    struct inventory inv = vector_inventory(vector_get(v, row, "inventory"));
    struct gpu_spec spec;
    struct request req = {.spec = &spec};
    struct ambient amb = {.cvd = vector_get(v, row, "cvd")};
    struct device_choice c;
    struct rank_cpus ranks[VECTOR_LIST];
    const char *pci[VECTOR_LIST];
    enum cpu_bind bind;
    struct buf cpus, mem;
    buf_init(&cpus, 0);
    buf_init(&mem, 0);
    const char *gpus = vector_get(v, row, "gpus");
    assert_int_equal(gpu_spec_parse(gpus ? gpus : "all", &spec, NULL), 0);
    assert_int_equal(device_resolve(&req, &amb, &inv, &c, NULL), 0);
    assert_int_equal(cpu_bind_parse(str_from(vector_get(v, row, "cpu_bind")), &bind), 0);
    assert_int_equal(cpu_set_parse(str_from(vector_get(v, row, "launcher_cpus")), &t->allowed),
                     0);
    for (int r = 0; r < c.nranks; r++)
        pci[r] = inv.devices[c.units[c.ranks[r].first_unit].device].pci;
    unsigned warnings = placement_plan(t, bind, pci, c.nranks, ranks);
    describe(ranks, c.nranks, &cpus, &mem);
    check_list(v, row, "cpus_by_rank", buf_str(&cpus));
    check_list(v, row, "mem_by_rank", buf_str(&mem));
    assert_string_equal(vector_get(v, row, "warnings"),
                        warnings == PLACEMENT_CPU_EMPTY ? "W_CPU_EMPTY"
                        : warnings == PLACEMENT_CPU_FEW ? "W_CPU_FEW"
                                                        : "");
    buf_fini(&cpus);
    buf_fini(&mem);
    device_choice_fini(&c);
    gpu_spec_fini(&spec);
    inventory_fini(&inv);
}

static void agrees_with_every_row(void **state)
{
    (void)state;
    struct topology t;
    struct vector *v = vector_open("binding.tsv");
    load(&t);
    assert_int_equal(t.ncpus, 32);
    assert_int_equal(t.nnodes, 2);
    assert_int_equal(v->nrows, 6);
    for (int row = 0; row < v->nrows; row++) {
        print_message("%s (%d of %d)\n", vector_get(v, row, "id"), row + 1, v->nrows);
        check_row(v, row, &t);
    }
    unload(&t);
    vector_close(v);
}

/* Plans n ranks on the GPU at 17:00.0 (node 0). */
static char *plan(enum cpu_bind bind, const char *allowed, int n, unsigned *warnings)
{
    struct topology t;
    struct rank_cpus ranks[VECTOR_LIST];
    const char *pci[VECTOR_LIST];
    struct buf cpus, mem;
    buf_init(&cpus, 0);
    buf_init(&mem, 0);
    load(&t);
    assert_int_equal(cpu_set_parse(str_from(allowed), &t.allowed), 0);
    for (int r = 0; r < n; r++)
        pci[r] = "00000000:17:00.0";
    *warnings = placement_plan(&t, bind, pci, n, ranks);
    describe(ranks, n, &cpus, &mem);
    unload(&t);
    buf_fini(&mem);
    return buf_steal(&cpus);
}

static void settles_corners(void **state)
{
    (void)state;
    static const struct {
        enum cpu_bind bind;
        const char *allowed;
        int n;
        const char *cpus;
        unsigned warnings;
    } rows[] = {
        {CPU_BIND_NONE, "0-31", 1, "\\N", 0},
        {CPU_BIND_SOCKET, "0-31", 1, "0-7,16-23", 0},
        {CPU_BIND_LLC, "0-31", 2, "0-7,16-23|0-7,16-23", 0},
        {CPU_BIND_EXCLUSIVE, "0-1,16", 2, "0,16|1", 0},
        {CPU_BIND_EXCLUSIVE, "0,16", 2, "0,16|0,16", PLACEMENT_CPU_FEW},
        {CPU_BIND_EXCLUSIVE, "8-15", 1, "\\N", PLACEMENT_CPU_EMPTY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned warnings;
        char *cpus = plan(rows[i].bind, rows[i].allowed, rows[i].n, &warnings);
        assert_string_equal(cpus, rows[i].cpus);
        assert_int_equal(warnings, rows[i].warnings);
        free(cpus);
    }
}

static void unknown_locality_stays_unbound(void **state)
{
    (void)state;
    struct topology t;
    struct rank_cpus ranks[2];
    const char *pci[] = {"00000000:FE:00.0", NULL};
    load(&t);
    assert_int_equal(cpu_set_parse(str_from("0-31"), &t.allowed), 0);
    assert_int_equal(placement_plan(&t, CPU_BIND_NODE, pci, 2, ranks), 0);
    assert_false(ranks[0].bound || ranks[1].bound);
    assert_int_equal(placement_default(&t), CPU_BIND_NODE);
    assert_int_equal(cpu_set_parse(str_from("0-30"), &t.allowed), 0);
    assert_int_equal(placement_default(&t), CPU_BIND_NONE);
    unload(&t);
}

static void lists_are_strict(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "a", "1-", "-1", "3-1", "1,,2", "0-4096", "1-2-3"};
    struct cpu_set s;
    struct buf b;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(cpu_set_parse(str_from(bad[i]), &s), -1);
    assert_int_equal(cpu_set_parse(str_from("4095,3,0-1,63-65"), &s), 0);
    assert_int_equal(cpu_set_count(&s), 7);
    buf_init(&b, 0);
    cpu_set_format(&s, &b);
    assert_string_equal(buf_str(&b), "0-1,3,63-65,4095");
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_every_row),
        cmocka_unit_test(settles_corners),
        cmocka_unit_test(unknown_locality_stays_unbound),
        cmocka_unit_test(lists_are_strict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
