/* probe_answer.h - what `muster-worker --probe` says, as evidence. Pure.
 *
 * Its lines are name=value; other lines are remarks, and names that are not known here are
 * skipped: the two programs may be of different versions.
 */
#ifndef MUSTER_LAUNCHER_CORE_PROBE_ANSWER_H
#define MUSTER_LAUNCHER_CORE_PROBE_ANSWER_H

#include "launcher/core/evidence.h"

/* Reads driver, runtime, code, peers (numbers), nccl_version, nccl_file, nccl_header.
 * What is missing or no number stays unknown. */
void probe_answer_read(struct str text, struct host_evidence *ev);

#endif
