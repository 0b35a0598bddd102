/* nccl_comm.h - one rank's communicator: made, used for every operation, closed or aborted.
 *
 * Blocking by default, as timing needs it (a non-blocking one starts a thread at each group's
 * end). For diagnosis it is non-blocking: every wait then polls, and where an abort is wanted
 * the communicator is aborted and the call does not return. Knows neither buffers nor kernels.
 */
#ifndef MUSTER_WORKER_NCCL_COMM_H
#define MUSTER_WORKER_NCCL_COMM_H

#include <cuda_runtime_api.h>

#include "worker/backend.h"
#include "worker/nccl_api.h"

/* For diagnosis; wanted NULL: blocking. done does not return. */
struct nccl_abort {
    bool (*wanted)(void *ctx);
    void (*done)(void *ctx);
    void *ctx;
};

struct nccl_comm {
    const struct nccl *api;
    struct nccl_abort abort;
    uint32_t rank, nranks;
    ncclComm_t all, part; /* part: without left_out, NULL unless there is one */
    uint32_t left_out;
    cudaStream_t stream;
};

/* Not connected, no stream. */
void nccl_comm_init(struct nccl_comm *c, const struct nccl *api, const struct nccl_abort *abort,
                    uint32_t rank, uint32_t nranks);

/* Collective: returns when the communicator is there. 0 or a status, as all below. */
int nccl_comm_connect(struct nccl_comm *c, const ncclUniqueId *ids, uint32_t count,
                      struct err *e);
int nccl_comm_close(struct nccl_comm *c, struct err *e); /* not connected is fine */

/* Launch on the stream and return. send and recv: where this rank's data begins. */
int nccl_comm_run(struct nccl_comm *c, const struct operation *op, const void *send, void *recv,
                  struct err *e);
int nccl_comm_transfer(struct nccl_comm *c, const struct transfer *t, const void *send,
                       void *recv, struct err *e);

/* An all-reduce of one word of device memory, as a barrier. */
int nccl_comm_meet(struct nccl_comm *c, uint32_t *word, struct err *e);

/* Collective: from now on every rank but this one works in a communicator of its own; with
 * BACKEND_NOBODY all are in again. */
int nccl_comm_leave_out(struct nccl_comm *c, uint32_t rank, struct err *e);

/* An error that NCCL met in the background. Aborts where that is wanted. */
int nccl_comm_check(struct nccl_comm *c, struct err *e);

/* The status of a result, with NCCL's words in e. */
int nccl_comm_status(const struct nccl_comm *c, ncclResult_t rc, const char *what,
                     struct err *e);

#endif
