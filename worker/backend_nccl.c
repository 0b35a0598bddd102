#include "worker/backend_nccl.h"

#include <cuda_runtime_api.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "worker/status.h"

enum { THREADS = 256, BLOCKS_PER_SM = 8, RANKS_PER_ID = 128, POLLS_PER_ERROR_CHECK = 16 };
static const uint64_t memory_kept_free = 1ull << 30;
static const uint64_t host_chunk_bytes = 64ull << 20;

/* kernels.cu as nvcc compiled it; kernels_blob.S */
extern const unsigned char muster_kernels_begin[];

struct nccl_backend {
    struct backend base;
    struct nccl_setup s;
    ncclComm_t comm;
    cudaStream_t stream;
    cudaLibrary_t library;
    cudaKernel_t fill[TYPE_COUNT], check[TYPE_COUNT], poison, poison_check;
    void *buffers[BUFFER_COUNT];
    bool is_nccl_memory;
    struct pattern_tally *tally_device, *tally_host; /* host: pinned */
    uint32_t *word;                                  /* of the barrier, on the device */
};

static const ncclDataType_t nccl_types[] = {
    [TYPE_INT8] = ncclInt8,         [TYPE_UINT8] = ncclUint8,
    [TYPE_INT32] = ncclInt32,       [TYPE_UINT32] = ncclUint32,
    [TYPE_INT64] = ncclInt64,       [TYPE_UINT64] = ncclUint64,
    [TYPE_HALF] = ncclFloat16,      [TYPE_FLOAT] = ncclFloat32,
    [TYPE_DOUBLE] = ncclFloat64,    [TYPE_BFLOAT16] = ncclBfloat16,
    [TYPE_F8E4M3] = ncclFloat8e4m3, [TYPE_F8E5M2] = ncclFloat8e5m2,
};
_Static_assert(sizeof nccl_types / sizeof nccl_types[0] == TYPE_COUNT, "one row a type");

static const ncclRedOp_t nccl_ops[] = {
    [OP_SUM] = ncclSum, [OP_PROD] = ncclProd, [OP_MAX] = ncclMax,
    [OP_MIN] = ncclMin, [OP_AVG] = ncclAvg,
};
_Static_assert(sizeof nccl_ops / sizeof nccl_ops[0] == OP_COUNT, "one row an operation");

static struct nccl_backend *self(struct backend *b)
{
    return (struct nccl_backend *)(void *)b;
}

static int cuda_status(cudaError_t rc, const char *what, struct err *e)
{
    if (rc == cudaSuccess)
        return 0;
    err_set(e, ERR_SYSTEM, "%s: CUDA error %d, %s", what, (int)rc, cudaGetErrorString(rc));
    return STATUS_CUDA;
}

static int nccl_status(const struct nccl_backend *n, ncclResult_t rc, const char *what,
                       struct err *e)
{
    if (rc == ncclSuccess)
        return 0;
    const char *detail = NULL;
    if (n->s.api->GetLastError)
        detail = n->s.api->GetLastError(n->comm);
    err_set(e, ERR_SYSTEM, "%s: %s%s%s; NCCL_DEBUG=WARN says more", what,
            n->s.api->GetErrorString(rc), detail && *detail ? ": " : "", detail ? detail : "");
    return STATUS_NCCL;
}

static int get_kernel(struct nccl_backend *n, cudaKernel_t *kernel, const char *name,
                      struct err *e)
{
    cudaError_t rc = cudaLibraryGetKernel(kernel, n->library, name);
    return cuda_status(rc, name, e);
}

static int load_kernels(struct nccl_backend *n, struct err *e)
{
    static const struct {
        const char *fill, *check;
    } names[TYPE_COUNT] = {
#define X(name, text, bytes, kind, bits) [TYPE_##name] = {"mw_fill_" #name, "mw_check_" #name},
        TYPE_TABLE(X)
#undef X
    };
    cudaError_t rc =
        cudaLibraryLoadData(&n->library, muster_kernels_begin, NULL, NULL, 0, NULL, NULL, 0);
    int status = cuda_status(rc, "loading the kernels", e);
    for (int t = 0; t < TYPE_COUNT && !status; t++) {
        status = get_kernel(n, &n->fill[t], names[t].fill, e);
        if (!status)
            status = get_kernel(n, &n->check[t], names[t].check, e);
    }
    if (!status)
        status = get_kernel(n, &n->poison, "mw_poison", e);
    if (!status)
        status = get_kernel(n, &n->poison_check, "mw_poison_check", e);
    return status;
}

static int make_small_memory(struct nccl_backend *n, struct err *e)
{
    void *p = NULL;
    int status = cuda_status(cudaMalloc(&p, sizeof *n->tally_device), "cudaMalloc", e);
    n->tally_device = p;
    if (status)
        return status;
    p = NULL;
    status = cuda_status(cudaMalloc(&p, sizeof *n->word), "cudaMalloc", e);
    n->word = p;
    if (status)
        return status;
    status = cuda_status(cudaMemset(n->word, 0, sizeof *n->word), "cudaMemset", e);
    if (status)
        return status;
    p = NULL;
    status = cuda_status(cudaHostAlloc(&p, sizeof *n->tally_host, cudaHostAllocDefault),
                         "cudaHostAlloc", e);
    n->tally_host = p;
    return status;
}

uint32_t backend_nccl_ids(const struct nccl *api, uint32_t nranks)
{
    if (!api->CommInitRankScalable || nranks <= RANKS_PER_ID)
        return 1;
    return (nranks + RANKS_PER_ID - 1) / RANKS_PER_ID;
}

uint32_t backend_nccl_id_owner(uint32_t nranks, uint32_t ids, uint32_t k)
{
    uint32_t longer = nranks % ids;
    return k * (nranks / ids) + (k < longer ? k : longer);
}

int backend_nccl_connect(struct backend *b, const ncclUniqueId *ids, uint32_t count,
                         struct err *e)
{
    struct nccl_backend *n = self(b);
    const struct nccl *api = n->s.api;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
#if NCCL_VERSION_CODE >= 22800
    config.nvlinkCentricSched = 1; /* as nccl-tests does from 2.28 on */
#endif
    ncclResult_t rc;
#if NCCL_VERSION_CODE >= 22300
    if (count > 1) {
        ncclUniqueId *copy = mem_dup(ids, count * sizeof *ids);
        rc = api->CommInitRankScalable(&n->comm, (int)n->s.nranks, (int)n->s.rank, (int)count,
                                       copy, &config);
        free(copy);
        return nccl_status(n, rc, "ncclCommInitRankScalable", e);
    }
#endif
    (void)count;
    rc = api->CommInitRankConfig(&n->comm, (int)n->s.nranks, ids[0], (int)n->s.rank, &config);
    return nccl_status(n, rc, "ncclCommInitRankConfig", e);
}

static bool nccl_supports(enum type type, enum op op)
{
    (void)type;
    (void)op;
    return true;
}

static uint64_t nccl_limit(struct backend *b)
{
    (void)b;
    size_t available = 0, total = 0;
    if (cudaMemGetInfo(&available, &total) != cudaSuccess || available <= memory_kept_free)
        return 1;
    uint64_t limit = (available - memory_kept_free) / 2;
    return limit > 2 * BACKEND_GUARD_BYTES ? limit - BACKEND_GUARD_BYTES : 1;
}

static int nccl_alloc(struct backend *b, uint64_t bytes, struct err *e)
{
    struct nccl_backend *n = self(b);
    const struct nccl *api = n->s.api;
    size_t size = (size_t)bytes + BACKEND_GUARD_BYTES;
    n->is_nccl_memory = api->MemAlloc && api->MemFree && !n->s.cuda_malloc;
    for (int i = 0; i < BUFFER_COUNT; i++) {
        void *p = NULL;
        int status = n->is_nccl_memory
                         ? nccl_status(n, api->MemAlloc(&p, size), "ncclMemAlloc", e)
                         : cuda_status(cudaMalloc(&p, size), "cudaMalloc", e);
        if (status)
            return status;
        n->buffers[i] = p;
    }
    return 0;
}

/* items 16-byte words: full grid, less where the range is short. */
static int launch(struct nccl_backend *n, cudaKernel_t kernel, uint64_t words, void **args,
                  const char *what, struct err *e)
{
    uint64_t blocks = (words + THREADS - 1) / THREADS,
             most = (uint64_t)n->s.device->multiprocessors * BLOCKS_PER_SM;
    blocks = blocks < 1 ? 1 : blocks > most ? most : blocks;
    dim3 grid = {(unsigned)blocks, 1, 1}, block = {THREADS, 1, 1};
    /* A cudaKernel_t is accepted where a function's address is (cudaLibraryGetKernel). */
    return cuda_status(cudaLaunchKernel((const void *)kernel, grid, block, args, 0, n->stream),
                       what, e);
}

static uint64_t words_of(uint64_t begin, uint64_t end, size_t size)
{
    return begin < end ? ((end - begin) * size + 15) / 16 + 1 : 0;
}

static int nccl_fill(struct backend *b, enum buffer which, uint64_t begin, uint64_t end,
                     const struct pattern *p, struct err *e)
{
    struct nccl_backend *n = self(b);
    struct pattern pattern = *p;
    uint32_t rank = n->s.rank;
    void *base = n->buffers[which];
    void *args[] = {&base, &begin, &end, &pattern, &rank};
    return launch(n, n->fill[p->type], words_of(begin, end, pattern_size(p->type)), args,
                  "fill kernel", e);
}

static int nccl_poison(struct backend *b, enum buffer which, uint64_t begin, uint64_t end,
                       struct err *e)
{
    struct nccl_backend *n = self(b);
    void *base = n->buffers[which];
    void *args[] = {&base, &begin, &end};
    return launch(n, n->poison, words_of(begin, end, 1), args, "poison kernel", e);
}

static int nccl_run(struct backend *b, const struct operation *op, uint64_t offset,
                    struct err *e)
{
    struct nccl_backend *n = self(b);
    const char *send = (const char *)n->buffers[op->in_place ? BUFFER_RECV : BUFFER_SEND];
    char *recv = n->buffers[BUFFER_RECV];
    ncclResult_t rc =
        n->s.api->AllReduce(send + offset, recv + offset, (size_t)op->count,
                            nccl_types[op->type], nccl_ops[op->op], n->comm, n->stream);
    return rc == ncclSuccess ? 0 : nccl_status(n, rc, "ncclAllReduce", e);
}

static int check_async(struct nccl_backend *n, struct err *e)
{
    ncclResult_t async = ncclSuccess;
    if (!n->comm)
        return 0;
    int status = nccl_status(n, n->s.api->CommGetAsyncError(n->comm, &async),
                             "ncclCommGetAsyncError", e);
    if (status)
        return status;
    return async == ncclInProgress ? 0 : nccl_status(n, async, "collective", e);
}

static int nccl_sync(struct backend *b, struct err *e)
{
    struct nccl_backend *n = self(b);
    for (unsigned polls = 1;; polls++) {
        cudaError_t rc = cudaStreamQuery(n->stream);
        if (rc == cudaSuccess)
            return 0;
        if (rc != cudaErrorNotReady)
            return cuda_status(rc, "cudaStreamQuery", e);
        int status = polls % POLLS_PER_ERROR_CHECK == 0 ? check_async(n, e) : 0;
        if (status)
            return status;
        sched_yield();
    }
}

static int nccl_barrier(struct backend *b, struct err *e)
{
    struct nccl_backend *n = self(b);
    if (n->s.nranks > 1 && (n->s.nodes > 1 || !n->s.shared)) {
        ncclResult_t rc =
            n->s.api->AllReduce(n->word, n->word, 1, ncclUint32, ncclMax, n->comm, n->stream);
        int status = nccl_status(n, rc, "barrier", e);
        if (!status)
            status = nccl_sync(b, e);
        if (status)
            return status;
    }
    if (n->s.shared)
        shared_barrier(n->s.shared);
    return 0;
}

/* args[tally_at] is where the kernel takes the tally's address. */
static int run_check(struct nccl_backend *n, cudaKernel_t kernel, uint64_t words, void **args,
                     struct pattern_tally *t, struct err *e)
{
    *n->tally_host = *t;
    int status = cuda_status(cudaMemcpyAsync(n->tally_device, n->tally_host, sizeof *t,
                                             cudaMemcpyHostToDevice, n->stream),
                             "cudaMemcpyAsync", e);
    if (!status)
        status = launch(n, kernel, words, args, "check kernel", e);
    if (!status)
        status = cuda_status(cudaMemcpyAsync(n->tally_host, n->tally_device, sizeof *t,
                                             cudaMemcpyDeviceToHost, n->stream),
                             "cudaMemcpyAsync", e);
    if (!status)
        status = nccl_sync(&n->base, e);
    if (!status)
        *t = *n->tally_host;
    return status;
}

/* The same check in C, a chunk at a time. */
static int check_on_host(struct nccl_backend *n, enum buffer which, uint64_t begin,
                         uint64_t end, const struct pattern *p, struct pattern_tally *t,
                         struct err *e)
{
    size_t size = pattern_size(p->type);
    const uint64_t per = host_chunk_bytes / 8; /* elements; none has more bytes */
    unsigned char *copy = mem_alloc(1, (size_t)host_chunk_bytes);
    int status = 0;
    for (uint64_t at = begin; at < end && !status; at += per) {
        uint64_t count = end - at < per ? end - at : per;
        status = cuda_status(cudaMemcpy(copy, (const char *)n->buffers[which] + at * size,
                                        (size_t)(count * size), cudaMemcpyDeviceToHost),
                             "cudaMemcpy", e);
        /* As if the array began where element 0 would be. */
        const void *base = (const void *)((uintptr_t)copy - (uintptr_t)(at * size));
        if (!status)
            pattern_check(p, base, at, at + count, t);
    }
    free(copy);
    return status;
}

static int nccl_verify(struct backend *b, enum buffer which, uint64_t begin, uint64_t end,
                       const struct pattern *p, struct pattern_tally *t, struct err *e)
{
    struct nccl_backend *n = self(b);
    struct pattern pattern = *p;
    struct pattern_tally before = *t;
    void *base = n->buffers[which];
    void *args[] = {&base, &begin, &end, &pattern, &n->tally_device};
    int status = run_check(n, n->check[p->type], words_of(begin, end, pattern_size(p->type)),
                           args, t, e);
    if (status || !n->s.verify_on_host)
        return status;
    status = check_on_host(n, which, begin, end, p, &before, e);
    if (status || memcmp(&before, t, sizeof *t) == 0)
        return status;
    err_set(e, ERR_INTERNAL, "the check kernel found %llu wrong elements, the check in C %llu",
            (unsigned long long)t->wrong, (unsigned long long)before.wrong);
    return STATUS_CUDA;
}

static int nccl_poison_check(struct backend *b, enum buffer which, uint64_t begin, uint64_t end,
                             struct pattern_tally *t, struct err *e)
{
    struct nccl_backend *n = self(b);
    void *base = n->buffers[which];
    void *args[] = {&base, &begin, &end, &n->tally_device};
    return run_check(n, n->poison_check, words_of(begin, end, 1), args, t, e);
}

static int nccl_peek(struct backend *b, enum buffer which, uint64_t offset, void *to, size_t n,
                     struct err *e)
{
    int status = nccl_sync(b, e);
    if (status)
        return status;
    return cuda_status(cudaMemcpy(to, (const char *)self(b)->buffers[which] + offset, n,
                                  cudaMemcpyDeviceToHost),
                       "cudaMemcpy", e);
}

static int nccl_poke(struct backend *b, enum buffer which, uint64_t offset, const void *from,
                     size_t n, struct err *e)
{
    int status = nccl_sync(b, e);
    if (status)
        return status;
    return cuda_status(
        cudaMemcpy((char *)self(b)->buffers[which] + offset, from, n, cudaMemcpyHostToDevice),
        "cudaMemcpy", e);
}

static uint64_t nccl_waited_ns(const struct backend *b)
{
    (void)b;
    return 0;
}

static int keep_first(int status, int next)
{
    return status ? status : next;
}

static int close_memory(struct nccl_backend *n, struct err *e)
{
    int status = 0;
    for (int i = 0; i < BUFFER_COUNT; i++) {
        if (!n->buffers[i])
            continue;
        struct err *to = status ? NULL : e;
        status = keep_first(
            status, n->is_nccl_memory
                        ? nccl_status(n, n->s.api->MemFree(n->buffers[i]), "ncclMemFree", to)
                        : cuda_status(cudaFree(n->buffers[i]), "cudaFree", to));
    }
    cudaFree(n->tally_device);
    cudaFree(n->word);
    cudaFreeHost(n->tally_host);
    return status;
}

static int nccl_close(struct backend *b, struct err *e)
{
    struct nccl_backend *n = self(b);
    int status = 0;
    if (n->comm) {
        status = nccl_status(n, n->s.api->CommFinalize(n->comm), "ncclCommFinalize", e);
        ncclResult_t rc = n->s.api->CommDestroy(n->comm);
        n->comm = NULL;
        if (!status)
            status = nccl_status(n, rc, "ncclCommDestroy", e);
    }
    status = keep_first(status, close_memory(n, status ? NULL : e));
    if (n->library)
        cudaLibraryUnload(n->library);
    if (n->stream)
        cudaStreamDestroy(n->stream);
    free(n);
    return status;
}

static const struct backend_ops nccl_ops_table = {
    .name = "nccl",
    .supports = nccl_supports,
    .limit = nccl_limit,
    .alloc = nccl_alloc,
    .fill = nccl_fill,
    .poison = nccl_poison,
    .run = nccl_run,
    .sync = nccl_sync,
    .barrier = nccl_barrier,
    .verify = nccl_verify,
    .poison_check = nccl_poison_check,
    .peek = nccl_peek,
    .poke = nccl_poke,
    .waited_ns = nccl_waited_ns,
    .close = nccl_close,
};

int backend_nccl_new(const struct nccl_setup *setup, struct backend **out, struct err *e)
{
    struct nccl_backend *n = mem_alloc(1, sizeof *n);
    n->base.ops = &nccl_ops_table;
    n->s = *setup;
    *out = NULL;
    int status = cuda_status(cudaStreamCreateWithFlags(&n->stream, cudaStreamNonBlocking),
                             "cudaStreamCreateWithFlags", e);
    if (!status)
        status = load_kernels(n, e);
    if (!status)
        status = make_small_memory(n, e);
    if (status) {
        nccl_close(&n->base, NULL);
        return status;
    }
    *out = &n->base;
    return 0;
}
