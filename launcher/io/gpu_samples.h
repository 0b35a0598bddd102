/* gpu_samples.h - what the GPUs of this host are doing now, by NVML. For commands that start no
 * process: NVML does not survive fork(), and is kept open here.
 */
#ifndef MUSTER_LAUNCHER_IO_GPU_SAMPLES_H
#define MUSTER_LAUNCHER_IO_GPU_SAMPLES_H

#include "base/err.h"
#include "launcher/core/gpu_sample.h"

struct gpu_samples;

/* NULL with ERR_UNAVAILABLE: no NVML here, or no driver. */
struct gpu_samples *gpu_samples_open(struct err *e);
void gpu_samples_close(struct gpu_samples *s); /* NULL is fine */

/* A new array of *n samples, one a GPU that NVML shows; free with free(). What a GPU does not
 * tell is not known. */
struct gpu_sample *gpu_samples_take(const struct gpu_samples *s, size_t *n);

#endif
