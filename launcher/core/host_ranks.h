/* host_ranks.h - which ranks a host list gives to which host.
 *
 * Owns the layout: node rank = place in the list, ranks contiguous by node, LOCAL_RANK = place
 * on the node. Does not know nodes that come and go: that is members.h.
 */
#ifndef MUSTER_LAUNCHER_CORE_HOST_RANKS_H
#define MUSTER_LAUNCHER_CORE_HOST_RANKS_H

#include "launcher/core/host_list.h"

struct host_ranks {
    uint32_t first_rank, nworkers;
};

/* Fills out[i], one for each host i. found[i]: GPUs that the host reported to count workers by,
 * used where the list has no number; NULL = none anywhere. Sets *world, the number of ranks.
 * ERR_HOSTFILE where a host would have no worker (host_workers). */
int host_ranks_build(const struct host_list *list, const uint32_t *found,
                     struct host_ranks *out, uint32_t *world, struct host_fault *fault,
                     struct err *e);

#endif
