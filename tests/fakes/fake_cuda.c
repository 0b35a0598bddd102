/* A libcuda.so.1 without GPUs: which devices a process sees, and who made a context where.
 *
 * Reads CUDA_VISIBLE_DEVICES once, at the first cuInit, by the rules measured on driver 580; an
 * implementation of its own, so that it can contradict launcher/core/ambient.c. A change before
 * cuInit works, after it does nothing; a child forked after it gets 3 from every call.
 * FAKE_CUDA_LOG gets a line "pid uuid" per context. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "fake_gpus.h"

enum { INVALID_VALUE = 1, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101 };
enum { MAX_SEEN = 64 };

struct seen {
    int device, mig;
};

static struct {
    pid_t pid; /* of the process whose cuInit worked; 0 = none yet */
    struct inventory inv;
    int base[MAX_SEEN]; /* number -> place in the inventory */
    struct seen seen[MAX_SEEN];
    int n;
} fake;

/* ---- order ---- */

static int by_pci(const void *a, const void *b)
{
    return strcmp(fake.inv.devices[*(const int *)a].pci, fake.inv.devices[*(const int *)b].pci);
}

static int by_speed(const void *a, const void *b)
{
    const struct device *x = &fake.inv.devices[*(const int *)a];
    const struct device *y = &fake.inv.devices[*(const int *)b];
    int faster = (y->cc_major * 100 + y->cc_minor) - (x->cc_major * 100 + x->cc_minor);
    return faster ? faster : by_pci(a, b);
}

static int make_base(void)
{
    const char *order = getenv("CUDA_DEVICE_ORDER");
    int pci = order && !strcmp(order, "PCI_BUS_ID");
    if (order && !pci && strcmp(order, "FASTEST_FIRST") != 0)
        return INVALID_DEVICE;
    for (int i = 0; i < fake.inv.ndevices; i++)
        fake.base[i] = i;
    qsort(fake.base, (size_t)fake.inv.ndevices, sizeof fake.base[0], pci ? by_pci : by_speed);
    return 0;
}

/* ---- CUDA_VISIBLE_DEVICES ---- */

static int find_legacy(const char *name, struct seen *out)
{
    char uuid[37] = "";
    int gi = -1, ci = -1, found = 0;
    if (sscanf(name, "%36[^/]/%d/%d", uuid, &gi, &ci) != 3)
        return 0;
    for (int d = 0; d < fake.inv.ndevices; d++) {
        const struct device *dev = &fake.inv.devices[d];
        for (int m = 0; dev->mig_enabled && m < dev->nmig; m++)
            if (!strncasecmp(dev->uuid + 4, uuid, strlen(uuid)) && dev->mig[m].gi == gi
                && dev->mig[m].ci == ci) {
                *out = (struct seen){d, m};
                found++;
            }
    }
    return found == 1;
}

static int find_uuid(const char *entry, struct seen *out)
{
    int mig_word = !strncmp(entry, "MIG-", 4), found = 0;
    if (!mig_word && strncmp(entry, "GPU-", 4) != 0)
        return 0;
    if (!strncmp(entry, "MIG-GPU-", 8))
        return find_legacy(entry + 8, out);
    size_t n = strlen(entry + 4) < 36 ? strlen(entry + 4) : 36;
    for (int d = 0; d < fake.inv.ndevices; d++) {
        const struct device *dev = &fake.inv.devices[d];
        if (!(mig_word && dev->mig_enabled) && !strncasecmp(dev->uuid + 4, entry + 4, n)) {
            *out = (struct seen){d, -1};
            found++;
        }
        for (int m = 0; mig_word && m < dev->nmig; m++)
            if (!strncasecmp(dev->mig[m].uuid + 4, entry + 4, n)) {
                *out = (struct seen){d, m};
                found++;
            }
    }
    return found == 1;
}

static int find_number(const char *entry, struct seen *out)
{
    char *end;
    unsigned value = (unsigned)strtoull(entry, &end, 10);
    if (end == entry || value >= (unsigned)fake.inv.ndevices)
        return 0;
    *out = (struct seen){fake.base[value], -1};
    return 1;
}

static int read_list(const char *value)
{
    value += strspn(value, " \t\n\v\f\r");
    int uuids = !strncmp(value, "GPU-", 4) || !strncmp(value, "MIG-", 4), rc = 0;
    char *copy = strdup(value), *rest = copy, *entry;
    while (rc == 0 && fake.n < MAX_SEEN && (entry = strsep(&rest, ","))) {
        struct seen s;
        if (!(uuids ? find_uuid(entry, &s) : find_number(entry, &s)))
            break;
        for (int i = 0; i < fake.n; i++)
            if (fake.seen[i].device == s.device && fake.seen[i].mig == s.mig)
                rc = INVALID_DEVICE;
        fake.seen[fake.n++] = s;
    }
    free(copy);
    return rc;
}

/* A process can use one MIG instance, and then nothing else; a GPU split by MIG shows its
 * first.
 */
static void keep_one_mig(void)
{
    int n = 0;
    for (int i = 0; i < fake.n; i++) {
        struct seen s = fake.seen[i];
        const struct device *d = &fake.inv.devices[s.device];
        if (s.mig < 0 && d->mig_enabled)
            s.mig = d->nmig ? 0 : -2;
        if (s.mig == -2 || (s.mig >= 0 && n))
            continue;
        fake.seen[n++] = s;
        if (s.mig >= 0)
            break;
    }
    fake.n = n;
}

static int enumerate(void)
{
    const char *value = getenv("CUDA_VISIBLE_DEVICES");
    int rc = make_base();
    fake.n = 0;
    if (rc == 0 && value)
        rc = read_list(value);
    for (int i = 0; rc == 0 && !value && i < fake.inv.ndevices; i++)
        fake.seen[fake.n++] = (struct seen){fake.base[i], -1};
    if (rc == 0)
        keep_one_mig();
    return rc ? rc : fake.n ? 0 : NO_DEVICE;
}

/* ---- the driver's functions; a CUdevice is its logical number ---- */

static int enter(void)
{
    return fake.pid == getpid() ? 0 : NOT_INITIALIZED;
}

static int enter_device(int dev)
{
    int rc = enter();
    return rc ? rc : dev < 0 || dev >= fake.n ? INVALID_DEVICE : 0;
}

FAKE_EXPORT int cuInit(unsigned flags);
FAKE_EXPORT int cuInit(unsigned flags)
{
    (void)flags;
    if (fake.pid)
        return enter();
    if (!fake.inv.devices && fake_gpus_load(&fake.inv) != 0)
        return NO_DEVICE;
    if (fake.inv.ndevices > MAX_SEEN)
        fake.inv.ndevices = MAX_SEEN;
    int rc = enumerate();
    if (rc == 0)
        fake.pid = getpid();
    return rc;
}

FAKE_EXPORT int cuDeviceGetCount(int *n);
FAKE_EXPORT int cuDeviceGetCount(int *n)
{
    int rc = enter();
    if (rc == 0)
        *n = fake.n;
    return rc;
}

FAKE_EXPORT int cuDeviceGet(int *dev, int ordinal);
FAKE_EXPORT int cuDeviceGet(int *dev, int ordinal)
{
    int rc = enter_device(ordinal);
    if (rc == 0)
        *dev = ordinal;
    return rc;
}

static const char *uuid_of(int dev)
{
    return gpu_unit_uuid(&fake.inv,
                         (struct gpu_unit){fake.seen[dev].device, fake.seen[dev].mig});
}

/* 16 bytes, without the words GPU- or MIG- and the dashes. */
FAKE_EXPORT int cuDeviceGetUuid_v2(unsigned char uuid[16], int dev);
FAKE_EXPORT int cuDeviceGetUuid_v2(unsigned char uuid[16], int dev)
{
    int rc = enter_device(dev), n = 0;
    if (rc != 0)
        return rc;
    for (const char *p = uuid_of(dev) + 4; *p && n < 16;) {
        unsigned byte;
        if (*p == '-')
            p++;
        else if (sscanf(p, "%2x", &byte) == 1 && p[1]) {
            uuid[n++] = (unsigned char)byte;
            p += 2;
        } else
            break;
    }
    return 0;
}

FAKE_EXPORT int cuDeviceGetPCIBusId(char *text, int size, int dev);
FAKE_EXPORT int cuDeviceGetPCIBusId(char *text, int size, int dev)
{
    int rc = enter_device(dev);
    if (rc == 0 && size < 13)
        rc = INVALID_VALUE;
    if (rc == 0)
        snprintf(text, (size_t)size, "%s", fake.inv.devices[fake.seen[dev].device].pci + 4);
    return rc;
}

FAKE_EXPORT int cuDevicePrimaryCtxRetain(void **context, int dev);
FAKE_EXPORT int cuDevicePrimaryCtxRetain(void **context, int dev)
{
    int rc = enter_device(dev);
    const char *path = getenv("FAKE_CUDA_LOG");
    if (rc != 0)
        return rc;
    *context = &fake.seen[dev];
    if (!path)
        return 0;
    char line[96];
    int n = snprintf(line, sizeof line, "%ld %s\n", (long)getpid(), uuid_of(dev));
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd >= 0) {
        if (write(fd, line, (size_t)n) != n)
            perror(path);
        close(fd);
    }
    return 0;
}
