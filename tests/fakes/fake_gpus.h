/* fake_gpus.h - what the fake NVML and the fake CUDA driver share: the machine they pretend.
 *
 * Owns reading FAKE_GPU_FILE and FAKE_GPU_NODE (default N4). Test code only.
 */
#ifndef MUSTER_TESTS_FAKES_FAKE_GPUS_H
#define MUSTER_TESTS_FAKES_FAKE_GPUS_H

#include "launcher/core/device.h"

#define FAKE_EXPORT __attribute__((visibility("default")))

/* Reads the inventory; 0 or -1 (said on standard error). */
int fake_gpus_load(struct inventory *inv);

#endif
