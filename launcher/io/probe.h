/* probe.h - the inventory of this machine, from the best source that answers.
 *
 * Owns the order of sources: MUSTER_FAKE_GPUS=FILE[:NODE] (tests), NVML (MUSTER_NVML_PATH names
 * another library), /proc/driver/nvidia; and the verdict that a machine has no GPU at all.
 */
#ifndef MUSTER_LAUNCHER_IO_PROBE_H
#define MUSTER_LAUNCHER_IO_PROBE_H

#include "base/err.h"
#include "launcher/core/device.h"

enum probe_source {
    PROBE_FAKE,
    PROBE_NVML,
    PROBE_PROC,
    PROBE_NO_GPU,      /* neither driver nor device node: an inventory without devices */
    PROBE_NO_INVENTORY /* there may be GPUs, but nothing tells of them */
};

/* "NVML", "/proc/driver/nvidia", "MUSTER_FAKE_GPUS"; NULL where there is nothing to tell. */
const char *probe_source_name(enum probe_source source);

/* Fills out (inventory_fini) and says where it came from. with_load: see probe_nvml.
 * PROBE_NO_INVENTORY: out is empty, the caller passes no inventory on, and why has the reason.
 * A MUSTER_FAKE_GPUS that cannot be read is an error: -1 and e. */
int probe_devices(bool with_load, enum probe_source *source, struct inventory *out,
                  struct err *why, struct err *e);

#endif
