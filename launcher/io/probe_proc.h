/* probe_proc.h - what /proc and /sys say about GPUs where NVML cannot be asked.
 *
 * /proc/driver/nvidia/gpus/<bdf>/information gives name, UUID and minor number; nothing of
 * state or MIG. Not every container has it. Roots are parameters so that tests bring their own.
 */
#ifndef MUSTER_LAUNCHER_IO_PROBE_PROC_H
#define MUSTER_LAUNCHER_IO_PROBE_PROC_H

#include "base/err.h"
#include "launcher/core/device.h"

/* Inventory in PCI order from <root>/driver/nvidia/gpus ("/proc" as root). Unknown fields say
 * so (device.h). ERR_UNAVAILABLE where there is no such folder or nothing readable in it. */
int probe_proc(const char *root, struct inventory *out, struct err *e);

/* NUMA node of the CPUs next to a PCI device, from <root>/bus/pci ("/sys" as root); -1 =
 * unknown. pci: "00000000:65:00.0". */
int probe_pci_numa(const char *root, const char *pci);

#endif
