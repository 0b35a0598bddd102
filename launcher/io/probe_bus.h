/* probe_bus.h - NVIDIA GPUs as the PCI bus knows them, which needs no driver. For saying that a
 * driver is missing, not for choosing GPUs. */
#ifndef MUSTER_LAUNCHER_IO_PROBE_BUS_H
#define MUSTER_LAUNCHER_IO_PROBE_BUS_H

/* How many display and 3D controllers of vendor 10de are below SYS/bus/pci/devices (sys is
 * "/sys" but for tests); -1 if that folder cannot be read. In a container these are the host's.
 */
int probe_bus_count(const char *sys);

#endif
