/* node.h - decides what one node does next: its own workers, from the order of the head until
 * all are reaped.
 *
 * Sees only events, answers only with effects; never reads a clock, starts a process or prints.
 * Driven by io/driver_node, by traces, by a fuzzer and by the simulator.
 */
#ifndef MUSTER_LAUNCHER_CORE_NODE_H
#define MUSTER_LAUNCHER_CORE_NODE_H

#include "launcher/core/event.h"
#include "launcher/core/facts.h"
#include "launcher/core/node_plan.h"
#include "launcher/core/options.h"

struct node;

/* beat_ms: how often to tell the head that this node is alive, 0 = never (head and node in one
 * process). Keeps references to opt and facts. */
struct node *node_new(const struct options *opt, const struct facts *facts, uint64_t beat_ms);
void node_free(struct node *n);

/* Appends to out. Any event in any state is answered, if only by nothing; frames of an old
 * generation are ignored. */
void node_step(struct node *n, const struct event *ev, struct effects *out);

/* When the next EV_TICK is due; UINT64_MAX = none. */
uint64_t node_deadline(const struct node *n);

/* The plan in force; NULL before FX_PREPARE. Valid until the next FRAME_PLAN. */
const struct node_plan *node_plan(const struct node *n);

/* Whether BYE or a lost link has ended it, with no worker left. Either of them while workers
 * run stops these with the grace of the command line, and waits for no reader of the output. */
bool node_is_done(const struct node *n);

#endif
