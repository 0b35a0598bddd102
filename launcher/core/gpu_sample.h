/* gpu_sample.h - what one GPU is doing at one moment, as NVML says, and its words. Pure. */
#ifndef MUSTER_LAUNCHER_CORE_GPU_SAMPLE_H
#define MUSTER_LAUNCHER_CORE_GPU_SAMPLE_H

#include "base/buf.h"
#include "launcher/core/event.h"

struct gpu_sample {
    char uuid[96];
    struct maybe_u64 util;         /* percent of the time in which any kernel ran */
    struct maybe_u64 power_mw;     /* what it draws now */
    struct maybe_u64 used, total;  /* memory, bytes */
    struct maybe_u64 temp_c;       /* of the GPU, degrees Celsius */
    struct maybe_u64 clock_events; /* why its clocks are lower: NVML's bits */
};

/* Appends why the clocks are held down, "power cap" or "thermal, power brake", from the bits of
 * nvmlDeviceGetCurrentClocksThrottleReasons (NVML API reference). Idle clocks and clocks that
 * somebody has set are no reasons: then nothing is appended. */
void gpu_throttle_format(uint64_t clock_events, struct buf *out);

#endif
