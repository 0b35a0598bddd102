/* job_leave.h - decides what the loss of a node means: another one may come in its place, the
 * job ends by it, or it had nothing left to do.
 *
 * A part of the head machine: called by job.c and job_join.c, on the state of job_state.h. Who
 * gets a lost node's place in the next generation decides job_ending.h. Everywhere fx is
 * appended to, and now_ms is the time of the event.
 */
#ifndef MUSTER_LAUNCHER_CORE_JOB_LEAVE_H
#define MUSTER_LAUNCHER_CORE_JOB_LEAVE_H

#include "launcher/core/job_state.h"

/* A member is gone, or will not come; its link is dropped. err says why and is copied. Ignored
 * if it was lost before. */
void job_leave_lose(struct job *j, struct member *n, const struct err *err, uint64_t now_ms,
                    struct effects *fx);

/* The same of the node behind a link, if it is a member. While nodes join, one that comes by
 * itself may go again: its place is free then. */
void job_leave_link(struct job *j, uint32_t link, const struct err *err, uint64_t now_ms,
                    struct effects *fx);

/* The node that has this place in the list of hosts, and has just lost its link, will not come
 * unless it has joined: it went between its link and its hello. */
void job_leave_place(struct job *j, uint64_t place, const struct err *err, uint64_t now_ms,
                     struct effects *fx);

/* A beat is due: says to every node that the head is alive, and loses those that were silent
 * for opt->beats_missed beats. */
void job_leave_check_beats(struct job *j, uint64_t now_ms, struct effects *fx);

/* Whether a node that was last heard then has been silent for too long. */
bool job_leave_is_silent(const struct job *j, uint64_t last_heard_ms, uint64_t now_ms);

#endif
