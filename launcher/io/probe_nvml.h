/* probe_nvml.h - the GPU inventory of this machine from NVML, loaded at run time.
 *
 * Owns loading, initialising and enumerating; creates no CUDA context. Each call initialises
 * and shuts down: NVML does not survive fork(), so nothing of it is kept, and it must not be
 * called between fork and exec. One bad GPU never ends the list.
 */
#ifndef MUSTER_LAUNCHER_IO_PROBE_NVML_H
#define MUSTER_LAUNCHER_IO_PROBE_NVML_H

#include "base/err.h"
#include "launcher/core/device.h"

enum { NVML_GPUS_MAX = 1024 };

/* Reads the inventory. path: the library, NULL = libnvidia-ml.so.1. with_load: also how busy
 * each GPU is, which takes 4 ms a GPU (H200, driver 580), else util is -1. A GPU that NVML
 * counts but calls lost is listed with lost set and what is known of it; one that may not be
 * opened here (its device node is hidden) is left out, as CUDA leaves it out. Failure is
 * ERR_UNAVAILABLE, with NVML's number and what it means; nothing to release then. */
int probe_nvml(const char *path, bool with_load, struct inventory *out, struct err *e);

#endif
