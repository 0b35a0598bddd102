/* probe_proc on folders of its own. */
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
#include "launcher/io/probe_proc.h"

/* Writes root/path, making its folders. */
static void put(const char *root, const char *path, const char *text)
{
    char *full = mem_printf("%s/%s", root, path);
    for (char *slash = full + strlen(root); (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(full);
}

static void lists_in_pci_order(void **state)
{
    (void)state;
    char root[] = "/tmp/muster-proc-XXXXXX";
    struct inventory inv;
    struct err e;
    assert_non_null(mkdtemp(root));
    put(root, "driver/nvidia/gpus/0000:b3:00.0/information",
        "Model: \t\t NVIDIA H200\nIRQ:   \t\t 17\nGPU UUID: \t "
        "GPU-7c22aa01-0000-4000-8000-00000000000c\nBus Location: \t 0000:b3:00.0\n"
        "Device Minor: \t 1\nGPU Excluded:\t No\n");
    put(root, "driver/nvidia/gpus/0000:17:00.0/information",
        "Model: \t\t Unknown\nGPU UUID: \t GPU-???????"
        "?-???"
        "?-???"
        "?-???"
        "?-????????????\n");
    put(root, "driver/nvidia/gpus/not-a-bdf/information", "Model: \t\t X\n");
    assert_int_equal(probe_proc(root, &inv, &e), 0);
    assert_int_equal(inv.ndevices, 2);
    assert_string_equal(inv.devices[0].pci, "00000000:17:00.0");
    assert_string_equal(inv.devices[0].uuid, "");
    assert_int_equal(inv.devices[0].minor, -1);
    assert_string_equal(inv.devices[1].pci, "00000000:B3:00.0");
    assert_string_equal(inv.devices[1].uuid, "GPU-7c22aa01-0000-4000-8000-00000000000c");
    assert_string_equal(inv.devices[1].name, "NVIDIA H200");
    assert_int_equal(inv.devices[1].minor, 1);
    assert_int_equal(inv.devices[1].index, 1);
    assert_int_equal(inv.devices[1].nprocs, -1);
    inventory_fini(&inv);
    folder_remove(root);
}

static void nothing_to_read_is_no_inventory(void **state)
{
    (void)state;
    char root[] = "/tmp/muster-proc-XXXXXX";
    struct inventory inv;
    struct err e;
    assert_non_null(mkdtemp(root));
    assert_int_equal(probe_proc(root, &inv, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    put(root, "driver/nvidia/gpus/x/information", "");
    assert_int_equal(probe_proc(root, &inv, &e), -1);
    assert_non_null(strstr(e.text, "no GPU"));
    folder_remove(root);
}

static void finds_the_numa_node(void **state)
{
    (void)state;
    char root[] = "/tmp/muster-sys-XXXXXX";
    assert_non_null(mkdtemp(root));
    put(root, "bus/pci/devices/0000:b3:00.0/numa_node", "1\n");
    put(root, "bus/pci/devices/0000:17:00.0/numa_node", "-1\n");
    assert_int_equal(probe_pci_numa(root, "00000000:B3:00.0"), 1);
    assert_int_equal(probe_pci_numa(root, "00000000:17:00.0"), -1);
    assert_int_equal(probe_pci_numa(root, "00000000:18:00.0"), -1);
    assert_int_equal(probe_pci_numa(root, "junk"), -1);
    folder_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_in_pci_order),
        cmocka_unit_test(nothing_to_read_is_no_inventory),
        cmocka_unit_test(finds_the_numa_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
