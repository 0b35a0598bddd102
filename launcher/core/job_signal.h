/* job_signal.h - decides what a signal to muster means for the job: its end, a message to the
 * workers, a look at them, a suspension.
 *
 * A part of the head machine: called by job.c alone, on the state of job_state.h. How the job
 * then ends decides job_ending.h.
 */
#ifndef MUSTER_LAUNCHER_CORE_JOB_SIGNAL_H
#define MUSTER_LAUNCHER_CORE_JOB_SIGNAL_H

#include "launcher/core/job_state.h"

/* A signal of this number came, at the head or at a node. Appends to fx. A second SIGINT stops
 * without grace. */
void job_signal_take(struct job *j, int signo, uint64_t now_ms, struct effects *fx);

/* The user does not want to wait for the grace either: what is being stopped is killed. In
 * another state nothing. */
void job_signal_at_once(struct job *j, uint64_t now_ms, struct effects *fx);

#endif
