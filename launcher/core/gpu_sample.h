/* gpu_sample.h - what one GPU is doing at one moment, as NVML says, and its words. Pure. */
#ifndef MUSTER_LAUNCHER_CORE_GPU_SAMPLE_H
#define MUSTER_LAUNCHER_CORE_GPU_SAMPLE_H

#include "base/buf.h"
#include "launcher/core/event.h"

/* X(member): every figure, in the order in which a sample is written (rank_sample.h). */
#define GPU_FIGURES(X)                                                                         \
    X(at_ms)        /* when, by the monotonic clock of its node */                             \
    X(util)         /* percent of the time in which any kernel ran */                          \
    X(power_mw)     /* what it draws now */                                                    \
    X(used)         /* memory, bytes */                                                        \
    X(total)        /* likewise */                                                             \
    X(temp_c)       /* of the GPU, degrees Celsius */                                          \
    X(clock_events) /* why its clocks are lower: NVML's bits */                                \
    X(nvlink_tx)    /* bytes over all its NVLinks since the driver began to count */           \
    X(nvlink_rx)    /* likewise */                                                             \
    X(pcie_tx_rate) /* bytes a second over PCI Express, for the moment of the sample */        \
    X(pcie_rx_rate) /* likewise */                                                             \
    X(sm_mhz)       /* clock of its multiprocessors */

struct gpu_sample {
#define X(member) struct maybe_u64 member;
    GPU_FIGURES(X)
#undef X
};

/* Appends why the clocks are held down, "power cap" or "thermal, power brake", from the bits of
 * nvmlDeviceGetCurrentClocksThrottleReasons (NVML API reference). Idle clocks and clocks that
 * somebody has set are no reasons: then nothing is appended. */
void gpu_throttle_format(uint64_t clock_events, struct buf *out);

#endif
