/* The fake NVML and the fake CUDA driver: NVML probing with every inventory and fault,
 * agreement of both fakes and of ambient on every A row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "launcher/core/ambient.h"
#include "launcher/io/nvml_abi.h"
#include "launcher/io/probe.h"
#include "launcher/io/probe_nvml.h"
#include "vector.h"

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static int use(const char *node, const char *fault, struct inventory *inv, struct err *e)
{
    set("FAKE_GPU_FILE", TESTS_DIR "/vectors/devices/inventories.json");
    set("FAKE_GPU_NODE", node);
    set("FAKE_NVML_FAULT", fault);
    return probe_nvml(FAKE_NVML, true, inv, e);
}

static void assert_same_device(const struct device *a, const struct device *b)
{
    assert_int_equal(a->index, b->index);
    assert_int_equal(a->lost, b->lost);
    if (a->lost)
        return; /* NVML says nothing more */
    assert_string_equal(a->uuid, b->uuid);
    assert_string_equal(a->pci, b->pci);
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->minor, b->minor);
    assert_int_equal(a->cc_major, b->cc_major);
    assert_int_equal(a->cc_minor, b->cc_minor);
    assert_int_equal(a->mode, b->mode);
    assert_int_equal(a->nprocs, b->nprocs);
    assert_int_equal(a->util, b->mig_enabled ? -1 : b->util);
    assert_true(a->mem_total == b->mem_total && a->mem_free == b->mem_free);
    assert_int_equal(a->mig_enabled, b->mig_enabled);
    assert_int_equal(a->nmig, b->nmig);
    for (int i = 0; i < a->nmig; i++) {
        assert_string_equal(a->mig[i].uuid, b->mig[i].uuid);
        assert_int_equal(a->mig[i].slot, b->mig[i].slot);
        assert_int_equal(a->mig[i].gi, b->mig[i].gi);
        assert_int_equal(a->mig[i].ci, b->mig[i].ci);
        assert_true(a->mig[i].mem_total == b->mig[i].mem_total);
    }
}

/* Nobody waits for what is not needed. */
static void the_load_is_asked_for_where_it_is_wanted(void **state)
{
    (void)state;
    struct inventory got;
    struct err e;
    assert_int_equal(use("NBUSY", NULL, &got, &e), 0);
    assert_true(got.ndevices > 0 && got.devices[0].util >= 0);
    inventory_fini(&got);
    assert_int_equal(probe_nvml(FAKE_NVML, false, &got, &e), 0);
    for (int i = 0; i < got.ndevices; i++)
        assert_true(got.devices[i].util == -1 && got.devices[i].mem_total > 0);
    inventory_fini(&got);
}

static void nvml_tells_every_inventory(void **state)
{
    (void)state;
    static const char *const names[] = {"N4",    "N8",    "NMIG",  "NHET", "NBUSY",
                                        "NLOST", "NPROH", "NEXCL", "N1"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct inventory want = vector_inventory(names[i]), got;
        struct err e;
        assert_int_equal(use(names[i], NULL, &got, &e), 0);
        assert_int_equal(got.ndevices, want.ndevices);
        for (int d = 0; d < got.ndevices; d++)
            assert_same_device(&got.devices[d], &want.devices[d]);
        inventory_fini(&got);
        inventory_fini(&want);
    }
}

static void a_failed_start_says_why(void **state)
{
    (void)state;
    struct inventory inv;
    struct err e;
    assert_int_equal(use("N4", "nvmlInit_v2=9", &inv, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "kernel module"));
    assert_int_equal(use("N4", "nvmlInit_v2=999", &inv, &e), -1);
    assert_non_null(strstr(e.text, "daemon-reload"));
    assert_int_equal(use("N4", "nvmlDeviceGetCount_v2=999", &inv, &e), -1);
    assert_non_null(strstr(e.text, "nvmlDeviceGetCount_v2"));
    assert_int_equal(use("nowhere", NULL, &inv, &e), -1);
    assert_int_equal(probe_nvml("/nonexistent/libnvidia-ml.so.1", true, &inv, &e), -1);
    assert_int_equal(probe_nvml("libm.so.6", true, &inv, &e), -1); /* a library, another one */
    assert_non_null(strstr(e.text, "nvmlErrorString"));
}

static void one_bad_gpu_does_not_end_the_list(void **state)
{
    (void)state;
    struct inventory inv;
    struct err e;
    assert_int_equal(use("N4", "nvmlDeviceGetHandleByIndex_v2=15,after=3", &inv, &e), 0);
    assert_int_equal(inv.ndevices, 4);
    assert_true(!inv.devices[2].lost && inv.devices[3].lost);
    inventory_fini(&inv);
    /* Not permitted (a hidden device node) is not lost: CUDA does not count it either. */
    assert_int_equal(use("N4", "nvmlDeviceGetHandleByIndex_v2=4,after=2", &inv, &e), 0);
    assert_int_equal(inv.ndevices, 2);
    inventory_fini(&inv);
    /* Gone between handle and question. */
    assert_int_equal(use("N4", "nvmlDeviceGetUUID=15,after=1", &inv, &e), 0);
    assert_int_equal(inv.ndevices, 4);
    assert_true(!inv.devices[0].lost && inv.devices[1].lost);
    inventory_fini(&inv);
}

static void missing_answers_are_unknown(void **state)
{
    (void)state;
    struct inventory inv;
    struct err e;
    assert_int_equal(
        use("N4",
            "nvmlDeviceGetUtilizationRates=3;nvmlDeviceGetMinorNumber=3;"
            "nvmlDeviceGetComputeRunningProcesses_v2=4;"
            "nvmlDeviceGetMemoryInfo_v2=3,after=1;nvmlDeviceGetMemoryInfo=3,after=1",
            &inv, &e),
        0);
    assert_int_equal(inv.devices[0].util, -1);
    assert_int_equal(inv.devices[0].minor, -1);
    assert_int_equal(inv.devices[0].nprocs, -1);
    assert_true(inv.devices[0].mem_total > 0); /* version 2 worked once */
    assert_true(inv.devices[1].mem_total > 0); /* then version 1 */
    assert_true(inv.devices[2].mem_total == 0);
    inventory_fini(&inv);
}

static void processes_are_read_by_a_stable_layout(void **state)
{
    (void)state;
    struct inventory inv;
    struct err e;
    assert_int_equal(use("NBUSY", NULL, &inv, &e), 0);
    assert_int_equal(inv.devices[0].npids, 2);
    assert_int_equal(inv.devices[0].pids[0], 1000);
    assert_int_equal(inv.devices[0].pids[1], 1001);
    inventory_fini(&inv);
}

static void a_forked_child_must_start_anew(void **state)
{
    (void)state;
    set("FAKE_GPU_NODE", "N4");
    set("FAKE_NVML_FAULT", NULL);
    void *library = dlopen(FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    int (*init)(void), (*count)(uint32_t *), (*end)(void);
    *(void **)&init = dlsym(library, "nvmlInit_v2");
    *(void **)&count = dlsym(library, "nvmlDeviceGetCount_v2");
    *(void **)&end = dlsym(library, "nvmlShutdown");
    uint32_t n = 0;
    assert_int_equal(count(&n), NVML_UNINITIALIZED);
    assert_int_equal(init(), 0);
    assert_int_equal(count(&n), 0);
    assert_int_equal(n, 4);
    pid_t child = fork();
    if (child == 0)
        _exit(count(&n) == NVML_UNINITIALIZED && init() == 0 && count(&n) == 0 && n == 4 ? 0
                                                                                         : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(end(), 0);
    assert_int_equal(count(&n), NVML_UNINITIALIZED);
    dlclose(library);
}

static void sources_are_tried_in_order(void **state)
{
    (void)state;
    struct inventory inv;
    struct err why, e;
    enum probe_source source;
    set("FAKE_GPU_NODE", "N8");
    set("FAKE_NVML_FAULT", NULL);
    set("MUSTER_NVML_PATH", FAKE_NVML);
    assert_int_equal(probe_devices(true, &source, &inv, &why, &e), 0);
    assert_int_equal(source, PROBE_NVML);
    assert_int_equal(inv.ndevices, 8);
    inventory_fini(&inv);
    set("MUSTER_FAKE_GPUS", TESTS_DIR "/vectors/devices/inventories.json:NMIG");
    assert_int_equal(probe_devices(true, &source, &inv, &why, &e), 0);
    assert_int_equal(source, PROBE_FAKE);
    assert_int_equal(inv.ndevices, 2);
    inventory_fini(&inv);
    set("MUSTER_FAKE_GPUS", TESTS_DIR "/vectors/devices/inventories.json");
    assert_int_equal(probe_devices(true, &source, &inv, &why, &e), 0);
    assert_int_equal(inv.ndevices, 4);
    inventory_fini(&inv);
    set("MUSTER_FAKE_GPUS", "/nonexistent.json:N4");
    assert_int_equal(probe_devices(true, &source, &inv, &why, &e), -1);
    set("MUSTER_FAKE_GPUS", NULL);
    set("MUSTER_NVML_PATH", NULL);
}

/* ---- CUDA ---- */

struct cuda {
    int (*init)(unsigned);
    int (*count)(int *);
    int (*uuid)(unsigned char *, int);
    int (*retain)(void **, int);
};

static void load_cuda(struct cuda *c)
{
    void *library = dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        _exit(90);
    *(void **)&c->init = dlsym(library, "cuInit");
    *(void **)&c->count = dlsym(library, "cuDeviceGetCount");
    *(void **)&c->uuid = dlsym(library, "cuDeviceGetUuid_v2");
    *(void **)&c->retain = dlsym(library, "cuDevicePrimaryCtxRetain");
}

/* "cuInit uuid uuid ..." in the child, the UUIDs as 32 hex digits. */
static void describe_cuda(FILE *to)
{
    struct cuda c;
    int n = 0;
    load_cuda(&c);
    int rc = c.init(0);
    fprintf(to, "%d", rc);
    if (rc == 0)
        rc = c.count(&n);
    for (int i = 0; rc == 0 && i < n; i++) {
        unsigned char uuid[16];
        void *context;
        rc = c.uuid(uuid, i);
        rc = rc ? rc : c.retain(&context, i);
        fputc(' ', to);
        for (int b = 0; b < 16; b++)
            fprintf(to, "%02x", uuid[b]);
    }
    fflush(to);
}

/* Runs describe_cuda in a fresh process; the caller frees. */
static char *ask_cuda(const char *node, const char *cvd, const char *order)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        set("FAKE_GPU_FILE", TESTS_DIR "/vectors/devices/inventories.json");
        set("FAKE_GPU_NODE", node);
        set("CUDA_VISIBLE_DEVICES", cvd);
        set("CUDA_DEVICE_ORDER", order);
        FILE *to = fdopen(ends[1], "w");
        describe_cuda(to);
        _exit(0);
    }
    close(ends[1]);
    char text[1024] = "";
    FILE *from = fdopen(ends[0], "r");
    size_t n = fread(text, 1, sizeof text - 1, from);
    text[n] = '\0';
    fclose(from);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return strdup(text);
}

/* What ambient says, in the same words. */
static char *ask_ambient(const char *node, const char *cvd, const char *order)
{
    struct inventory inv = vector_inventory(node);
    struct ambient amb = {cvd, order, false};
    struct gpu_fault f = {0};
    struct visible seen;
    struct buf b;
    buf_init(&b, 0);
    if (ambient_enumerate(&amb, &inv, &seen, &f) != 0) {
        buf_adds(&b, f.class == GPU_E_AMBIENT_BAD ? "101" : "?");
    } else {
        buf_adds(&b, seen.nunits ? "0" : "100");
        for (int i = 0; i < seen.nunits; i++) {
            buf_addc(&b, ' ');
            for (const char *p = gpu_unit_uuid(&inv, seen.units[i]) + 4; *p; p++)
                if (*p != '-')
                    buf_addc(&b, *p);
        }
        visible_fini(&seen);
    }
    inventory_fini(&inv);
    return buf_steal(&b);
}

static void assert_agree(const char *node, const char *cvd, const char *order)
{
    char *cuda = ask_cuda(node, cvd, order), *ambient = ask_ambient(node, cvd, order);
    assert_string_equal(cuda, ambient);
    free(cuda);
    free(ambient);
}

static void cuda_and_ambient_agree_on_every_row(void **state)
{
    (void)state;
    struct vector *v = vector_open("ambient.tsv");
    for (int row = 0; row < v->nrows; row++) {
        const char *node = vector_get(v, row, "inventory"), *cvd = vector_get(v, row, "cvd");
        const char *order = vector_get(v, row, "order");
        assert_agree(node, cvd, order);
        char *cuda = ask_cuda(node, cvd, order);
        assert_int_equal(atoi(cuda), vector_int(v, row, "cuinit", -1));
        free(cuda);
    }
    vector_close(v);
    static const char *const more[] = {
        "-18446744073709551615", "-18446744073709551616", "+-1", "\v1,2", " \t", "1 ,2",
        "MIG-7c22,MIG-e5d4"};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        assert_agree("N4", more[i], NULL);
    assert_agree("NHET", "1,0", "PCI_BUS_ID");
    assert_agree("NMIG", "MIG-bbbb", NULL);
}

static void contexts_are_logged(void **state)
{
    (void)state;
    char path[] = "/tmp/muster-cuda-log-XXXXXX", line[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    set("FAKE_CUDA_LOG", path);
    free(ask_cuda("N4", "2", NULL));
    set("FAKE_CUDA_LOG", NULL);
    FILE *log = fdopen(fd, "r");
    assert_non_null(fgets(line, sizeof line, log));
    assert_non_null(strstr(line, " GPU-7c22aa01-0000-4000-8000-00000000000c\n"));
    assert_null(fgets(line, sizeof line, log));
    fclose(log);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_load_is_asked_for_where_it_is_wanted),
        cmocka_unit_test(nvml_tells_every_inventory),
        cmocka_unit_test(a_failed_start_says_why),
        cmocka_unit_test(one_bad_gpu_does_not_end_the_list),
        cmocka_unit_test(missing_answers_are_unknown),
        cmocka_unit_test(processes_are_read_by_a_stable_layout),
        cmocka_unit_test(a_forked_child_must_start_anew),
        cmocka_unit_test(sources_are_tried_in_order),
        cmocka_unit_test(cuda_and_ambient_agree_on_every_row),
        cmocka_unit_test(contexts_are_logged),
    };
    log_set_level(LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
