/* A libnvidia-ml.so.1 without GPUs: answers from a JSON inventory, fails when told to.
 *
 * FAKE_NVML_FAULT="function=code[,after=N][,delay=MS][,abort];...": after N good calls the
 * function answers code (0 = none, only the delay), or ends the process. The handle of a lost
 * GPU answers 15; a child forked after init gets 1, as with the real library.
 *
 * FAKE_NVML_HEALTH="KEY=VALUE;...": what a healthy machine does not have, by device number:
 * ecc.D (uncorrectable errors), pending.D, failed.D (rows to be remapped), link.D.L=0 (an
 * NVLink that is down), p2p.A.B (status of access, both ways), fabric.D (state), status.D and
 * clique.D of it. Also what a GPU is doing: power.D (mW), temp.D (degrees Celsius), sm.D (MHz),
 * throttle.D (bits of the reasons); 75000, 30, 1980 and, of an idle GPU, 1 where nothing is
 * said; and nvlink.D and pcie.D, MB a second that it sends, half of which it gets; where
 * nothing is said it does not count them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_gpus.h"
#include "launcher/io/nvml_abi.h"

enum { INVALID_ARGUMENT = 2, MAX_FAULTS = 16, INSTANCES = DEVICE_MIG_MAX + 1 };

struct nvml_handle {
    int device, mig;
};

static struct {
    pthread_mutex_t lock;
    int users;
    pid_t pid;
    struct inventory inv;
    struct nvml_handle *handles; /* INSTANCES for each device: itself, then its instances */
    unsigned long calls[MAX_FAULTS];
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* One "function=code,after=N,delay=MS". */
static int apply_fault(char *fault, const char *function, unsigned long *calls)
{
    char *rest = fault, *part = strsep(&rest, ","), *name = strsep(&part, "=");
    int code = part ? atoi(part) : 0;
    unsigned long after = 0;
    long delay_ms = 0;
    if (strcmp(name, function) != 0)
        return 0;
    while ((part = strsep(&rest, ","))) {
        if (!strncmp(part, "after=", 6))
            after = strtoul(part + 6, NULL, 10);
        if (!strncmp(part, "delay=", 6))
            delay_ms = strtol(part + 6, NULL, 10);
        if (!strcmp(part, "abort"))
            abort();
    }
    struct timespec pause = {delay_ms / 1000, delay_ms % 1000 * 1000000};
    if (delay_ms > 0)
        nanosleep(&pause, NULL);
    return ++*calls > after ? code : 0;
}

static int fault(const char *function)
{
    const char *env = getenv("FAKE_NVML_FAULT");
    int rc = 0;
    if (!env)
        return 0;
    char *copy = strdup(env), *rest = copy, *part;
    for (int i = 0; i < MAX_FAULTS && (part = strsep(&rest, ";")); i++) {
        int code = apply_fault(part, function, &fake.calls[i]);
        rc = rc ? rc : code;
    }
    free(copy);
    return rc;
}

/* Passed by every function but init and errorString: what it has to answer at once, or 0. */
static int enter(const char *function)
{
    pthread_mutex_lock(&fake.lock);
    int rc = fake.users > 0 && fake.pid == getpid() ? fault(function) : NVML_UNINITIALIZED;
    pthread_mutex_unlock(&fake.lock);
    return rc;
}

static const struct device *device_of(const struct nvml_handle *h)
{
    return &fake.inv.devices[h->device];
}

/* The same for functions that take a device. */
static int enter_device(const char *function, const struct nvml_handle *h)
{
    int rc = enter(function);
    if (rc == 0 && !h)
        rc = INVALID_ARGUMENT;
    if (rc == 0 && device_of(h)->lost)
        rc = NVML_GPU_LOST;
    return rc;
}

static int copy_text(const char *from, char *to, uint32_t size)
{
    if (strlen(from) >= size)
        return NVML_TOO_SMALL;
    strcpy(to, from);
    return 0;
}

/* ---- start ---- */

static int load_inventory(void)
{
    if (fake_gpus_load(&fake.inv) != 0)
        return NVML_DRIVER_NOT_LOADED;
    fake.handles = calloc((size_t)fake.inv.ndevices * INSTANCES + 1, sizeof *fake.handles);
    for (int i = 0; i < fake.inv.ndevices * INSTANCES; i++)
        fake.handles[i] = (struct nvml_handle){i / INSTANCES, i % INSTANCES - 1};
    return 0;
}

static int init(const char *function)
{
    pthread_mutex_lock(&fake.lock);
    if (fake.pid != getpid()) /* also what a forked child must do to get going again */
        fake.users = 0;
    int rc = fault(function);
    if (rc == 0 && !fake.handles)
        rc = load_inventory();
    if (rc == 0) {
        fake.users++;
        fake.pid = getpid();
    }
    pthread_mutex_unlock(&fake.lock);
    return rc;
}

FAKE_EXPORT int nvmlInit_v2(void);
FAKE_EXPORT int nvmlInit_v2(void)
{
    return init(__func__);
}

FAKE_EXPORT int nvmlInitWithFlags(uint32_t flags);
FAKE_EXPORT int nvmlInitWithFlags(uint32_t flags)
{
    (void)flags;
    return init(__func__);
}

FAKE_EXPORT int nvmlShutdown(void);
FAKE_EXPORT int nvmlShutdown(void)
{
    int rc = enter(__func__);
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&fake.lock);
    if (--fake.users == 0) {
        free(fake.handles);
        fake.handles = NULL;
        inventory_fini(&fake.inv);
    }
    pthread_mutex_unlock(&fake.lock);
    return 0;
}

FAKE_EXPORT const char *nvmlErrorString(int rc);
FAKE_EXPORT const char *nvmlErrorString(int rc)
{
    return rc == 0 ? "Success" : rc == NVML_GPU_LOST ? "GPU is lost" : "fake error";
}

FAKE_EXPORT int nvmlSystemGetDriverVersion(char *text, uint32_t size);
FAKE_EXPORT int nvmlSystemGetDriverVersion(char *text, uint32_t size)
{
    int rc = enter(__func__);
    return rc ? rc : copy_text("580.00.00-fake", text, size);
}

/* ---- identity ---- */

FAKE_EXPORT int nvmlDeviceGetCount_v2(uint32_t *n);
FAKE_EXPORT int nvmlDeviceGetCount_v2(uint32_t *n)
{
    int rc = enter(__func__);
    if (rc == 0)
        *n = (uint32_t)fake.inv.ndevices;
    return rc;
}

static int give(int device, struct nvml_handle **h)
{
    *h = &fake.handles[device * INSTANCES];
    return fake.inv.devices[device].lost ? NVML_GPU_LOST : 0;
}

FAKE_EXPORT int nvmlDeviceGetHandleByIndex_v2(uint32_t i, struct nvml_handle **h);
FAKE_EXPORT int nvmlDeviceGetHandleByIndex_v2(uint32_t i, struct nvml_handle **h)
{
    int rc = enter(__func__);
    if (rc == 0 && i >= (uint32_t)fake.inv.ndevices)
        rc = INVALID_ARGUMENT;
    return rc ? rc : give((int)i, h);
}

FAKE_EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, struct nvml_handle **h);
FAKE_EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, struct nvml_handle **h)
{
    int rc = enter(__func__);
    for (int i = 0; rc == 0 && i < fake.inv.ndevices; i++)
        if (!strcmp(fake.inv.devices[i].uuid, uuid))
            return give(i, h);
    return rc ? rc : NVML_NOT_FOUND;
}

FAKE_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, struct nvml_handle **h);
FAKE_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, struct nvml_handle **h)
{
    int rc = enter(__func__);
    uint32_t want[3], got[3];
    if (rc == 0 && device_pci_parse(pci, &want[0], &want[1], &want[2]) != 0)
        rc = INVALID_ARGUMENT;
    for (int i = 0; rc == 0 && i < fake.inv.ndevices; i++)
        if (device_pci_parse(fake.inv.devices[i].pci, &got[0], &got[1], &got[2]) == 0
            && !memcmp(want, got, sizeof got))
            return give(i, h);
    return rc ? rc : NVML_NOT_FOUND;
}

FAKE_EXPORT int nvmlDeviceGetUUID(struct nvml_handle *h, char *text, uint32_t size);
FAKE_EXPORT int nvmlDeviceGetUUID(struct nvml_handle *h, char *text, uint32_t size)
{
    int rc = enter_device(__func__, h);
    if (rc != 0)
        return rc;
    return copy_text(gpu_unit_uuid(&fake.inv, (struct gpu_unit){h->device, h->mig}), text,
                     size);
}

FAKE_EXPORT int nvmlDeviceGetName(struct nvml_handle *h, char *text, uint32_t size);
FAKE_EXPORT int nvmlDeviceGetName(struct nvml_handle *h, char *text, uint32_t size)
{
    int rc = enter_device(__func__, h);
    return rc ? rc : copy_text(device_of(h)->name, text, size);
}

FAKE_EXPORT int nvmlDeviceGetPciInfo_v3(struct nvml_handle *h, struct nvml_pci *pci);
FAKE_EXPORT int nvmlDeviceGetPciInfo_v3(struct nvml_handle *h, struct nvml_pci *pci)
{
    int rc = enter_device(__func__, h);
    if (rc != 0)
        return rc;
    *pci = (struct nvml_pci){.pci_device_id = 0x233510de};
    device_pci_parse(device_of(h)->pci, &pci->domain, &pci->bus, &pci->device);
    snprintf(pci->bus_id, sizeof pci->bus_id, "%s", device_of(h)->pci);
    return 0;
}

FAKE_EXPORT int nvmlDeviceGetIndex(struct nvml_handle *h, uint32_t *index);
FAKE_EXPORT int nvmlDeviceGetIndex(struct nvml_handle *h, uint32_t *index)
{
    int rc = enter_device(__func__, h);
    if (rc == 0)
        *index = (uint32_t)device_of(h)->index;
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetMinorNumber(struct nvml_handle *h, uint32_t *minor);
FAKE_EXPORT int nvmlDeviceGetMinorNumber(struct nvml_handle *h, uint32_t *minor)
{
    int rc = enter_device(__func__, h);
    if (rc == 0)
        *minor = (uint32_t)device_of(h)->minor;
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetCudaComputeCapability(struct nvml_handle *h, int *major,
                                                   int *minor);
FAKE_EXPORT int nvmlDeviceGetCudaComputeCapability(struct nvml_handle *h, int *major,
                                                   int *minor)
{
    int rc = enter_device(__func__, h);
    if (rc == 0) {
        *major = device_of(h)->cc_major;
        *minor = device_of(h)->cc_minor;
    }
    return rc;
}

/* ---- state ---- */

FAKE_EXPORT int nvmlDeviceGetComputeMode(struct nvml_handle *h, int *mode);
FAKE_EXPORT int nvmlDeviceGetComputeMode(struct nvml_handle *h, int *mode)
{
    static const int numbers[] = {[COMPUTE_DEFAULT] = NVML_MODE_DEFAULT,
                                  [COMPUTE_PROHIBITED] = NVML_MODE_PROHIBITED,
                                  [COMPUTE_EXCLUSIVE_PROCESS] = NVML_MODE_EXCLUSIVE_PROCESS};
    int rc = enter_device(__func__, h);
    if (rc == 0)
        *mode = numbers[device_of(h)->mode];
    return rc;
}

static void memory_of(const struct nvml_handle *h, uint64_t *total, uint64_t *mem_free)
{
    const struct device *d = device_of(h);
    *total = h->mig < 0 ? d->mem_total : d->mig[h->mig].mem_total;
    *mem_free = h->mig < 0 ? d->mem_free : *total;
}

FAKE_EXPORT int nvmlDeviceGetMemoryInfo(struct nvml_handle *h, struct nvml_memory *m);
FAKE_EXPORT int nvmlDeviceGetMemoryInfo(struct nvml_handle *h, struct nvml_memory *m)
{
    int rc = enter_device(__func__, h);
    if (rc == 0) {
        memory_of(h, &m->total, &m->free);
        m->used = m->total - m->free;
    }
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetMemoryInfo_v2(struct nvml_handle *h, struct nvml_memory_v2 *m);
FAKE_EXPORT int nvmlDeviceGetMemoryInfo_v2(struct nvml_handle *h, struct nvml_memory_v2 *m)
{
    int rc = enter_device(__func__, h);
    if (rc == 0 && m->version != NVML_MEMORY_V2)
        rc = 25; /* NVML_ERROR_ARGUMENT_VERSION_MISMATCH */
    if (rc == 0) {
        memory_of(h, &m->total, &m->free);
        m->reserved = 0;
        m->used = m->total - m->free;
    }
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetUtilizationRates(struct nvml_handle *h,
                                              struct nvml_utilization *u);
FAKE_EXPORT int nvmlDeviceGetUtilizationRates(struct nvml_handle *h, struct nvml_utilization *u)
{
    int rc = enter_device(__func__, h);
    if (rc == 0 && device_of(h)->mig_enabled)
        rc = NVML_NOT_SUPPORTED;
    if (rc == 0)
        *u = (struct nvml_utilization){(uint32_t)device_of(h)->util, 0};
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetCurrentClocksEventReasons(struct nvml_handle *h, uint64_t *bits);
FAKE_EXPORT int nvmlDeviceGetCurrentClocksEventReasons(struct nvml_handle *h, uint64_t *bits)
{
    int rc = enter_device(__func__, h);
    if (rc == 0)
        *bits = device_of(h)->util ? 0 : 1; /* 1: idle */
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetNumaNodeId(struct nvml_handle *h, uint32_t *node);
FAKE_EXPORT int nvmlDeviceGetNumaNodeId(struct nvml_handle *h, uint32_t *node)
{
    (void)node;
    int rc = enter_device(__func__, h);
    return rc ? rc : NVML_NOT_SUPPORTED;
}

/* ---- processes ---- */

/* Bytes of an entry of version 2, and what drivers of series 535 write through version 3. */
enum { PROCESS_V2 = sizeof(struct nvml_process), PROCESS_V3 = PROCESS_V2 + 8 };

static int processes(const struct nvml_handle *h, uint32_t *n, void *list, size_t size)
{
    uint32_t have = (uint32_t)device_of(h)->nprocs, room = *n;
    *n = have;
    if (have > room)
        return NVML_TOO_SMALL;
    for (uint32_t i = 0; i < have; i++)
        memcpy((char *)list + i * size,
               &(struct nvml_process){1000 + i, 1 << 30, UINT32_MAX, UINT32_MAX}, PROCESS_V2);
    return 0;
}

FAKE_EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(struct nvml_handle *h, uint32_t *n,
                                                        struct nvml_process *list);
FAKE_EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(struct nvml_handle *h, uint32_t *n,
                                                        struct nvml_process *list)
{
    int rc = enter_device(__func__, h);
    return rc ? rc : processes(h, n, list, PROCESS_V2);
}

FAKE_EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_handle *h, uint32_t *n,
                                                        void *list);
FAKE_EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_handle *h, uint32_t *n,
                                                        void *list)
{
    int rc = enter_device(__func__, h);
    return rc ? rc : processes(h, n, list, PROCESS_V3);
}

FAKE_EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v3(struct nvml_handle *h, uint32_t *n,
                                                           struct nvml_process *list);
FAKE_EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v3(struct nvml_handle *h, uint32_t *n,
                                                           struct nvml_process *list)
{
    (void)list;
    int rc = enter_device(__func__, h);
    if (rc == 0)
        *n = 0;
    return rc;
}

/* ---- MIG ---- */

FAKE_EXPORT int nvmlDeviceGetMigMode(struct nvml_handle *h, uint32_t *now, uint32_t *pending);
FAKE_EXPORT int nvmlDeviceGetMigMode(struct nvml_handle *h, uint32_t *now, uint32_t *pending)
{
    int rc = enter_device(__func__, h);
    if (rc == 0)
        *now = *pending = device_of(h)->mig_enabled;
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetMaxMigDeviceCount(struct nvml_handle *h, uint32_t *n);
FAKE_EXPORT int nvmlDeviceGetMaxMigDeviceCount(struct nvml_handle *h, uint32_t *n)
{
    int rc = enter_device(__func__, h);
    if (rc == 0)
        *n = 7;
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(struct nvml_handle *h, uint32_t i,
                                                    struct nvml_handle **mig);
FAKE_EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(struct nvml_handle *h, uint32_t i,
                                                    struct nvml_handle **mig)
{
    int rc = enter_device(__func__, h);
    for (int m = 0; rc == 0 && m < device_of(h)->nmig; m++)
        if (device_of(h)->mig[m].slot == (int)i) {
            *mig = &fake.handles[h->device * INSTANCES + 1 + m];
            return 0;
        }
    return rc ? rc : NVML_NOT_FOUND;
}

FAKE_EXPORT int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct nvml_handle *mig,
                                                             struct nvml_handle **h);
FAKE_EXPORT int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct nvml_handle *mig,
                                                             struct nvml_handle **h)
{
    int rc = enter_device(__func__, mig);
    if (rc == 0 && mig->mig < 0)
        rc = INVALID_ARGUMENT;
    return rc ? rc : give(mig->device, h);
}

FAKE_EXPORT int nvmlDeviceGetGpuInstanceId(struct nvml_handle *h, uint32_t *id);
FAKE_EXPORT int nvmlDeviceGetGpuInstanceId(struct nvml_handle *h, uint32_t *id)
{
    int rc = enter_device(__func__, h);
    if (rc == 0 && h->mig < 0)
        rc = NVML_NOT_SUPPORTED;
    if (rc == 0)
        *id = (uint32_t)device_of(h)->mig[h->mig].gi;
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetComputeInstanceId(struct nvml_handle *h, uint32_t *id);
FAKE_EXPORT int nvmlDeviceGetComputeInstanceId(struct nvml_handle *h, uint32_t *id)
{
    int rc = enter_device(__func__, h);
    if (rc == 0 && h->mig < 0)
        rc = NVML_NOT_SUPPORTED;
    if (rc == 0)
        *id = (uint32_t)device_of(h)->mig[h->mig].ci;
    return rc;
}

/* ---- links ---- */

/* FAKE_NVLINK=peers: the links of a GPU go to the other GPUs in turn; =bridges: a bridge joins
 * 0 and 1, 2 and 3, ...; else all go to a switch. FAKE_NVLINKS=N: so many of each GPU. */
static bool is_nvlink(const char *how)
{
    const char *is = getenv("FAKE_NVLINK");
    return is && strcmp(is, how) == 0;
}

/* The GPU at the other end of a bridge; one that there is where nothing is bridged. */
static int bridged(const struct nvml_handle *h)
{
    return is_nvlink("bridges") ? h->device ^ 1 : 0;
}

FAKE_EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(struct nvml_handle *h, uint32_t link,
                                                    int *type);
FAKE_EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(struct nvml_handle *h, uint32_t link,
                                                    int *type)
{
    (void)link;
    int rc = enter_device(__func__, h);
    if (rc == 0)
        *type = is_nvlink("peers") || is_nvlink("bridges") ? 0 : 2;
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct nvml_handle *h, uint32_t link,
                                                    struct nvml_pci *pci);
FAKE_EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct nvml_handle *h, uint32_t link,
                                                    struct nvml_pci *pci)
{
    int rc = enter_device(__func__, h), n = fake.inv.ndevices;
    if (rc != 0 || n < 2)
        return rc ? rc : NVML_NOT_SUPPORTED;
    int other = is_nvlink("bridges") ? bridged(h) : (h->device + 1 + (int)link % (n - 1)) % n;
    if (other >= n)
        return INVALID_ARGUMENT;
    return nvmlDeviceGetPciInfo_v3(&fake.handles[other * INSTANCES], pci);
}

FAKE_EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(struct nvml_handle *h, uint32_t *gen);
FAKE_EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(struct nvml_handle *h, uint32_t *gen)
{
    int rc = enter_device(__func__, h);
    if (rc == 0)
        *gen = 5;
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetMaxPcieLinkWidth(struct nvml_handle *h, uint32_t *width);
FAKE_EXPORT int nvmlDeviceGetMaxPcieLinkWidth(struct nvml_handle *h, uint32_t *width)
{
    int rc = enter_device(__func__, h);
    if (rc == 0)
        *width = 16;
    return rc;
}

/* ---- topology ---- */

FAKE_EXPORT int nvmlDeviceGetTopologyCommonAncestor(struct nvml_handle *a,
                                                    struct nvml_handle *b, int *level);
FAKE_EXPORT int nvmlDeviceGetTopologyCommonAncestor(struct nvml_handle *a,
                                                    struct nvml_handle *b, int *level)
{
    int rc = enter_device(__func__, a);
    if (rc == 0 && a == b)
        rc = NVML_NOT_SUPPORTED;
    if (rc == 0)
        *level = device_of(a)->numa == device_of(b)->numa ? 40 : 50;
    return rc;
}

static int health(const char *key, int missing)
{
    const char *at = getenv("FAKE_NVML_HEALTH");
    size_t n = strlen(key);
    for (; at && *at; at += *at == ';') {
        if (strncmp(at, key, n) == 0 && at[n] == '=')
            return atoi(at + n + 1);
        at += strcspn(at, ";");
    }
    return missing;
}

static int health_of(const char *what, int a, int b, int missing)
{
    char key[64];
    if (b < 0)
        snprintf(key, sizeof key, "%s.%d", what, a);
    else
        snprintf(key, sizeof key, "%s.%d.%d", what, a, b);
    return health(key, missing);
}

FAKE_EXPORT int nvmlDeviceGetP2PStatus(struct nvml_handle *a, struct nvml_handle *b, int what,
                                       int *status);
FAKE_EXPORT int nvmlDeviceGetP2PStatus(struct nvml_handle *a, struct nvml_handle *b, int what,
                                       int *status)
{
    (void)what;
    int rc = enter_device(__func__, a);
    if (rc == 0)
        *status =
            health_of("p2p", a->device, b->device, health_of("p2p", b->device, a->device, 0));
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetNvLinkState(struct nvml_handle *h, uint32_t link, int *on);
FAKE_EXPORT int nvmlDeviceGetNvLinkState(struct nvml_handle *h, uint32_t link, int *on)
{
    int rc = enter_device(__func__, h);
    const char *links = getenv("FAKE_NVLINKS");
    if (rc == 0 && (int)link >= (links ? atoi(links) : 18))
        rc = INVALID_ARGUMENT;
    if (rc == 0)
        *on = health_of("link", h->device, (int)link, bridged(h) < fake.inv.ndevices);
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetGpuFabricInfo(struct nvml_handle *h, struct nvml_fabric *fabric);
FAKE_EXPORT int nvmlDeviceGetGpuFabricInfo(struct nvml_handle *h, struct nvml_fabric *fabric)
{
    int rc = enter_device(__func__, h);
    if (rc != 0)
        return rc;
    int clique = health_of("clique", h->device, -1, 0);
    *fabric = (struct nvml_fabric){
        .state = (unsigned char)health_of("fabric", h->device, -1, 3),
        .status = health_of("status", h->device, -1, 0),
        .clique = (uint32_t)clique,
    };
    fabric->cluster[0] = clique ? 0xab : 0;
    return 0;
}

/* ---- what it is doing ---- */

FAKE_EXPORT int nvmlDeviceGetPowerUsage(struct nvml_handle *h, uint32_t *mw);
FAKE_EXPORT int nvmlDeviceGetPowerUsage(struct nvml_handle *h, uint32_t *mw)
{
    int rc = enter_device(__func__, h);
    if (rc == 0)
        *mw = (uint32_t)health_of("power", h->device, -1, 75000);
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetTemperature(struct nvml_handle *h, int sensor, uint32_t *celsius);
FAKE_EXPORT int nvmlDeviceGetTemperature(struct nvml_handle *h, int sensor, uint32_t *celsius)
{
    int rc = enter_device(__func__, h);
    if (rc == 0 && sensor != NVML_TEMPERATURE_GPU)
        rc = INVALID_ARGUMENT;
    if (rc == 0)
        *celsius = (uint32_t)health_of("temp", h->device, -1, 30);
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetClockInfo(struct nvml_handle *h, int clock, uint32_t *mhz);
FAKE_EXPORT int nvmlDeviceGetClockInfo(struct nvml_handle *h, int clock, uint32_t *mhz)
{
    int rc = enter_device(__func__, h);
    if (rc == 0 && clock != NVML_CLOCK_SM)
        rc = INVALID_ARGUMENT;
    if (rc == 0)
        *mhz = (uint32_t)health_of("sm", h->device, -1, 1980);
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_handle *h,
                                                          unsigned long long *bits);
FAKE_EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_handle *h,
                                                          unsigned long long *bits)
{
    int rc = enter_device(__func__, h);
    if (rc == 0)
        *bits = (unsigned long long)health_of("throttle", h->device, -1, !device_of(h)->util);
    return rc;
}

/* Bytes that a link has carried since the machine was booted. */
static uint64_t carried(uint64_t mb_s)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return mb_s * ((uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

static int read_field(const struct nvml_handle *h, struct nvml_field *f)
{
    bool is_nvlink = f->id == NVML_FIELD_NVLINK_TX_KIB || f->id == NVML_FIELD_NVLINK_RX_KIB;
    bool is_sent = f->id == NVML_FIELD_NVLINK_TX_KIB || f->id == NVML_FIELD_PCIE_TX;
    int mb_s = health_of(is_nvlink ? "nvlink" : "pcie", h->device, -1, -1);
    if (mb_s < 0 || (is_nvlink && f->scope != NVML_SCOPE_ALL_LINKS))
        return NVML_NOT_SUPPORTED;
    uint64_t n = carried((uint64_t)mb_s) / (is_sent ? 1 : 2);
    f->type = is_nvlink ? NVML_VALUE_U64 : NVML_VALUE_U32;
    if (is_nvlink)
        f->value.u64 = n / 1024;
    else
        f->value.u32 = (uint32_t)n;
    return NVML_OK;
}

FAKE_EXPORT int nvmlDeviceGetFieldValues(struct nvml_handle *h, int n, struct nvml_field *list);
FAKE_EXPORT int nvmlDeviceGetFieldValues(struct nvml_handle *h, int n, struct nvml_field *list)
{
    int rc = enter_device(__func__, h);
    for (int i = 0; rc == 0 && i < n; i++)
        list[i].status = read_field(h, &list[i]);
    return rc;
}

/* ---- health ---- */

FAKE_EXPORT int nvmlDeviceGetTotalEccErrors(struct nvml_handle *h, int type, int counter,
                                            uint64_t *n);
FAKE_EXPORT int nvmlDeviceGetTotalEccErrors(struct nvml_handle *h, int type, int counter,
                                            uint64_t *n)
{
    int rc = enter_device(__func__, h);
    if (rc == 0)
        *n = type == NVML_ECC_UNCORRECTED && counter == NVML_ECC_VOLATILE
                 ? (uint64_t)health_of("ecc", h->device, -1, 0)
                 : 0;
    return rc;
}

FAKE_EXPORT int nvmlDeviceGetRemappedRows(struct nvml_handle *h, uint32_t *corrected,
                                          uint32_t *uncorrected, uint32_t *pending,
                                          uint32_t *failed);
FAKE_EXPORT int nvmlDeviceGetRemappedRows(struct nvml_handle *h, uint32_t *corrected,
                                          uint32_t *uncorrected, uint32_t *pending,
                                          uint32_t *failed)
{
    int rc = enter_device(__func__, h);
    if (rc != 0)
        return rc;
    *corrected = *uncorrected = 0;
    *pending = (uint32_t)health_of("pending", h->device, -1, 0);
    *failed = (uint32_t)health_of("failed", h->device, -1, 0);
    return 0;
}
