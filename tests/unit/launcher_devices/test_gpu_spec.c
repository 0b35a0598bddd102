/* gpu_spec and the corners of resolve() that no row of resolve.tsv has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "launcher/core/device_select.h"
#include "vector.h"

#define COUNT(rows) (sizeof rows / sizeof rows[0])

static void reads_every_form(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum gpu_item_kind kind;
        int first, last;
        const char *hex;
    } rows[] = {
        {"all", GPU_ITEM_ALL, -1, -1, ""},
        {"none", GPU_ITEM_NONE, -1, -1, ""},
        {"auto", GPU_ITEM_AUTO, -1, -1, ""},
        {"auto:12", GPU_ITEM_AUTO, 12, -1, ""},
        {"n:4", GPU_ITEM_FIRST, 4, -1, ""},
        {"0", GPU_ITEM_POSITION, 0, 0, ""},
        {"9999-3", GPU_ITEM_POSITION, 9999, 3, ""},
        {"^7", GPU_ITEM_POSITION, 7, 7, ""},
        {"phys:2-5", GPU_ITEM_PHYS, 2, 5, ""},
        {"gpu-AB-0", GPU_ITEM_GPU_UUID, -1, -1, "ab-0"},
        {"miG-c", GPU_ITEM_MIG_UUID, -1, -1, "c"},
        {"mig-gpu-Ff/1/0", GPU_ITEM_MIG_LEGACY, 1, 0, "ff"},
        {"mig:1:2", GPU_ITEM_MIG_SLOT, 1, 2, ""},
        {"pci:0000:B3:00.0", GPU_ITEM_PCI, -1, -1, ""},
        {"minor:3", GPU_ITEM_MINOR, 3, -1, ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gpu_spec spec;
        struct err e;
        if (gpu_spec_parse(rows[i].text, &spec, &e) != 0)
            fail_msg("%s: %s", rows[i].text, e.text);
        assert_int_equal(spec.nitems, 1);
        assert_int_equal(spec.items[0].kind, rows[i].kind);
        assert_int_equal(spec.items[0].first, rows[i].first);
        assert_int_equal(spec.items[0].last, rows[i].last);
        assert_string_equal(spec.items[0].hex, rows[i].hex);
        assert_int_equal(spec.items[0].removes, rows[i].text[0] == '^');
        gpu_spec_fini(&spec);
    }
}

static void refuses_and_suggests(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "none"},
        {" ", "none"},
        {",", "empty"},
        {"0,", "empty"},
        {"ALL", "all"},
        {"None", "none"},
        {"auto:", "auto:N"},
        {"auto:x", "auto:N"},
        {"n:", "n:N"},
        {"cuda:1", "write the number alone, 1"},
        {"[0,1]", "brackets"},
        {"\"0", "quotes"},
        {"0:3", "0-3"},
        {"0..3", "0-3"},
        {"0;1", "commas"},
        {"-1", "^1"},
        {"00", "write 0"},
        {"12345", "decimal"},
        {"1-", "decimal"},
        {"1-2-3", "decimal"},
        {"0:x", "decimal"},
        {"deadbeef", "GPU-deadbeef"},
        {"^all", "^I"},
        {"^", "^I"},
        {"^^1", "^I"},
        {"GPU-", "GPU-UUID"},
        {"GPU-xyz", "GPU-UUID"},
        {"GPU-0123456789012345678901234567890123456", "GPU-UUID"},
        {"MIG-GPU-1f/1", "MIG-UUID"},
        {"MIG-GPU-1f/1/2/3", "MIG-UUID"},
        {"mig:0", "mig:G:M"},
        {"pci:17", "pci:BB:DD"},
        {"pci:17:00.1", "pci:BB:DD"},
        {"pci:000:17:00", "pci:BB:DD"},
        {"minor:-1", "minor:N"},
        {"phys:01", "phys:I"},
        {"auto,0", "alone"},
        {"0,none", "alone"},
        {"n:1,n:2", "alone"},
        {"0,\n1\x1b[31m", "cannot read"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gpu_spec spec;
        struct err e;
        if (gpu_spec_parse(rows[i].text, &spec, &e) == 0)
            fail_msg("%s was accepted", rows[i].text);
        assert_int_equal(e.code, ERR_GPU_REQUEST);
        assert_null(spec.items);
        assert_null(strpbrk(e.text, "\n\x1b"));
        if (!strstr(e.text, rows[i].says))
            fail_msg("%s: \"%s\" lacks \"%s\"", rows[i].text, e.text, rows[i].says);
    }
}

static void reads_requirements(void **state)
{
    (void)state;
    struct require r;
    assert_int_equal(gpu_require_parse("free>=40G, util<=10,procs=0", &r, NULL), 0);
    assert_true(r.free_gib == 40 && r.util == 10 && r.procs == 0);
    assert_int_equal(gpu_require_parse("util<=0", &r, NULL), 0);
    assert_true(r.free_gib == -1 && r.util == 0 && r.procs == -1);
    static const char *const bad[] = {"",         "free>=G",  "free>=40",
                                      "free>40G", "free>=",   "util<=101",
                                      "procs=-1", "procs=0,", "procs=0,procs=0"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(gpu_require_parse(bad[i], &r, NULL), -1);
}

/* ---- resolve ---- */

struct corner {
    const char *inventory, *cvd, *gpus;
    struct request req;
    const char *expect; /* class, or "cvd|dev|LOCAL_RANK" of the last rank, `-` = not written */
};

static char *resolve(const struct corner *c)
{
    struct inventory inv = {0};
    struct request req = c->req;
    struct ambient amb = {.cvd = c->cvd};
    struct gpu_spec spec = {0};
    struct device_choice choice;
    struct buf out;
    struct err e;
    buf_init(&out, 0);
    if (c->inventory && strcmp(c->inventory, "NO_GPU") != 0)
        inv = vector_inventory(c->inventory);
    if (c->gpus)
        assert_int_equal(gpu_spec_parse(c->gpus, &spec, &e), 0);
    req.spec = c->gpus ? &spec : NULL;
    if (device_resolve(&req, &amb, c->inventory ? &inv : NULL, &choice, &e) != 0) {
        print_message("    %s\n", e.text);
        buf_adds(&out, gpu_error_name(choice.error));
    } else {
        const struct rank_device *last = &choice.ranks[choice.nranks - 1];
        buf_addf(&out, "%s|%d|%d", last->cvd ? last->cvd : "-", last->dev, last->local_rank);
        device_choice_fini(&choice);
    }
    gpu_spec_fini(&spec);
    inventory_fini(&inv);
    return buf_steal(&out);
}

static void settles_corners(void **state)
{
    (void)state;
    static const struct corner rows[] = {
        {"N4", NULL, NULL, {.n = -1}, "E_SYNTAX"},
        {"N4", NULL, NULL, {.procs_per_gpu = -1}, "E_SYNTAX"},
        {"N4", NULL, NULL, {.procs_per_gpu = 2, .gpus_per_proc = 2}, "E_CONFLICT"},
        {"N4", NULL, "none", {.n = 0}, "E_EMPTY"},
        {"N4", NULL, "none", {.n = 1, .binding = BINDING_NONE}, "E_CONFLICT"},
        {"N4", NULL, "auto:0", {.n = 0}, "E_EMPTY"},
        {"N4", NULL, "n:0", {.n = 0}, "E_EMPTY"},
        {"N4", NULL, "n:5", {.n = 0}, "E_INSUFFICIENT"},
        {"N4", "2,0", "n:2,^1", {.n = 0}, "2|0|0"},
        {"N4", NULL, "auto", {.n = 2, .gpus_per_proc = 2}, "0,1,2,3|2|1"},
        {"N4", NULL, "all,0", {.n = 0}, "E_DUPLICATE"},
        {"N4", NULL, NULL, {.n = 5, .slots = true}, "E_CONFLICT"},
        {"N4", NULL, NULL, {.n = 3, .gpus_per_proc = 2}, "E_OVERSUBSCRIBED"},
        {"N4", NULL, NULL, {.n = 1, .gpus_per_proc = 3}, "0,1,2|0|0"},
        {"N4",
         NULL,
         NULL,
         {.n = 2, .gpus_per_proc = 2, .binding = BINDING_ROTATED},
         "2,3,0,1|0|0"},
        {"N4",
         "3,1",
         NULL,
         {.format = GPU_FORMAT_UUID, .binding = BINDING_ISOLATED},
         "GPU-1f9b10d2-0000-4000-8000-00000000000b|0|1"},
        {"N4", "GPU-e5d4,GPU-1f9b", NULL, {.format = GPU_FORMAT_INDEX}, "3,1|1|1"},
        {"NMIG", NULL, "mig:0:0", {.format = GPU_FORMAT_INDEX}, "E_CONFLICT"},
        {"NMIG", NULL, "mig:0:0", {.n = 0}, "MIG-aaaa0001-0000-5000-8000-000000000001|0|0"},
        {"NMIG", NULL, "mig:0:5", {.n = 0}, "E_NO_MATCH"},
        {"NMIG", NULL, "1", {.n = 0}, "1|0|0"},
        {"NMIG",
         NULL,
         "n:2",
         {.binding = BINDING_ISOLATED},
         "MIG-bbbb0002-0000-5000-8000-000000000002|0|1"},
        {"NMIG",
         NULL,
         "all",
         {.gpus_per_proc = 2, .binding = BINDING_ISOLATED},
         "E_MIG_SHARED"},
        {"NMIG", "MIG-aaaa", "mig:0:1", {.n = 0}, "E_NOT_VISIBLE"},
        {"NMIG", "MIG-aaaa,GPU-1f0a", NULL, {.binding = BINDING_ISOLATED}, "E_DUPLICATE"},
        {"NMIG", NULL, "auto", {.n = 0}, "1|0|0"},
        {"N4", "", NULL, {.n = 2}, "-|-1|1"},
        {"N4", "", "all", {.n = 2}, "E_NO_DEVICES"},
        {"N4", "x", NULL, {.n = 2}, "E_NO_DEVICES"},
        {"N4", "", "phys:2", {.ignore_visible = true}, "2|0|0"},
        {"N4", "", "0", {.ignore_visible = true}, "E_NO_DEVICES"},
        {"N4", "", NULL, {.binding = BINDING_NONE}, "E_NO_DEVICES"},
        {"N4", "", NULL, {.n = 3, .binding = BINDING_NONE}, "-|2|2"},
        {"NO_GPU", NULL, NULL, {.n = 2}, "-|-1|1"},
        {"NO_GPU", NULL, NULL, {.n = 0}, "E_NO_DEVICES"},
        {"NO_GPU", "0", NULL, {.n = 2}, "E_NO_DEVICES"},
        {NULL, NULL, "0", {.n = 1}, "E_NVML"},
        {NULL, "0,1", "all", {.n = 3}, "E_OVERSUBSCRIBED"},
        {NULL, "0,0", NULL, {.n = 0}, "E_AMBIENT_BAD"},
        {NULL, " 3x , 1,junk", NULL, {.binding = BINDING_ISOLATED}, "1|0|1"},
        {NULL, "MIG-a,MIG-b", NULL, {.n = 0}, "E_MIG_SHARED"},
        {NULL, "MIG-a,MIG-b", NULL, {.binding = BINDING_ISOLATED_VIRTUAL}, "MIG-b|0|0"},
        {NULL, "", NULL, {.n = 2}, "-|-1|1"},
        {NULL, "", NULL, {.n = 0}, "E_NO_DEVICES"},
        {NULL, NULL, NULL, {.n = 2, .binding = BINDING_ISOLATED_VIRTUAL}, "-|1|1"},
        {NULL, NULL, "none", {.n = 2}, "|-1|1"},
        {"NLOST", NULL, "1", {.n = 0}, "E_UNHEALTHY"},
        {"NLOST", NULL, "1", {.skip_unhealthy = true}, "E_EMPTY"},
        {"NPROH", NULL, "auto", {.n = 0}, "0,1,3|2|2"},
        {"NPROH", NULL, "2", {.n = 0}, "E_PROHIBITED"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *got = resolve(&rows[i]);
        if (strcmp(got, rows[i].expect) != 0)
            fail_msg("corner %zu (%s, %s): %s, not %s", i, rows[i].cvd ? rows[i].cvd : "-",
                     rows[i].gpus ? rows[i].gpus : "-", got, rows[i].expect);
        free(got);
    }
}

/* Where NVML skips a device or does not count in PCI order, its index is not CUDA's number. */
static void index_is_the_place_in_pci_order(void **state)
{
    (void)state;
    struct device devices[2] = {{.index = 1, .pci = "00000000:B3:00.0", .uuid = "GPU-b"},
                                {.index = 2, .pci = "00000000:17:00.0", .uuid = "GPU-1"}};
    struct inventory inv = {.devices = devices, .ndevices = 2};
    struct request req = {.binding = BINDING_ISOLATED};
    struct ambient amb = {0};
    struct device_choice c;
    struct buf b;
    struct gpu_spec spec;
    assert_int_equal(gpu_spec_parse("phys:1", &spec, NULL), 0);
    req.spec = &spec;
    assert_int_equal(device_resolve(&req, &amb, &inv, &c, NULL), 0);
    assert_string_equal(c.ranks[0].cvd, "1"); /* GPU 1 is at b3: the second for CUDA */
    buf_init(&b, 0);
    device_choice_fact(&c, &inv, 0, GPU_FACT_PCI_BUS_ID, &b);
    assert_string_equal(buf_str(&b), "00000000:B3:00.0");
    buf_reset(&b);
    device_choice_fact(&c, &inv, 0, GPU_FACT_INDEX, &b);
    assert_string_equal(buf_str(&b), "1");
    device_choice_fini(&c);
    gpu_spec_fini(&spec);
    buf_fini(&b);
}

static void facts_of_several_gpus_are_lists(void **state)
{
    (void)state;
    struct inventory inv = vector_inventory("N4");
    struct request req = {.gpus_per_proc = 2};
    struct ambient amb = {.cvd = "3,0,2,1"};
    struct device_choice c;
    struct buf b;
    assert_int_equal(device_resolve(&req, &amb, &inv, &c, NULL), 0);
    buf_init(&b, 0);
    device_choice_fact(&c, &inv, 1, GPU_FACT_INDEX, &b);
    assert_string_equal(buf_str(&b), "2,1");
    buf_fini(&b);
    device_choice_fini(&c);
    inventory_fini(&inv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_form),
        cmocka_unit_test(refuses_and_suggests),
        cmocka_unit_test(reads_requirements),
        cmocka_unit_test(settles_corners),
        cmocka_unit_test(index_is_the_place_in_pci_order),
        cmocka_unit_test(facts_of_several_gpus_are_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
