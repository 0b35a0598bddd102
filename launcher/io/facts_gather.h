/* facts_gather.h - asks the machine and the environment what core may know. Starts nothing,
 * changes nothing. */
#ifndef MUSTER_LAUNCHER_IO_FACTS_GATHER_H
#define MUSTER_LAUNCHER_IO_FACTS_GATHER_H

#include "base/err.h"
#include "launcher/core/facts.h"

/* needs_gpus: whether to ask for the GPUs, which takes longer than all else. out borrows the
 * process's environment; release with facts_release. 0, or -1 with ERR_SYSTEM for an inventory
 * that exists but cannot be read. */
int facts_gather(bool needs_gpus, struct facts *out, struct err *e);
void facts_release(struct facts *facts);

#endif
