/* sweep.h - which sizes are tested and what a time means as a bandwidth.
 *
 * Pure. Bandwidths follow nccl-tests' PERFORMANCE.md: GB = 1e9 bytes, algbw = S / t, busbw =
 * algbw x the collective's factor (collective.h).
 */
#ifndef MUSTER_WORKER_SWEEP_H
#define MUSTER_WORKER_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/options.h"

/* The sizes asked for in bytes, each a multiple of the largest element size asked for or
 * of element_bytes, in the order given; sizes above limit (0 = none) are left out and counted,
 * but not those that --sizes names. *sizes is freed by the caller with free(). -1 with
 * ERR_USAGE if none is left, one that was named does not fit or there are more than 10000.
 * host: the defaults of the host backend. */
int sweep_sizes(const struct options *o, bool host, uint64_t limit_bytes, size_t element_bytes,
                uint64_t **sizes, size_t *n, size_t *left_out, struct err *e);

/* The largest size asked for, before any limit. */
uint64_t sweep_largest(const struct options *o, bool host);

/* Operations of a size in the warm-up: --warmup; of the largest size one even without, since it
 * tells how long one takes. */
uint32_t sweep_warmups(const struct options *o, bool is_largest);

/* How long one size may take before it counts as stuck: twenty times what its operations need,
 * timed and verified, of which one of the largest size takes largest_us; 30 s at least. */
uint64_t sweep_deadline_ms(const struct options *o, uint64_t largest_us);

/* GB/s; time in microseconds per operation. */
double sweep_algbw(uint64_t bytes, double time_us);

/* Bytes from one operation's region of a buffer to the next one's; regions of max / step. */
uint64_t sweep_regions(uint64_t max_bytes, uint64_t step_bytes);

#endif
