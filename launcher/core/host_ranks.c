#include "launcher/core/host_ranks.h"

int host_ranks_build(const struct host_list *list, const uint32_t *found,
                     struct host_ranks *out, uint32_t *world, struct host_fault *fault,
                     struct err *e)
{
    uint32_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        out[i].first_rank = n;
        if (host_workers(list, &list->hosts[i], found ? found[i] : 0, &out[i].nworkers, fault,
                         e)
            != 0)
            return -1;
        n += out[i].nworkers; /* at most HOSTS_MAX * HOST_SLOTS_MAX = 2^28 */
    }
    *world = n;
    return 0;
}
