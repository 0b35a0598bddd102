/* reach_plan.h - which host tries to reach which, for the rule net.reach.
 *
 * Of few hosts each tries all others. Of many each tries its neighbours in a ring and those at
 * four distances further, in both directions, so that every pair that is tried is tried both
 * ways and the number of connections grows only with the number of hosts. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_REACH_PLAN_H
#define MUSTER_LAUNCHER_CORE_REACH_PLAN_H

#include <stddef.h>

enum { REACH_ALL_MAX = 64, REACH_PEERS_MAX = REACH_ALL_MAX };

/* Fills out with the peers of host (of n), each once, never itself; returns how many. */
size_t reach_plan(size_t n, size_t host, size_t out[REACH_PEERS_MAX]);

#endif
