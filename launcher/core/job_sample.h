/* job_sample.h - asks the nodes what their ranks and GPUs are doing, when somebody looks, and
 * keeps the answers.
 *
 * A part of the head machine: called by its other files, on the state of job_state.h. What is
 * kept, and how often is asked: samples.h. Everywhere fx is appended to, and now_ms is the time
 * of the event.
 */
#ifndef MUSTER_LAUNCHER_CORE_JOB_SAMPLE_H
#define MUSTER_LAUNCHER_CORE_JOB_SAMPLE_H

#include "launcher/core/job_state.h"

/* Somebody looks (EV_SAMPLE): a round begins, unless what is known is fresh. */
void job_sample_ask(struct job *j, uint64_t now_ms, struct effects *fx);

/* The answer of a node. */
void job_sample_take(struct job *j, const struct member *n, struct str text, uint64_t now_ms);

/* A node that is reaped or lost is not waited for. */
void job_sample_left(struct job *j, const struct member *n, uint64_t now_ms);

/* A tick: whether the round is over. */
void job_sample_check(struct job *j, uint64_t now_ms);

/* A rank's process is there: its starts are counted over all generations. */
void job_sample_started(struct job *j, uint32_t rank);

#endif
