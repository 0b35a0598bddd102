/* probe_order's reading of an answer, when it is needed; probe_bus on folders of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "launcher/io/folder.h"
#include "launcher/io/probe_bus.h"
#include "launcher/io/probe_order.h"
#include "vector.h"

static void an_answer_is_its_uuids(void **state)
{
    (void)state;
    struct inventory inv = {0};
    struct err e;
    assert_int_equal(probe_order_read("a remark\nGPU-b\r\nGPU-a and more\nGPU-c", &inv, &e), 0);
    assert_int_equal(inv.nprobe, 3);
    assert_string_equal(inv.probe[0], "GPU-b");
    assert_string_equal(inv.probe[1], "GPU-a");
    assert_string_equal(inv.probe[2], "GPU-c");
    free((void *)(uintptr_t)inv.probe);
    assert_int_equal(probe_order_read("", &inv, &e), -1);
    assert_int_equal(probe_order_read("no GPU-a here\n", &inv, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
}

static bool is_needed(const char *inventory, const char *cvd, const char *order)
{
    struct inventory inv = vector_inventory(inventory);
    const char *environment[3] = {NULL};
    int n = 0;
    if (cvd)
        environment[n++] = cvd;
    if (order)
        environment[n] = order;
    const struct facts facts = {.environment = environment, .inventory = &inv};
    bool needed = probe_order_is_needed(&facts);
    inventory_fini(&inv);
    return needed;
}

static void asked_only_where_numbers_hang_on_it(void **state)
{
    (void)state;
    static const char fastest[] = "CUDA_DEVICE_ORDER=FASTEST_FIRST";
    assert_true(is_needed("NHET", NULL, fastest));
    assert_true(is_needed("NHET", "CUDA_VISIBLE_DEVICES=1", fastest));
    assert_false(is_needed("NHET", "CUDA_VISIBLE_DEVICES=GPU-7c22", fastest));
    assert_false(is_needed("NHET", "CUDA_VISIBLE_DEVICES=", fastest));
    assert_false(is_needed("NHET", NULL, "CUDA_DEVICE_ORDER=PCI_BUS_ID"));
    assert_false(is_needed("NHET", NULL, NULL));
    assert_false(is_needed("NHET", NULL, "CUDA_DEVICE_ORDER=zz"));
    assert_false(is_needed("N4", NULL, fastest));
    const struct facts none = {.environment = (const char *const[]){fastest, NULL}};
    assert_false(probe_order_is_needed(&none));
}

static void put(const char *root, const char *device, const char *vendor, const char *class)
{
    char *dir = mem_printf("%s/bus/pci/devices/%s", root, device);
    const char *const names[] = {"vendor", "class"}, *const texts[] = {vendor, class};
    assert_int_equal(mkdir(dir, 0755), 0);
    for (int i = 0; i < 2; i++) {
        char *path = mem_printf("%s/%s", dir, names[i]);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(texts[i], f);
        fclose(f);
        free(path);
    }
    free(dir);
}

static void gpus_on_the_bus(void **state)
{
    (void)state;
    char root[] = "/tmp/muster-bus-XXXXXX";
    assert_non_null(mkdtemp(root));
    assert_int_equal(probe_bus_count(root), -1);
    char *make = mem_printf("mkdir -p %s/bus/pci/devices", root);
    assert_int_equal(system(make), 0);
    assert_int_equal(probe_bus_count(root), 0);
    put(root, "0000:17:00.0", "0x10de\n", "0x030200\n"); /* 3D controller */
    put(root, "0000:65:00.0", "0x10de\n", "0x030000\n"); /* VGA */
    put(root, "0000:65:00.1", "0x10de\n", "0x040300\n"); /* its sound */
    put(root, "0000:00:02.0", "0x8086\n", "0x030000\n"); /* another maker's */
    put(root, "0000:b3:00.0", "", "0x030200\n");
    assert_int_equal(probe_bus_count(root), 2);
    folder_remove(root);
    free(make);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_its_uuids),
        cmocka_unit_test(asked_only_where_numbers_hang_on_it),
        cmocka_unit_test(gpus_on_the_bus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
