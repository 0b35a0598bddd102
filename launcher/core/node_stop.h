/* node_stop.h - decides which signals the workers of a node get, and when: notice, TERM, KILL;
 * signals that are passed on; the end of a node whose head is gone.
 *
 * NOTICE, TERM and KILL of the drawing in node.c. A part of the node machine: called by node.c
 * alone, on the state of node_state.h. Signals go to whole process groups. Everywhere fx is
 * appended to, and now_ms is the time of the event.
 */
#ifndef MUSTER_LAUNCHER_CORE_NODE_STOP_H
#define MUSTER_LAUNCHER_CORE_NODE_STOP_H

#include "launcher/core/node_state.h"

/* The head says stop (FRAME_STOP): with a notice, a signal and a grace, or at once where the
 * grace is 0. Answered in every state; asked again in the same way, workers keep their time. */
void node_stop_frame(struct node *n, const struct frame *stop, uint64_t now_ms,
                     struct effects *fx);

/* Goes to TERM: all get signo, and SIGKILL after grace_ms. */
void node_stop_term(struct node *n, int signo, uint64_t grace_ms, uint64_t now_ms,
                    struct effects *fx);

/* Goes to KILL: all get SIGKILL. What survives it for ten seconds is given up. */
void node_stop_kill(struct node *n, uint64_t now_ms, struct effects *fx);

/* The process group of one worker gets signo. */
void node_stop_worker(struct effects *fx, uint32_t local_rank, int signo);

/* Passes a signal on, SIGUSR1 and the like, also those that suspend the job and wake it. Only
 * while all is up. */
void node_stop_relay(struct node *n, int signo, uint64_t now_ms, struct effects *fx);

/* The head said farewell or is gone: what runs is stopped, with the grace of the command line.
 */
void node_stop_leave(struct node *n, uint64_t now_ms, struct effects *fx);

/* This node's muster was sent a signal. What it means for the job, the head decides; without a
 * head it means that the user wants out. */
void node_stop_signal(struct node *n, int signo, uint64_t now_ms, struct effects *fx);

#endif
