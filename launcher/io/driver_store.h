/* driver_store.h - runs a store of its own, for nobody's job: a port, signals and nothing else.
 * Who is served decides admission.h.
 */
#ifndef MUSTER_LAUNCHER_IO_DRIVER_STORE_H
#define MUSTER_LAUNCHER_IO_DRIVER_STORE_H

#include "launcher/core/store_options.h"

/* Listens, writes the address to where opt says, and serves until SIGTERM, SIGINT, SIGHUP or
 * SIGQUIT. 0, or -1 with ERR_UNAVAILABLE (no such address, or it cannot be had), ERR_USAGE (the
 * descriptor) or ERR_SYSTEM. */
int driver_store_run(const struct store_options *opt, struct err *e);

#endif
