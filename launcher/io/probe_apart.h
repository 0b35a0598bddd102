/* probe_apart.h - asks NVML in a process of its own, within a time.
 *
 * A call into a driver that hangs does not come back, and a process in it cannot be ended
 * (reap.h): it is the child that sleeps there, and muster goes on without it. Nothing of the
 * library is in muster afterwards.
 */
#ifndef MUSTER_LAUNCHER_IO_PROBE_APART_H
#define MUSTER_LAUNCHER_IO_PROBE_APART_H

#include "base/err.h"
#include "launcher/core/device.h"

/* A driver without persistence mode takes seconds a GPU. */
enum { PROBE_APART_MS = 60000, PROBE_APART_PATIENCE_MS = 5000 };

/* probe_nvml with its arguments. Says so when it takes longer than PROBE_APART_PATIENCE_MS. 0,
 * or -1 with what probe_nvml gives, ERR_TIMEOUT where it does not answer within limit_ms, or
 * ERR_UNAVAILABLE where it ends the process. */
int probe_apart(const char *path, bool with_load, int limit_ms, struct inventory *out,
                struct err *e);

#endif
