/* probe_order.h - CUDA's own order of the GPUs (CUDA_DEVICE_ORDER=FASTEST_FIRST), which only
 * CUDA knows: asked of a child, `muster-worker --probe`, since muster never loads CUDA. */
#ifndef MUSTER_LAUNCHER_IO_PROBE_ORDER_H
#define MUSTER_LAUNCHER_IO_PROBE_ORDER_H

#include "base/err.h"
#include "launcher/core/facts.h"

/* Whether numbers in this environment can only be understood with that order: GPUs of
 * different kinds, FASTEST_FIRST, and no UUIDs. */
bool probe_order_is_needed(const struct facts *facts);

/* Fills probe and nprobe of the inventory, one allocation, to be freed with free(). The child
 * sees every GPU and has 30 s. 0, or -1 with ERR_UNAVAILABLE and the child's own reason. */
int probe_order(const struct facts *facts, struct inventory *inv, struct err *e);

/* Reads "GPU-..." lines of the child's answer, any others being remarks; 0 or -1. Exposed for
 * tests. */
int probe_order_read(const char *answer, struct inventory *inv, struct err *e);

#endif
