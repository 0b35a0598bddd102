/* job_join.h - decides who takes part in a generation: which nodes join, how long they are
 * awaited, which ranks they get, and when their workers start.
 *
 * JOIN -> START -> RUN of the drawing in job.c. A part of the head machine: called by its
 * other files, on the state of job_state.h. Who a member is decides members.c; who goes,
 * job_leave.h. Everywhere fx is appended to, and now_ms is the time of the event.
 */
#ifndef MUSTER_LAUNCHER_CORE_JOB_JOIN_H
#define MUSTER_LAUNCHER_CORE_JOB_JOIN_H

#include "launcher/core/job_state.h"

/* The node behind a link has said hello. It joins, or hears why it may not and is dropped; with
 * the last one all get their orders. A second hello is ignored. */
void job_join_hello(struct job *j, uint32_t link, const struct frame *frame, uint64_t now_ms,
                    struct effects *fx);

/* In JOIN, somebody has: with the last one all get their orders; with enough of them the last
 * call begins. */
void job_join_came(struct job *j, uint64_t now_ms, struct effects *fx);

/* Who may not join, or has refused before its hello, hears why, and that is all it gets. */
void job_join_send_away(struct job *j, uint32_t link, const struct err *e, struct effects *fx);

/* In JOIN, the deadline of the state: the job goes on with those that have joined if they are
 * enough and were given their last call, says who is late, or ends by the first that is missing
 * when opt->join_timeout_ms is over. */
void job_join_deadline(struct job *j, uint64_t now_ms, struct effects *fx);

/* A node could start its workers; mpi: what they want of MPI. With the last one all are
 * started, or a plan is over. */
void job_join_ready(struct job *j, struct member *n, enum mpi_mode mpi, uint64_t now_ms,
                    struct effects *fx);

/* The empty store of a generation is there: its nodes get their orders. Ignored for a
 * generation that is not awaited. */
void job_join_store_ready(struct job *j, uint32_t generation, uint64_t now_ms,
                          struct effects *fx);

#endif
