/* device_ranks.h - the part of resolve() that spreads chosen GPUs over ranks and writes each
 * rank's CUDA_VISIBLE_DEVICES.
 *
 * Owns the arithmetic (workers per GPU, GPUs per worker, block or cyclic) and the binding
 * modes. Does not know what the units are: it gets their names. Called by device_select alone.
 */
#ifndef MUSTER_LAUNCHER_CORE_DEVICE_RANKS_H
#define MUSTER_LAUNCHER_CORE_DEVICE_RANKS_H

#include "launcher/core/device_select.h"

/* How nunits are shared out. */
struct spread {
    int n;      /* ranks */
    int groups; /* of gpus_per_proc units each */
    int used;   /* units in use; the rest of the list is cut */
};

/* Step 8. Fails with E_OVERSUBSCRIBED (E_CONFLICT for a hostfile's slots) or E_UNEVEN. */
int device_spread(const struct request *req, int nunits, struct spread *out,
                  struct gpu_fault *f);

/* Makes out->ranks: names[0..s->used) as the binding says (any but none), order for
 * CUDA_DEVICE_ORDER (NULL = leave it; a constant, not copied). */
void device_ranks_bind(const struct request *req, const struct spread *s,
                       const char *const *names, const char *order, struct device_choice *out);

/* Makes out->ranks for n workers without a GPU: dev -1, cvd copied (NULL = leave it). */
void device_ranks_bare(const struct request *req, int n, const char *cvd, const char *order,
                       struct device_choice *out);

/* Makes out->ranks for workers whose environment stays as it is: dev and LOCAL_RANK are the
 * local rank. */
void device_ranks_untouched(int n, struct device_choice *out);

#endif
