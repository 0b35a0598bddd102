/* plan.h - the whole job: which node runs which ranks. Node order is the caller's; ranks are
 * contiguous by node.
 *
 * What needs only one node (its devices, its CPUs, its files) is node_plan's.
 */
#ifndef MUSTER_LAUNCHER_CORE_PLAN_H
#define MUSTER_LAUNCHER_CORE_PLAN_H

#include "base/err.h"
#include "launcher/core/event.h"

/* Sets first_rank, nworkers, world_size, node_rank and nnodes of each of the n orders, whose
 * nworkers come in as what the node said in its HELLO. 0, or -1 with ERR_USAGE where a node is
 * left without workers, or the world would pass 2^31 - 1 ranks.
 */
int plan_build(struct order *orders, uint32_t n, struct err *e);

#endif
