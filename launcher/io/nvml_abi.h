/* nvml_abi.h - the part of NVML's binary interface that muster uses, in its own words.
 *
 * Owns names, numbers and layouts of libnvidia-ml.so.1, so that building needs no vendor
 * header. nvmlReturn_t and NVML's enums are int, nvmlDevice_t is a pointer. Symbols are the
 * versioned ones: the plain names are older interfaces. Loads and calls nothing.
 */
#ifndef MUSTER_LAUNCHER_IO_NVML_ABI_H
#define MUSTER_LAUNCHER_IO_NVML_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

struct nvml_handle; /* never defined: NVML's own */

enum {
    NVML_OK = 0,
    NVML_UNINITIALIZED = 1,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_TOO_SMALL = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_GPU_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_OS_BLOCKED = 17,
    NVML_VERSION_MISMATCH = 18,
    NVML_UNKNOWN = 999
};

enum { NVML_MODE_DEFAULT = 0, NVML_MODE_PROHIBITED = 2, NVML_MODE_EXCLUSIVE_PROCESS = 3 };

struct nvml_pci {
    char bus_id_legacy[16];
    uint32_t domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32]; /* "00000000:65:00.0" */
};
static_assert(sizeof(struct nvml_pci) == 68, "nvmlPciInfo_t");
static_assert(offsetof(struct nvml_pci, bus_id) == 36, "nvmlPciInfo_t.busId");

struct nvml_memory {
    uint64_t total, free, used; /* bytes */
};
static_assert(sizeof(struct nvml_memory) == 24, "nvmlMemory_t");

struct nvml_memory_v2 {
    uint32_t version;
    uint64_t total, reserved, free, used; /* bytes; free leaves out what is reserved */
};
static_assert(sizeof(struct nvml_memory_v2) == 40, "nvmlMemory_v2_t");
#define NVML_MEMORY_V2 0x2000028u

struct nvml_utilization {
    uint32_t gpu, memory; /* percent */
};
static_assert(sizeof(struct nvml_utilization) == 8, "nvmlUtilization_t");

/* One answer of nvmlDeviceGetFieldValues: id and scope go in. */
struct nvml_field {
    uint32_t id, scope;
    int64_t timestamp_us, latency_us;
    uint32_t type;  /* of value: NVML_VALUE_ */
    int32_t status; /* an nvmlReturn_t */
    union {
        uint32_t u32;
        uint64_t u64;
    } value;
};
static_assert(sizeof(struct nvml_field) == 40, "nvmlFieldValue_t");
static_assert(offsetof(struct nvml_field, value) == 32, "nvmlFieldValue_t.value");

enum { NVML_VALUE_U32 = 1, NVML_VALUE_U64 = 3 }; /* nvmlValueType_t */

/* Fields, NVML_FI_DEV_. NVLink's count data in KiB, over all links of the scope; PCIe's count
 * bytes with what the protocol adds, and begin anew after 4 GiB (measured: driver 580, H200).
 */
enum {
    NVML_FIELD_NVLINK_TX_KIB = 138,
    NVML_FIELD_NVLINK_RX_KIB = 139,
    NVML_FIELD_PCIE_TX = 197,
    NVML_FIELD_PCIE_RX = 198
};
#define NVML_SCOPE_ALL_LINKS UINT32_MAX

/* Of nvmlDeviceGetComputeRunningProcesses_v2. Version 3 is not used: some drivers, first
 * those of series 535, write 32 bytes a process there, others 24, and do not say which. */
struct nvml_process {
    uint32_t pid;
    uint64_t used_memory;
    uint32_t gpu_instance, compute_instance;
};
static_assert(sizeof(struct nvml_process) == 24, "nvmlProcessInfo_v2_t");

/* Of nvmlDeviceGetGpuFabricInfo: how far a GPU is with the fabric of its NVLink switches. */
struct nvml_fabric {
    unsigned char cluster[16];
    int32_t status; /* an nvmlReturn_t */
    uint32_t clique;
    unsigned char state; /* 0 not supported, 1 not started, 2 in progress, 3 completed */
};
static_assert(sizeof(struct nvml_fabric) == 28, "nvmlGpuFabricInfo_t");

enum { NVML_ECC_UNCORRECTED = 1, NVML_ECC_VOLATILE = 0 };
enum { NVML_P2P_READ = 0 };
enum { NVML_LINKS_MAX = 36 }; /* NVML_NVLINK_MAX_LINKS; 18 in older headers */
enum { NVML_TEMPERATURE_GPU = 0 };
enum { NVML_CLOCK_SM = 1 };

/* X(needed, name, symbol, arguments): a row is a function that returns an nvmlReturn_t. Those
 * not needed may be missing from an old library; then their pointer is NULL. */
#define NVML_FUNCTIONS(X)                                                                      \
    X(1, init, nvmlInit_v2, (void))                                                            \
    X(1, shutdown, nvmlShutdown, (void))                                                       \
    X(1, count, nvmlDeviceGetCount_v2, (uint32_t * n))                                         \
    X(1, handle, nvmlDeviceGetHandleByIndex_v2, (uint32_t i, struct nvml_handle * *h))         \
    X(1, uuid, nvmlDeviceGetUUID, (struct nvml_handle * h, char *text, uint32_t size))         \
    X(1, pci, nvmlDeviceGetPciInfo_v3, (struct nvml_handle * h, struct nvml_pci * pci))        \
    X(0, driver, nvmlSystemGetDriverVersion, (char *text, uint32_t size))                      \
    X(0, name, nvmlDeviceGetName, (struct nvml_handle * h, char *text, uint32_t size))         \
    X(0, minor, nvmlDeviceGetMinorNumber, (struct nvml_handle * h, uint32_t * minor))          \
    X(0, capability, nvmlDeviceGetCudaComputeCapability,                                       \
      (struct nvml_handle * h, int *major, int *minor))                                        \
    X(0, mode, nvmlDeviceGetComputeMode, (struct nvml_handle * h, int *mode))                  \
    X(0, memory, nvmlDeviceGetMemoryInfo, (struct nvml_handle * h, struct nvml_memory * m))    \
    X(0, memory_v2, nvmlDeviceGetMemoryInfo_v2,                                                \
      (struct nvml_handle * h, struct nvml_memory_v2 * m))                                     \
    X(0, utilization, nvmlDeviceGetUtilizationRates,                                           \
      (struct nvml_handle * h, struct nvml_utilization * u))                                   \
    X(0, processes, nvmlDeviceGetComputeRunningProcesses_v2,                                   \
      (struct nvml_handle * h, uint32_t * n, struct nvml_process * list))                      \
    X(0, mig_mode, nvmlDeviceGetMigMode,                                                       \
      (struct nvml_handle * h, uint32_t * now, uint32_t * pending))                            \
    X(0, mig_count, nvmlDeviceGetMaxMigDeviceCount, (struct nvml_handle * h, uint32_t * n))    \
    X(0, mig_handle, nvmlDeviceGetMigDeviceHandleByIndex,                                      \
      (struct nvml_handle * h, uint32_t i, struct nvml_handle * *mig))                         \
    X(0, gpu_instance, nvmlDeviceGetGpuInstanceId, (struct nvml_handle * h, uint32_t * id))    \
    X(0, ecc, nvmlDeviceGetTotalEccErrors,                                                     \
      (struct nvml_handle * h, int type, int counter, uint64_t *n))                            \
    X(0, remapped, nvmlDeviceGetRemappedRows,                                                  \
      (struct nvml_handle * h, uint32_t * corrected, uint32_t * uncorrected,                   \
       uint32_t * pending, uint32_t * failed))                                                 \
    X(0, p2p, nvmlDeviceGetP2PStatus,                                                          \
      (struct nvml_handle * a, struct nvml_handle * b, int what, int *status))                 \
    X(0, link, nvmlDeviceGetNvLinkState, (struct nvml_handle * h, uint32_t link, int *on))     \
    X(0, fabric, nvmlDeviceGetGpuFabricInfo,                                                   \
      (struct nvml_handle * h, struct nvml_fabric * fabric))                                   \
    X(0, power, nvmlDeviceGetPowerUsage, (struct nvml_handle * h, uint32_t * mw))              \
    X(0, temperature, nvmlDeviceGetTemperature,                                                \
      (struct nvml_handle * h, int sensor, uint32_t *celsius))                                 \
    X(0, clock, nvmlDeviceGetClockInfo, (struct nvml_handle * h, int clock, uint32_t *mhz))    \
    X(0, clock_events, nvmlDeviceGetCurrentClocksThrottleReasons,                              \
      (struct nvml_handle * h, unsigned long long *bits))                                      \
    X(0, fields, nvmlDeviceGetFieldValues,                                                     \
      (struct nvml_handle * h, int n, struct nvml_field *list))                                \
    X(0, compute_instance, nvmlDeviceGetComputeInstanceId,                                     \
      (struct nvml_handle * h, uint32_t * id))

#endif
