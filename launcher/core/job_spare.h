/* job_spare.h - nodes that come when no place is free: kept until one is. Part of job.c's
 * machine (job_state.h).
 */
#ifndef MUSTER_LAUNCHER_CORE_JOB_SPARE_H
#define MUSTER_LAUNCHER_CORE_JOB_SPARE_H

#include "launcher/core/job_state.h"

/* All places are taken, or the job is between two generations: the node waits. 0, or -1 with
 * ERR_USAGE or ERR_UNAVAILABLE: it may not. */
int job_spare_park(struct job *j, uint32_t link, const struct frame *hello, uint64_t now_ms,
                   struct effects *fx, struct err *e);

/* Spares take the places that are free. Returns whether one did. */
bool job_spare_take(struct job *j, uint64_t now_ms);

/* A frame of a spare: it can only be there, or leave; what its user wants concerns nobody else.
 */
void job_spare_frame(struct job *j, struct spare *spare, const struct frame *frame,
                     uint64_t now_ms, struct effects *fx);

/* It is no spare any more. Returns whether it was one. */
bool job_spare_forget(struct job *j, uint32_t link);

/* Its link is lost. */
void job_spare_lost(struct job *j, uint32_t link, struct effects *fx);

/* A beat is due: each gets one, and who is silent for too long is dropped. */
void job_spare_check_beats(struct job *j, uint64_t now_ms, struct effects *fx);

/* The job is over, with its status. */
void job_spare_send_home(struct job *j, struct effects *fx);

#endif
