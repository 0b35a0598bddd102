/* node_drain.h - decides when a node is rid of its workers: their pipes have ended and nothing
 * that they started is left, or both were given up, step by step.
 *
 * DRAIN and REAPED of the drawing in node.c. A part of the node machine: called by its other
 * files, on the state of node_state.h. What is left is counted and signalled by
 * io/descendants.h. Everywhere fx is appended to, and now_ms is the time of the event.
 */
#ifndef MUSTER_LAUNCHER_CORE_NODE_DRAIN_H
#define MUSTER_LAUNCHER_CORE_NODE_DRAIN_H

#include "launcher/core/node_state.h"

/* All workers have ended: goes to DRAIN. */
void node_drain_begin(struct node *n, uint64_t now_ms, struct effects *fx);

/* In DRAIN, its deadline or a hurry: the next step. 0 counts what is left, 1 asks it to end, 2
 * kills it, 3 gives up waiting. */
void node_drain_next(struct node *n, uint64_t now_ms, struct effects *fx);

/* To be called when anything that DRAIN waits for has come. In another state: nothing. */
void node_drain_check(struct node *n, struct effects *fx);

/* While a slow reader holds up the output, pipes cannot end: it is waited for, unless the user
 * wants out. */
bool node_drain_waits_for_reader(const struct node *n);

/* So many descendants were counted. */
void node_drain_swept(struct node *n, uint32_t left, uint64_t now_ms, struct effects *fx);

/* The output is held up by its reader (is_blocked), or flows again; in any state. */
void node_drain_flowing(struct node *n, bool is_blocked, uint64_t now_ms, struct effects *fx);

/* Goes to REAPED: nothing is left, or nothing was started. Tells the head. */
void node_drain_reaped(struct node *n, struct effects *fx);

#endif
