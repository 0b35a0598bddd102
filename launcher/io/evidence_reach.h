/* evidence_reach.h - the side of `muster doctor --evidence reach` on each host: looks, listens,
 * and then tries the other hosts.
 *
 * Speaks in lines, each part ended by an empty one. In: "worker=no" (do not run its
 * probe), "env=NAME=VALUE" and "lookup=NAME".
 * Out: the evidence, with listen=. In: "peer=NAME ADDRESS PORT". Out: what came of it, as
 * evidence. Then it listens until its input ends.
 */
#ifndef MUSTER_LAUNCHER_IO_EVIDENCE_REACH_H
#define MUSTER_LAUNCHER_IO_EVIDENCE_REACH_H

#include <stdio.h>

#include "base/err.h"
#include "launcher/core/options.h"

enum { EVIDENCE_REACH_MS = 3000 }; /* to connect */

/* Serves one conversation. 0, or -1 with ERR_SYSTEM or ERR_PROTOCOL. */
int evidence_reach_serve(struct options *opt, FILE *in, FILE *out, struct err *e);

#endif
