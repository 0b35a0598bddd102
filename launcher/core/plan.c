#include "launcher/core/plan.h"

int plan_build(struct order *orders, uint32_t n, struct err *e)
{
    uint64_t world = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!orders[i].nworkers)
            return err_set(e, ERR_USAGE,
                           "node %u has no GPU to count workers by; say how many with -n N", i);
        orders[i].node_rank = i;
        orders[i].nnodes = n;
        orders[i].first_rank = (uint32_t)world;
        world += orders[i].nworkers;
        if (world > INT32_MAX)
            return err_set(e, ERR_USAGE, "more than %d workers in one job", INT32_MAX);
    }
    for (uint32_t i = 0; i < n; i++)
        orders[i].world_size = (uint32_t)world;
    return 0;
}
