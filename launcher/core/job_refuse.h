/* job_refuse.h - decides what becomes of a job of which some nodes cannot run their part: what
 * all of them say is collected for a moment, equal reasons are said once ("n2-n9: ..."), and
 * then the job ends by the first in the order of the nodes.
 *
 * In JOIN and START of the drawing in job.c. A node that comes later than the first JOIN and
 * cannot even say hello is turned away, and the job goes on. A part of the head machine: called
 * by its other files, on the state of job_state.h. Which reasons are equal decides
 * start_faults.h. Everywhere fx is appended to, and now_ms is the time of the event.
 */
#ifndef MUSTER_LAUNCHER_CORE_JOB_REFUSE_H
#define MUSTER_LAUNCHER_CORE_JOB_REFUSE_H

#include "launcher/core/job_state.h"

/* A node refuses its order, or could not even say hello. A node that is alone ends the job at
 * once; one that the job began without ends nothing. */
void job_refuse_take(struct job *j, uint32_t link, const struct frame *frame, uint64_t now_ms,
                     struct effects *fx);

/* Ends the job if there are refusals and their time is over, or every node has been heard. */
void job_refuse_check(struct job *j, uint64_t now_ms, struct effects *fx);

/* The job ends for another reason before that: the refusals came first, so the verdict is
 * theirs. Without any: nothing. */
void job_refuse_settle(struct job *j, uint64_t now_ms, struct effects *fx);

/* Whether some node has refused, so that the job will not start. */
bool job_refuse_is_pending(const struct job *j);

#endif
