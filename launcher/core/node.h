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

/* Where a node stands towards its head. */
struct node_place {
    uint64_t beat_ms; /* how often each tells the other that it is alive; 0 = never (both in one
                         process) */
    uint32_t node_rank; /* NODE_RANK_ANY = the head may choose */
    uint32_t nnodes;    /* of this node's own command line, 0 = none */
    uint32_t pid;       /* of this muster */
    const char *via;    /* numeric address under which the head was reached; NULL likewise */
    const char *reach; /* numeric address under which others reach this node; NULL = the one its
                          link comes from */
};

/* Keeps references to opt and facts and what place points to. Five missing beats of the head
 * mean that it is lost, unless this node itself did not run meanwhile. */
struct node *node_new(const struct options *opt, const struct facts *facts,
                      const struct node_place *place);
void node_free(struct node *n);

/* Appends to out. Any event in any state is answered, if only by nothing; frames of an old
 * generation are ignored. */
void node_step(struct node *n, const struct event *ev, struct effects *out);

/* When the next EV_TICK is due; UINT64_MAX = none. */
uint64_t node_deadline(const struct node *n);

/* The plan in force; NULL before FX_PREPARE. Valid until the next FRAME_PLAN. */
const struct node_plan *node_plan(const struct node *n);

/* What is known of a worker of the plan in force, without looking at its process: its steps,
 * when it was heard last. False before they are started. Texts as pulse_facts. */
bool node_rank_facts(const struct node *n, uint32_t local_rank, uint64_t now_ms,
                     struct rank_facts *out);

/* Whether BYE or a lost link has ended it, with no worker left. Either of them while workers
 * run stops these with the grace of the command line, and waits for no reader of the output. */
bool node_is_done(const struct node *n);

#endif
