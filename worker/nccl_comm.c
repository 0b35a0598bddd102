#include "worker/nccl_comm.h"

#include <sched.h>
#include <stdlib.h>

#include "base/mem.h"
#include "worker/status.h"

static const ncclDataType_t types[] = {
    [TYPE_INT8] = ncclInt8,         [TYPE_UINT8] = ncclUint8,
    [TYPE_INT32] = ncclInt32,       [TYPE_UINT32] = ncclUint32,
    [TYPE_INT64] = ncclInt64,       [TYPE_UINT64] = ncclUint64,
    [TYPE_HALF] = ncclFloat16,      [TYPE_FLOAT] = ncclFloat32,
    [TYPE_DOUBLE] = ncclFloat64,    [TYPE_BFLOAT16] = ncclBfloat16,
    [TYPE_F8E4M3] = ncclFloat8e4m3, [TYPE_F8E5M2] = ncclFloat8e5m2,
};
_Static_assert(sizeof types / sizeof types[0] == TYPE_COUNT, "one row a type");

static const ncclRedOp_t reductions[] = {
    [OP_SUM] = ncclSum, [OP_PROD] = ncclProd, [OP_MAX] = ncclMax,
    [OP_MIN] = ncclMin, [OP_AVG] = ncclAvg,
};
_Static_assert(sizeof reductions / sizeof reductions[0] == OP_COUNT, "one row an operation");

void nccl_comm_init(struct nccl_comm *c, const struct nccl *api, const struct nccl_abort *abort,
                    uint32_t rank, uint32_t nranks)
{
    *c = (struct nccl_comm){
        .api = api,
        .abort = *abort,
        .rank = rank,
        .nranks = nranks,
        .left_out = BACKEND_NOBODY,
    };
}

int nccl_comm_status(const struct nccl_comm *c, ncclResult_t rc, const char *what,
                     struct err *e)
{
    if (rc == ncclSuccess)
        return 0;
    const char *detail = c->api->GetLastError ? c->api->GetLastError(c->all) : NULL;
    err_set(e, ERR_SYSTEM, "%s: %s%s%s; NCCL_DEBUG=WARN says more", what,
            c->api->GetErrorString(rc), detail && *detail ? ": " : "", detail ? detail : "");
    return STATUS_NCCL;
}

/* Aborting one communicator alone frees memory that other ranks use, so that all ranks do it at
 * the word of their watchdogs. */
static void abort_if_wanted(struct nccl_comm *c)
{
    if (!c->abort.wanted || !c->abort.wanted(c->abort.ctx))
        return;
    if (c->part)
        c->api->CommAbort(c->part);
    if (c->all)
        c->api->CommAbort(c->all);
    c->abort.done(c->abort.ctx);
}

/* Waits while a call on a non-blocking communicator goes on in the background. */
static ncclResult_t settle(struct nccl_comm *c, ncclComm_t comm, ncclResult_t rc)
{
    while (rc == ncclInProgress) {
        abort_if_wanted(c);
        ncclResult_t asked = comm ? c->api->CommGetAsyncError(comm, &rc) : ncclSuccess;
        if (asked != ncclSuccess)
            return asked;
        if (!comm)
            return ncclInternalError;
        sched_yield();
    }
    return rc;
}

int nccl_comm_connect(struct nccl_comm *c, const ncclUniqueId *ids, uint32_t count,
                      struct err *e)
{
    const struct nccl *api = c->api;
    const char *what = "ncclCommInitRankConfig";
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclResult_t rc;
    if (c->abort.wanted)
        config.blocking = 0;
#if NCCL_VERSION_CODE >= 22800
    config.nvlinkCentricSched = 1; /* as nccl-tests does from 2.28 on */
#endif
    if (count > 1) {
        ncclUniqueId *copy = mem_dup(ids, count * sizeof *ids);
        what = "ncclCommInitRankScalable";
        rc = api->CommInitRankScalable(&c->all, (int)c->nranks, (int)c->rank, (int)count, copy,
                                       &config);
        rc = settle(c, c->all, rc);
        free(copy);
    } else {
        rc = api->CommInitRankConfig(&c->all, (int)c->nranks, ids[0], (int)c->rank, &config);
        rc = settle(c, c->all, rc);
    }
    return nccl_comm_status(c, rc, what, e);
}

int nccl_comm_check(struct nccl_comm *c, struct err *e)
{
    ncclComm_t comms[] = {c->all, c->part};
    abort_if_wanted(c);
    for (int i = 0; i < 2; i++) {
        ncclResult_t async = ncclSuccess;
        ncclResult_t rc = comms[i] ? c->api->CommGetAsyncError(comms[i], &async) : ncclSuccess;
        int status = nccl_comm_status(c, rc, "ncclCommGetAsyncError", e);
        if (!status && async != ncclInProgress)
            status = nccl_comm_status(c, async, "collective", e);
        if (status)
            return status;
    }
    return 0;
}

/* One call of ncclSend or ncclRecv each where its side is not NULL. */
struct message {
    const char *out;
    char *in;
    size_t count;
    uint32_t peer;
};

static ncclResult_t add_message(const struct nccl_comm *c, const struct message *m,
                                ncclDataType_t type)
{
    ncclResult_t rc = ncclSuccess;
    if (m->out)
        rc = c->api->Send(m->out, m->count, type, (int)m->peer, c->all, c->stream);
    if (rc == ncclSuccess && m->in)
        rc = c->api->Recv(m->in, m->count, type, (int)m->peer, c->all, c->stream);
    return rc;
}

/* All of them at once, as one group. */
static ncclResult_t group(const struct nccl_comm *c, const struct message *list, size_t n,
                          ncclDataType_t type)
{
    ncclResult_t rc = c->api->GroupStart();
    if (rc != ncclSuccess)
        return rc;
    for (size_t i = 0; i < n && rc == ncclSuccess; i++)
        rc = add_message(c, &list[i], type);
    ncclResult_t end = c->api->GroupEnd();
    return rc == ncclSuccess || rc == ncclInProgress ? end : rc;
}

/* Where a rank's data begins, and how far apart blocks are. */
struct place {
    const char *send;
    char *recv;
    size_t block; /* bytes */
};

/* Blocks between this rank and every other, where NCCL has no function of its own. A block that
 * would be sent to itself in place is already there. */
static ncclResult_t exchange_blocks(const struct nccl_comm *c, const struct operation *op,
                                    const struct place *at)
{
    const bool is_root = c->rank == op->root, is_gather = op->collective == COLLECTIVE_GATHER,
               is_scatter = op->collective == COLLECTIVE_SCATTER;
    struct message *list = mem_alloc(c->nranks, sizeof *list);
    size_t n = 0;
    for (uint32_t peer = 0; peer < c->nranks; peer++) {
        bool sends = is_gather ? peer == op->root : !is_scatter || is_root;
        bool receives = is_scatter ? peer == op->root : !is_gather || is_root;
        if (op->in_place && peer == c->rank)
            continue;
        list[n++] = (struct message){
            .out = sends ? at->send + (is_gather ? 0 : peer * at->block) : NULL,
            .in = receives ? at->recv + (is_scatter ? 0 : peer * at->block) : NULL,
            .count = op->count,
            .peer = peer,
        };
    }
    ncclResult_t rc = group(c, list, n, types[op->type]);
    free(list);
    return rc;
}

/* The functions of NCCL 2.28 for the same, if this library has them. */
static bool is_direct(const struct nccl_comm *c, const struct operation *op,
                      const struct place *at, ncclResult_t *rc)
{
#if NCCL_VERSION_CODE >= 22803
    const struct nccl *api = c->api;
    ncclDataType_t type = types[op->type];
    int root = (int)op->root;
    if (op->collective == COLLECTIVE_ALLTOALL && api->AlltoAll)
        *rc = api->AlltoAll(at->send, at->recv, op->count, type, c->all, c->stream);
    else if (op->collective == COLLECTIVE_GATHER && api->Gather)
        *rc = api->Gather(at->send, at->recv, op->count, type, root, c->all, c->stream);
    else if (op->collective == COLLECTIVE_SCATTER && api->Scatter)
        *rc = api->Scatter(at->send, at->recv, op->count, type, root, c->all, c->stream);
    else
        return false;
    return true;
#else
    (void)c;
    (void)op;
    (void)at;
    (void)rc;
    return false;
#endif
}

static ncclResult_t run_sendrecv(const struct nccl_comm *c, const struct operation *op,
                                 const struct place *at)
{
    uint32_t next = (c->rank + 1) % c->nranks, before = (c->rank + c->nranks - 1) % c->nranks;
    const struct message list[] = {
        {.out = at->send, .count = op->count, .peer = next},
        {.in = at->recv, .count = op->count, .peer = before},
    };
    return group(c, list, 2, types[op->type]);
}

/* Step k: the 2^k blocks that are there are exchanged with the rank that differs in bit k. */
static ncclResult_t run_hypercube(struct nccl_comm *c, const struct operation *op,
                                  const struct place *at)
{
    char *own = at->recv + c->rank * at->block;
    if (own != at->send
        && cudaMemcpyAsync(own, at->send, at->block, cudaMemcpyDeviceToDevice, c->stream)
               != cudaSuccess)
        return ncclUnhandledCudaError;
    for (uint32_t bit = 1; bit < c->nranks; bit *= 2) {
        uint32_t mine = c->rank & ~(bit - 1), theirs = mine ^ bit;
        const struct message m = {
            .out = at->recv + mine * at->block,
            .in = at->recv + theirs * at->block,
            .count = op->count * bit,
            .peer = c->rank ^ bit,
        };
        ncclResult_t rc = settle(c, c->all, group(c, &m, 1, types[op->type]));
        if (rc != ncclSuccess)
            return rc;
    }
    return ncclSuccess;
}

static ncclResult_t run_any(struct nccl_comm *c, const struct operation *op, ncclComm_t comm,
                            const struct place *at)
{
    const struct nccl *api = c->api;
    const ncclDataType_t type = types[op->type];
    const ncclRedOp_t reduction = reductions[op->op];
    const size_t n = op->count;
    ncclResult_t rc;
    switch (op->collective) {
    case COLLECTIVE_ALLREDUCE:
        return api->AllReduce(at->send, at->recv, n, type, reduction, comm, c->stream);
    case COLLECTIVE_ALLGATHER:
        return api->AllGather(at->send, at->recv, n, type, comm, c->stream);
    case COLLECTIVE_REDUCESCATTER:
        return api->ReduceScatter(at->send, at->recv, n, type, reduction, comm, c->stream);
    case COLLECTIVE_BROADCAST:
        return api->Broadcast(at->send, at->recv, n, type, (int)op->root, comm, c->stream);
    case COLLECTIVE_REDUCE:
        return api->Reduce(at->send, at->recv, n, type, reduction, (int)op->root, comm,
                           c->stream);
    case COLLECTIVE_ALLTOALL:
    case COLLECTIVE_GATHER:
    case COLLECTIVE_SCATTER:
        return is_direct(c, op, at, &rc) ? rc : exchange_blocks(c, op, at);
    case COLLECTIVE_SENDRECV:
        return run_sendrecv(c, op, at);
    case COLLECTIVE_HYPERCUBE:
        return run_hypercube(c, op, at);
    case COLLECTIVE_COUNT:
        break;
    }
    return ncclInvalidArgument;
}

int nccl_comm_run(struct nccl_comm *c, const struct operation *op, const void *send, void *recv,
                  struct err *e)
{
    const struct place at = {send, recv, op->count * type_bytes(op->type)};
    ncclComm_t comm = c->part ? c->part : c->all;
    if (c->rank == c->left_out)
        return 0;
    ncclResult_t rc = settle(c, comm, run_any(c, op, comm, &at));
    return rc == ncclSuccess ? 0 : nccl_comm_status(c, rc, collective_title(op->collective), e);
}

int nccl_comm_transfer(struct nccl_comm *c, const struct transfer *t, const void *send,
                       void *recv, struct err *e)
{
    uint32_t peer = t->peer_of[c->rank];
    bool sends = (t->up && peer > c->rank) || (t->down && peer < c->rank);
    bool receives = (t->up && peer < c->rank) || (t->down && peer > c->rank);
    const struct message m = {sends ? send : NULL, receives ? recv : NULL, t->bytes, peer};
    if (!sends && !receives)
        return 0;
    ncclResult_t rc = settle(c, c->all, group(c, &m, 1, ncclInt8));
    return rc == ncclSuccess ? 0 : nccl_comm_status(c, rc, "transfer", e);
}

int nccl_comm_meet(struct nccl_comm *c, uint32_t *word, struct err *e)
{
    ncclResult_t rc = c->api->AllReduce(word, word, 1, ncclUint32, ncclMax, c->all, c->stream);
    return nccl_comm_status(c, settle(c, c->all, rc), "barrier", e);
}

static int drop_part(struct nccl_comm *c, struct err *e)
{
    ncclResult_t rc = c->part ? settle(c, c->part, c->api->CommFinalize(c->part)) : ncclSuccess;
    if (c->part && rc == ncclSuccess)
        rc = c->api->CommDestroy(c->part);
    c->part = NULL;
    c->left_out = BACKEND_NOBODY;
    return nccl_comm_status(c, rc, "ncclCommDestroy", e);
}

int nccl_comm_leave_out(struct nccl_comm *c, uint32_t rank, struct err *e)
{
    int status = drop_part(c, e);
    if (status || rank == BACKEND_NOBODY)
        return status;
    if (!c->api->CommSplit) {
        err_set(e, ERR_UNAVAILABLE, "this NCCL has no ncclCommSplit (2.18): no isolate");
        return STATUS_BACKEND;
    }
    ncclResult_t rc = c->api->CommSplit(c->all, rank == c->rank ? NCCL_SPLIT_NOCOLOR : 0,
                                        (int)c->rank, &c->part, NULL);
    rc = settle(c, c->part ? c->part : c->all, rc);
    c->left_out = rank;
    return nccl_comm_status(c, rc, "ncclCommSplit", e);
}

int nccl_comm_close(struct nccl_comm *c, struct err *e)
{
    int status = drop_part(c, e);
    if (!c->all)
        return status;
    ncclResult_t rc = settle(c, c->all, c->api->CommFinalize(c->all));
    if (!status)
        status = nccl_comm_status(c, rc, "ncclCommFinalize", e);
    rc = c->api->CommDestroy(c->all);
    c->all = NULL;
    return status ? status : nccl_comm_status(c, rc, "ncclCommDestroy", e);
}
