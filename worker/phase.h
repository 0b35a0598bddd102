/* phase.h - how ranks go through the phases together, and who is named when one does not.
 *
 * Keys in the store, below "mw/": rank/<r> holds a rank's record, 0/<point>/<r> says that a
 * rank reached a point (first line: wall clock in ms; then what it had to say), 0/go/<point> is
 * rank 0's answer to all. A watchdog thread with a store connection of its own holds the
 * deadlines: whoever's wait runs out first prints the missing ranks and ends the process; the
 * others stay silent. Functions return 0 or a status of status.h.
 */
#ifndef MUSTER_WORKER_PHASE_H
#define MUSTER_WORKER_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "rendezvous/store_client.h"
#include "worker/env.h"
#include "worker/options.h"

/* A phase, or one step of a phase that repeats (step < 0: the phase is not counted). */
struct point {
    enum phase phase;
    int step;
};

struct phases;

/* Borrows all three for its life. client NULL: a lone rank without a store; every call then
 * succeeds at once. Starts the watchdog. NULL: ERR_SYSTEM. */
struct phases *phases_new(const struct env *env, const struct options *o,
                          struct store_client *client, struct err *e);
void phases_free(struct phases *p);

/* Work towards a point begins: makes an injected fault, then starts the clock of the deadline.
 * what: for people, such as "all_reduce of 1M float sum"; copied. min_ms: the deadline if it is
 * longer than the phase's own. */
void phases_begin(struct phases *p, struct point at, const char *what, uint64_t min_ms);

/* All ranks are at work towards the point that was begun: the clock of its deadline starts
 * again. For work of many parts, after a barrier. */
void phases_go_on(struct phases *p);

/* Only for PHASE_warm and PHASE_bench: says in the store that this rank enters the collective,
 * so that a hang can be told from a rank that did not come. Waits for all. */
int phases_enter(struct phases *p, struct point at, struct err *e);

/* This rank is there and has len bytes to say. Rank 0 gets what every rank said in all[0 ..
 * world_size - 1] (initialised by the caller; unused on other ranks, may be NULL). */
int phases_reach(struct phases *p, struct point at, const void *said, size_t len,
                 struct buf *all, struct err *e);

/* Rank 0 gives the word, the others receive it; stops the clock. After phases_reach. */
int phases_go(struct phases *p, struct point at, struct buf *word, struct err *e);

/* For a rank that is to end because rank 0 has: lets it be the first, for its words are what a
 * launcher reports. A launcher ends this process meanwhile; else it returns after 2 s. */
void phases_give_way(void);

/* reach and go with nothing to say. */
int phases_meet(struct phases *p, struct point at, struct err *e);

/* A further key of the job, "mw/0/<name>"; get waits for it up to the phase's deadline. */
int phases_set(struct phases *p, const char *name, const void *value, size_t len,
               struct err *e);
int phases_get(struct phases *p, const char *name, struct buf *out, struct err *e);

/* Key "mw/result": the JSON object, for `muster check`. */
int phases_set_result(struct phases *p, const void *json, size_t len, struct err *e);

/* Key "mw/rank/R": this rank's record. */
int phases_set_record(struct phases *p, const char *text, struct err *e);

/* The value of a "key=value" line of a record; "" if absent. */
void phases_record_field(const char *record, const char *key, char *out, size_t size);

/* For diagnosis: at a deadline, after the report, the main thread is asked to abort what it
 * waits in, and the process ends once it has, or limit_ms later, since an abort may block as
 * well. phases_is_aborting is what it polls there; phases_aborted says that it is done and does
 * not return. ctx: the phases. */
void phases_set_abort(struct phases *p, uint64_t limit_ms);
bool phases_is_aborting(void *ctx);
void phases_aborted(void *ctx);

/* Text printed by the speaker after a hang, such as NCCL's own view; called in the watchdog. */
void phases_on_hang(struct phases *p, void (*report)(void *ctx), void *ctx);

#endif
