/* probe_fake.h - an inventory from a JSON file, for tests and for trying requests by hand.
 *
 * Reads the layout "muster-inventories/1" (tests/vectors/devices/README.md): named inventories,
 * each a list of GPUs in NVML order. Touches no device.
 */
#ifndef MUSTER_LAUNCHER_IO_PROBE_FAKE_H
#define MUSTER_LAUNCHER_IO_PROBE_FAKE_H

#include "base/err.h"
#include "launcher/core/device.h"

/* Reads the inventory called node ("N4") of file. out: inventory_fini on success. Failure:
 * ERR_SYSTEM, with the file and what is wrong in it. */
int probe_fake(const char *file, const char *node, struct inventory *out, struct err *e);

/* As probe_fake for "FILE[:NODE]"; without NODE it is N4. */
int probe_fake_spec(const char *spec, struct inventory *out, struct err *e);

#endif
