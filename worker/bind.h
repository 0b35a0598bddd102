/* bind.h - this rank's GPU: selects it and compares it with the one that was planned.
 *
 * The only file besides backend_nccl.c that calls CUDA. In a build without CUDA there are no
 * GPUs. A driver that is missing is no error here: it means no GPU.
 */
#ifndef MUSTER_WORKER_BIND_H
#define MUSTER_WORKER_BIND_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "worker/env.h"

struct device {
    int ordinal;    /* CUDA's, -1 without a GPU */
    char name[128]; /* "" without a GPU */
    char uuid[48];  /* as NVML writes it: GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx */
    char pci[20];
    int multiprocessors, capability; /* 90 = 9.0 */
    int driver, runtime;             /* as CUDA counts: 13000; 0 unknown */
};

/* GPUs that CUDA shows; why (may be NULL) gets a reason if there are none. */
int bind_count(char *why, size_t size);

/* Makes the planned device current and creates its context. 0 or a status: STATUS_DEVICE if it
 * is not the planned one, STATUS_CUDA. */
int bind_select(const struct env *env, struct device *d, struct err *e);

/* Appends the UUID of each GPU that CUDA shows, in its order, one a line; creates no context. 0
 * or STATUS_CUDA; STATUS_BACKEND if there is no GPU or no CUDA in this build. */
int bind_order(struct buf *out, struct err *e);

/* For a rank without a GPU. */
void bind_none(struct device *d);

#endif
