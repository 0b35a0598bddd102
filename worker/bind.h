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

/* Appends what CUDA shows here, one a line: first the UUID of each GPU in CUDA's order, then
 * driver=, runtime= (13000 for 13.0), code= (of cudaGetDeviceCount), count=, peers= (1: all
 * reach each other's memory), peer.I= (a 0 or 1 for each J) and free.I= (bytes). Makes a
 * context on each GPU for the last, where it can. 0; STATUS_CUDA; STATUS_BACKEND if there is no
 * GPU or no CUDA in this build. */
int bind_facts(struct buf *out, struct err *e);

/* For a rank without a GPU. */
void bind_none(struct device *d);

#endif
