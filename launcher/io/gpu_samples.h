/* gpu_samples.h - what the GPUs of this host are doing now, by NVML. For a process that starts
 * no other (cmd/sampler.c): NVML does not survive fork(), and is kept open here.
 */
#ifndef MUSTER_LAUNCHER_IO_GPU_SAMPLES_H
#define MUSTER_LAUNCHER_IO_GPU_SAMPLES_H

#include "base/err.h"
#include "launcher/core/gpu_sample.h"

struct gpu_samples;

/* NULL with ERR_UNAVAILABLE: no NVML here, or no driver. */
struct gpu_samples *gpu_samples_open(struct err *e);
void gpu_samples_close(struct gpu_samples *s); /* NULL is fine */

/* Fills out[0..n) with what the GPUs with these UUIDs do; NULL = none. What one does not tell
 * is not known; so is all of one that NVML does not show, and of a MIG instance. Takes 20 ms
 * longer than NVML's answers: so long PCI Express is watched, whose counters there begin anew
 * after 4 GiB and would not last from one look to the next. */
void gpu_samples_take(const struct gpu_samples *s, const char *const *uuids, size_t n,
                      struct gpu_sample *out);

#endif
