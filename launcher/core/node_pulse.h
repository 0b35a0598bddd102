/* node_pulse.h - carries a node's signs of life to its head: heartbeats and output that are
 * missed, and what the workers are doing when that is asked.
 *
 * A part of the node machine: called by its other files, on the state of node_state.h. The
 * limits are pulse.h's; how stacks are read, io/stacks.h's. Everywhere fx is appended to, and
 * now_ms is the time of the event.
 */
#ifndef MUSTER_LAUNCHER_CORE_NODE_PULSE_H
#define MUSTER_LAUNCHER_CORE_NODE_PULSE_H

#include "launcher/core/node_state.h"

/* From now on nobody is judged for this reason, or is again (is_held). Before a plan: nothing.
 */
void node_pulse_hold(struct node *n, enum pulse_hold_reason why, bool is_held, uint64_t now_ms,
                     struct effects *fx);

/* A worker has sent a sign; only of one that is alive it counts. */
void node_pulse_notify(struct node *n, uint32_t local_rank, const struct sign *sign,
                       uint64_t now_ms);

/* A tick: where a limit is over, what waits to be read is asked for first, as it may be the
 * very sign that is missed. */
void node_pulse_check(struct node *n, uint64_t now_ms, struct effects *fx);

/* All was read that was waiting. output_at_ms: when a worker last wrote. Who is silent now is
 * reported. */
void node_pulse_looked(struct node *n, uint64_t output_at_ms, uint64_t now_ms,
                       struct effects *fx);

/* The head asks what the workers are doing (FRAME_STACKS). may_abort: they may be made to print
 * their stacks. A second question has the same answer. */
void node_pulse_stacks(struct node *n, bool may_abort, struct effects *fx);

/* What one worker is doing; where: borrowed until the frame is sent. */
void node_pulse_stack(struct node *n, uint32_t local_rank, const char *where, uint64_t now_ms,
                      struct effects *fx);

/* The head asks what the ranks and their GPUs are doing (FRAME_SAMPLE): they are measured, by
 * FX_SAMPLE. Without workers the answer is empty and comes at once; a second question has the
 * same answer. */
void node_pulse_sample(struct node *n, uint64_t now_ms, struct effects *fx);

/* What was measured, items of node_sample.h, goes up with what the node itself knew when it
 * was asked. */
void node_pulse_sampled(struct node *n, struct str items, struct effects *fx);

/* All were told. file: where the stacks stand, NULL = nowhere; borrowed likewise. */
void node_pulse_stacked(struct node *n, const char *file, struct effects *fx);

#endif
