/* pairs.h - the tests that look for one slow link or rank: pairs, latency, isolate.
 *
 * pairs: each two ranks alone (more than 16 ranks: disjoint pairs at a time), one way, the
 * other way, both; latency: a ping-pong of 8 bytes; isolate: the all_reduce without each rank.
 * Best of a few rounds. Runs after the collectives; rank 0 fills result.links and
 * result.isolate.
 */
#ifndef MUSTER_WORKER_PAIRS_H
#define MUSTER_WORKER_PAIRS_H

#include "worker/bench.h"

/* The buffer that the tests asked for use; 0 = none of them was. */
uint64_t pairs_bytes(const struct options *o, bool is_host);

/* How long one round of --iters transfers, or all_reduces, may take before it counts as stuck:
 * on 1 Gbit/s some 0.6 s each, or 2.2. */
uint64_t pairs_deadline_ms(const struct options *o);

/* All ranks together. 0 or a status. */
int pairs_run(struct bench *b, struct err *e);

#endif
