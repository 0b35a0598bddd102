/* device.h - a GPU as the inventory knows it, and the few questions that need nothing else.
 *
 * Owns the value types device, mig, inventory and unit. A device is named by its place in the
 * inventory's array; the NVML index is a field, because NVML may skip devices. Selection is
 * device_select, CUDA's view of the environment is ambient.
 */
#ifndef MUSTER_LAUNCHER_CORE_DEVICE_H
#define MUSTER_LAUNCHER_CORE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum compute_mode { COMPUTE_DEFAULT, COMPUTE_PROHIBITED, COMPUTE_EXCLUSIVE_PROCESS };

enum { DEVICE_MIG_MAX = 8, DEVICE_PIDS_MAX = 8 };

struct mig {
    int slot, gi, ci;   /* NVML's MIG slot, GPU instance id, compute instance id */
    char uuid[64];      /* "MIG-..." */
    uint64_t mem_total; /* bytes; 0 = unknown */
};

struct device {
    int index;                      /* NVML index */
    int minor;                      /* N of /dev/nvidiaN; -1 = unknown */
    int numa;                       /* NUMA node of the CPUs next to it; -1 = unknown */
    int cc_major, cc_minor;         /* compute capability; 0.0 = unknown */
    int util, nprocs;               /* percent, compute processes; -1 = unknown */
    uint32_t pids[DEVICE_PIDS_MAX]; /* of the first npids processes; the host's, not the
                                     * container's */
    int npids;
    char uuid[48]; /* "GPU-..."; empty = unknown (a lost GPU) */
    char pci[20];  /* "00000000:65:00.0"; empty = unknown */
    char name[96];
    uint64_t mem_total, mem_free; /* bytes; mem_total 0 = both unknown */
    enum compute_mode mode;
    bool lost, mig_enabled;
    int nmig;
    struct mig mig[DEVICE_MIG_MAX];
};

/* What one machine has. An inventory without devices says that there is no GPU, which is not
 * the same as no inventory (a NULL pointer where functions take one). */
struct inventory {
    struct device *devices; /* owned, by NVML index */
    int ndevices;
    const char *const *probe; /* UUIDs in CUDA's own order, or NULL; borrowed */
    int nprobe;
};

/* Frees what the inventory owns; it is empty then. */
void inventory_fini(struct inventory *inv);

/* What a worker is given: a GPU, or one MIG instance of it. */
struct gpu_unit {
    int device; /* place in inventory.devices */
    int mig;    /* place in device.mig, -1 = the whole GPU */
};

/* Whether both are the same GPU, or the same instance of it. */
bool gpu_unit_eq(struct gpu_unit a, struct gpu_unit b);

/* The unit's own UUID; lives as long as the inventory. */
const char *gpu_unit_uuid(const struct inventory *inv, struct gpu_unit u);

/* Appends "2" for a GPU, "0:1" for a MIG instance: NVML index and MIG slot. */
void gpu_unit_format(const struct inventory *inv, struct gpu_unit u, struct buf *out);

/* Splits "00000000:65:00.0" (domain of 4 to 8 digits); 0 or -1. */
int device_pci_parse(const char *pci, uint32_t *domain, uint32_t *bus, uint32_t *dev);

/* Fills order[0..ndevices) with places in PCI order, which is how CUDA counts under
 * CUDA_DEVICE_ORDER=PCI_BUS_ID. A device without a known address keeps its NVML place. */
void device_pci_order(const struct inventory *inv, int *order);

/* Whether GPUs of different name or compute capability are present: then CUDA's default order
 * may differ from PCI order. */
bool device_is_mixed(const struct inventory *inv);

/* Whether uuid ("GPU-<36 characters>", also MIG-) begins, after its first four characters, with
 * text: up to 36 characters are compared, letters in any case. This is how the CUDA driver
 * compares. An unknown UUID matches nothing. */
bool device_uuid_starts(const char *uuid, struct str text);

#endif
