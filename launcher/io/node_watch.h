/* node_watch.h - what a node hears and sees of its workers beside their output and their end:
 * the notify socket, when anything was written last, their stacks, and what they use.
 *
 * Turns that into events for the node machine, and what the machine asks for (FX_LOOK,
 * FX_STACKS, FX_SAMPLE) into calls. Decides nothing. Costs a socket where nobody uses it.
 */
#ifndef MUSTER_LAUNCHER_IO_NODE_WATCH_H
#define MUSTER_LAUNCHER_IO_NODE_WATCH_H

#include "launcher/core/node_plan.h"
#include "launcher/core/options.h"
#include "launcher/io/child.h"
#include "launcher/io/descendants.h"
#include "launcher/io/spawn.h"

struct node_watch;

/* Everything is borrowed and outlives it. */
struct node_watch_host {
    const struct options *opt;
    const struct facts *facts;
    const struct spawn *spawn;
    struct output *output;
    struct descendants *descendants;
    int dev_null;
    void *ctx;
    void (*post)(void *ctx, struct event *ev);
};

struct node_watch *node_watch_new(const struct node_watch_host *host);
/* Ends what is running, without an event; NULL is fine. */
void node_watch_free(struct node_watch *w);

/* Before each generation: its plan, its children by local rank (NULL = none), all borrowed, and
 * the folder of its log files (NULL = none). Opens the socket the first time; a job without one
 * runs all the same. */
void node_watch_prepare(struct node_watch *w, struct watch_set *watches,
                        const struct node_plan *plan, struct child *const *children,
                        const char *log_dir);

/* The plan and the children of the generation that is over are about to be freed. */
void node_watch_forget(struct node_watch *w);

/* For worker_env_set_notify; NULL = there is no socket. */
const char *node_watch_address(const struct node_watch *w);

/* A worker has written something. */
void node_watch_output(struct node_watch *w);

/* FX_LOOK: what waits to be read is read, then EV_LOOKED. */
void node_watch_look(struct node_watch *w);
/* FX_STACKS: EV_STACK for each worker that runs, then EV_STACKED. */
void node_watch_stacks(struct node_watch *w, bool may_abort);

/* FX_SAMPLE: EV_SAMPLED follows. */
void node_watch_sample(struct node_watch *w);

/* When node_watch_tick is due; UINT64_MAX = never. */
uint64_t node_watch_deadline(const struct node_watch *w);
void node_watch_tick(struct node_watch *w, uint64_t now_ms);

#endif
