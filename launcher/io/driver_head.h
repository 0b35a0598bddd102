/* driver_head.h - runs the head machine: owns the loop, the port with the rendezvous store, the
 * signals and the nodes' links. Turns what happens into events and effects into calls; decides
 * nothing.
 */
#ifndef MUSTER_LAUNCHER_IO_DRIVER_HEAD_H
#define MUSTER_LAUNCHER_IO_DRIVER_HEAD_H

#include "launcher/core/facts.h"
#include "launcher/core/job.h"
#include "launcher/core/options.h"

/* Runs the job to its end: afterwards no worker is left and every handle is closed. 0 and a job
 * that is done, or -1 with ERR_UNAVAILABLE (the port cannot be had) or ERR_SYSTEM, before
 * anything was started. */
int driver_head_run(struct job *job, const struct options *opt, const struct facts *facts,
                    struct err *e);

#endif
