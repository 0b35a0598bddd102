/* xid and kernel_log: the driver's messages, as the kernel writes them, in a made-up log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mem.h"
#include "launcher/core/xid.h"
#include "launcher/io/folder.h"
#include "launcher/io/kernel_log.h"

static void lines(void **state)
{
    (void)state;
    struct xid x;
    assert_true(
        xid_parse(str_from("3,1201,81234567,-;NVRM: Xid (PCI:0000:07:00): 79, pid=1234, "
                           "name=python, GPU has fallen off the bus."),
                  &x));
    assert_int_equal(x.number, 79);
    assert_int_equal(x.domain, 0);
    assert_int_equal(x.bus, 7);
    assert_int_equal(x.device, 0);
    assert_true(xid_is_of(&x, "00000000:07:00.0"));
    assert_true(xid_is_of(&x, "0000:07:00.0"));
    assert_false(xid_is_of(&x, "00000000:08:00.0"));
    assert_false(xid_is_of(&x, "nonsense"));
    assert_true(xid_parse(str_from("NVRM: Xid (PCI:000A:Bc:1f): 31"), &x));
    assert_true(x.domain == 10 && x.bus == 0xbc && x.device == 0x1f && x.number == 31);
}

static void no_lines(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "NVRM: loading NVIDIA UNIX Open Kernel Module",
        "NVRM: Xid (PCI:0000:07:00)",
        "NVRM: Xid (PCI:0000:07:00): ",
        "NVRM: Xid (PCI:0000:07:00): x, pid=1",
        "NVRM: Xid (PCI:0000:07): 79, pid=1",
        "NVRM: Xid (PCI:0000:zz:00): 79, pid=1",
        "NVRM: Xid (PCI::07:00): 79, pid=1",
        "NVRM: Xid (PCI:000000000:07:00): 79, pid=1",
        "NVRM: Xid (PCI:0000:07:00): 100000, pid=1",
        "NVRM: Xid (PCI:",
    };
    struct xid x;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_false(xid_parse(str_from(rows[i]), &x));
    assert_null(xid_meaning(7));
    assert_non_null(xid_meaning(79));
}

static char root[] = "/tmp/muster-test-XXXXXX";

static void append(const char *text)
{
    char *path = mem_printf("%s/dev/kmsg", root);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    free(path);
}

static void expect(struct kernel_log *k, const char *gpus, const char *words)
{
    char *is = kernel_log_cause(k, gpus);
    if (words)
        assert_non_null(is ? strstr(is, words) : NULL);
    else
        assert_null(is);
    free(is);
}

static void a_log(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(root));
    assert_null(kernel_log_open(root));
    char *dev = mem_printf("%s/dev", root);
    assert_int_equal(mkdir(dev, 0700), 0);
    append("3,1,1,-;NVRM: Xid (PCI:0000:07:00): 48, pid=1, of an earlier job\n");
    struct kernel_log *k = kernel_log_open(root);
    assert_non_null(k);
    expect(k, "00000000:07:00.0", NULL);
    append("6,2,2,-;usb 1-1: new device\n SUBSYSTEM=usb\n"
           "3,3,3,-;NVRM: Xid (PCI:0000:07:00): 45, pid=2\n"
           "3,4,4,-;NVRM: Xid (PCI:0000:07:00): 31, pid=2, name=python\n"
           "3,5,5,-;NVRM: Xid (PCI:0000:0a:00): 79, pid=3\n"
           "3,6,6,-;NVRM: Xid (PCI:0000:0b:00): 45, pid=3\n"
           "3,7,7,-;NVRM: Xid (PCI:0000:0c:00): 12345, pid=3\n");
    expect(k, "00000000:07:00.0",
           "the kernel log has Xid 31 for its GPU (PCI 0000:07:00): a program touched");
    expect(k, "00000000:01:00.0,00000000:0A:00.0", "Xid 79 for its GPU (PCI 0000:0a:00)");
    expect(k, "00000000:0b:00.0", "Xid 45");
    expect(k, "00000000:0c:00.0", "Xid 12345 for its GPU (PCI 0000:0c:00)");
    expect(k, "00000000:0d:00.0", NULL);
    for (int i = 0; i < 300; i++)
        append("3,8,8,-;NVRM: Xid (PCI:0000:0e:00): 13, pid=4\n");
    append("3,9,9,-;NVRM: Xid (PCI:0000:0d:00): 94, pid=5\n");
    expect(k, "00000000:0d:00.0", "Xid 94");
    expect(k, NULL, NULL);
    expect(NULL, "00000000:07:00.0", NULL);
    kernel_log_close(k);
    folder_remove(root);
    free(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(no_lines),
        cmocka_unit_test(a_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
