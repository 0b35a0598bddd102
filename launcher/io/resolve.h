/* resolve.h - names to addresses, for what has to be dialled or listened on.
 *
 * Asks the resolver of the system; before the loop runs, as it blocks.
 */
#ifndef MUSTER_LAUNCHER_IO_RESOLVE_H
#define MUSTER_LAUNCHER_IO_RESOLVE_H

#include "rendezvous/addr.h"

/* The numeric addresses of where (a name or already numeric), with its port, IPv4 first, each
 * once, at most max. A name that is not known (yet) is asked for again until limit_ms have
 * passed: names of pods and of new machines appear late. Blocks; a signal ends the process as
 * usual. How many (at least 1), or -1 with ERR_UNAVAILABLE that says what was asked and
 * answered. */
int resolve(const struct addr *where, uint64_t limit_ms, struct addr *out, size_t max,
            struct err *e);

#endif
