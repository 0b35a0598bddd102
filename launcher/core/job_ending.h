/* job_ending.h - decides how a generation ends and what comes after it: the stop of the others,
 * a restart, a pause before it, the wait for a reader, the end of the job.
 *
 * STOP, PAUSE, FLUSH and DONE of the drawing in job.c. A part of the head machine: called by
 * its other files, on the state of job_state.h. Whether a restart is left decides restart.h.
 * Everywhere fx is appended to, and now_ms is the time of the event.
 */
#ifndef MUSTER_LAUNCHER_CORE_JOB_ENDING_H
#define MUSTER_LAUNCHER_CORE_JOB_ENDING_H

#include "launcher/core/job_state.h"

/* Goes to STOP: workers get signo and the grace of the command line, nodes that run nothing are
 * over. The verdict says why. */
void job_ending_stop(struct job *j, int signo, uint64_t now_ms, struct effects *fx);

/* In STOP, again: tells every node that is not over to stop its workers with signo, and to kill
 * them after grace_ms (0 = at once). */
void job_ending_send_stop(struct job *j, struct effects *fx, int signo, uint64_t grace_ms,
                          uint64_t now_ms);

/* A node whose link is not read cannot say that its workers are gone. When the user wants out,
 * that comes before the output that stands in the way: it has wait_ms left (0 = none), and none
 * once some was lost. In another state, or while links are read: nothing. */
void job_ending_limit_deafness(struct job *j, uint64_t wait_ms, uint64_t now_ms);

/* That time is over: the output of other nodes' workers that waits for a reader is lost. */
void job_ending_drop_output(struct job *j, struct effects *fx);

/* What workers get when muster got signo; its SIGPIPE is not theirs. */
int job_ending_signal(int signo);

/* A reason to end that is no worker's: recorded unless something came first; what runs is
 * stopped. err may be NULL; copied. */
void job_ending_with(struct job *j, enum verdict_kind kind, int signo, const struct err *err,
                     uint64_t now_ms, struct effects *fx);

/* A node has nothing left to do: MEMBER_REAPED or MEMBER_LOST. Ignored if it was over before.
 * With the last one the generation has ended. */
void job_ending_node_over(struct job *j, struct member *n, enum member_status status,
                          uint64_t now_ms, struct effects *fx);

/* PAUSE is over: the next generation begins. */
void job_ending_restart(struct job *j, uint64_t now_ms, struct effects *fx);

/* Nobody has anything left to do: the job is over, unless output of other nodes' workers waits
 * for a reader and the user does not want out. */
void job_ending_finish(struct job *j, struct effects *fx);

/* In FLUSH, the user wants out: the job is over without that output. */
void job_ending_give_up_output(struct job *j, struct effects *fx);

#endif
