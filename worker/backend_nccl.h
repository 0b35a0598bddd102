/* backend_nccl.h - collectives between GPUs with NCCL, and the kernels that fill and check.
 *
 * One communicator (nccl_comm.h) on the device that bind.h made current; one stream. Never uses
 * managed memory, NVLink multicast or registration; never touches NCCL_NVLS_ENABLE. The caller
 * shares the ids; waits have no deadline of their own (phase.h has them).
 */
#ifndef MUSTER_WORKER_BACKEND_NCCL_H
#define MUSTER_WORKER_BACKEND_NCCL_H

#include "worker/backend.h"
#include "worker/bind.h"
#include "worker/nccl_api.h"
#include "worker/nccl_comm.h"
#include "worker/shared.h"

struct nccl_setup {
    const struct nccl *api;
    const struct device *device;
    struct shared *shared; /* barrier of the node; NULL: all ranks meet through NCCL */
    uint32_t rank, nranks, nodes;
    bool cuda_malloc, verify_on_host;
    struct nccl_abort abort; /* for diagnosis */
};

/* Borrows what setup points to. Makes stream and kernels; STATUS_CUDA on failure, *out NULL. */
int backend_nccl_new(const struct nccl_setup *setup, struct backend **out, struct err *e);

/* How many ids a communicator of n ranks takes, and which rank makes id k: one per 128 ranks
 * where the library can, each by the first rank of its block. */
uint32_t backend_nccl_ids(const struct nccl *api, uint32_t nranks);
uint32_t backend_nccl_id_owner(uint32_t nranks, uint32_t ids, uint32_t k);

/* Collective: returns when the communicator is there. */
int backend_nccl_connect(struct backend *b, const ncclUniqueId *ids, uint32_t count,
                         struct err *e);

#endif
