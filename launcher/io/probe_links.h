/* probe_links.h - how the GPUs of this machine are connected: NVLinks and peer access from
 * NVML, PCIe from NVML, the CPU from /proc/cpuinfo.
 *
 * As probe_nvml: the library is loaded, asked and closed in one call, no CUDA context is made.
 * What cannot be learnt stays unknown; deciding what it means is core/expect's.
 */
#ifndef MUSTER_LAUNCHER_IO_PROBE_LINKS_H
#define MUSTER_LAUNCHER_IO_PROBE_LINKS_H

#include "base/err.h"
#include "launcher/core/device.h"
#include "launcher/core/expect.h"

/* Facts of all GPUs of inv, in its order; release with expect_facts_fini. path: the library,
 * NULL = libnvidia-ml.so.1. cpuinfo: that file. 0, or -1 with ERR_UNAVAILABLE: NVML does not
 * answer; nothing to release then. */
int probe_links(const char *path, const char *cpuinfo, const struct inventory *inv,
                struct expect_facts *out, struct err *e);

#endif
