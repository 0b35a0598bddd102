/* job_look.h - decides when all ranks are looked at (stacks, heartbeats, output), and what a
 * hang is: LOOK of the drawing in job.c, and SIGQUIT.
 *
 * A part of the head machine: called by its other files, on the state of job_state.h. Whom a
 * look asked and what it heard is survey.h's; the limits of one node are pulse.h's. Everywhere
 * fx is appended to, and now_ms is the time of the event.
 */
#ifndef MUSTER_LAUNCHER_CORE_JOB_LOOK_H
#define MUSTER_LAUNCHER_CORE_JOB_LOOK_H

#include "launcher/core/job_state.h"

/* RUN -> LOOK: the job is about to end by a limit, which the verdict has. Before anything is
 * killed, all ranks are looked at. */
void job_look_begin(struct job *j, uint64_t now_ms, struct effects *fx);

/* Whether the round that is running has heard everybody or waited long enough: then what it has
 * found is said or kept in the verdict, and in LOOK the next round or the stop begins. To be
 * called whenever a node has answered or is gone, and at job_deadline. */
void job_look_check(struct job *j, uint64_t now_ms, struct effects *fx);

/* SIGQUIT: the user wants to know what the ranks are doing. The job goes on. */
void job_look_quit(struct job *j, uint64_t now_ms, struct effects *fx);

/* A node says that a worker sent no heartbeat for the limit, or that all of its workers are
 * silent. The job ends by it if it runs, and in the case of silence only once all nodes are. */
void job_look_hung(struct job *j, struct member *n, const struct hang *hang, uint64_t now_ms,
                   struct effects *fx);

#endif
