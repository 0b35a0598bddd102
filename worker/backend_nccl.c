#include "worker/backend_nccl.h"

#include <cuda_runtime_api.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "worker/nccl_comm.h"
#include "worker/status.h"

enum { THREADS = 256, BLOCKS_PER_SM = 8, RANKS_PER_ID = 128, POLLS_PER_ERROR_CHECK = 16 };
/* NCCL's first release with 8-bit floats, and the first GPUs that reduce them. */
enum { F8_VERSION = 22400, F8_CAPABILITY = 90 };
static const uint64_t memory_kept_free = 1ull << 30;
static const uint64_t host_chunk_bytes = 64ull << 20;

/* kernels.cu as nvcc compiled it; kernels_blob.S */
extern const unsigned char muster_kernels_begin[];

struct nccl_backend {
    struct backend base;
    struct nccl_setup s;
    struct nccl_comm comm;
    cudaStream_t stream;
    cudaLibrary_t library;
    cudaKernel_t fill[TYPE_COUNT], check[TYPE_COUNT], poison, poison_check;
    void *buffers[BUFFER_COUNT];
    bool is_nccl_memory;
    struct pattern_tally *tally_device, *tally_host; /* host: pinned */
    uint32_t *word;                                  /* of the barrier, on the device */
};

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
    return nccl_comm_connect(&self(b)->comm, ids, count, e);
}

static bool nccl_supports(const struct backend *b, enum type type, enum op op)
{
    const struct nccl_setup *s = &((const struct nccl_backend *)(const void *)b)->s;
    (void)op;
    if (type != TYPE_F8E4M3 && type != TYPE_F8E5M2)
        return true;
    return s->api->version >= F8_VERSION && s->device->capability >= F8_CAPABILITY;
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
        int status = n->is_nccl_memory ? nccl_comm_status(&n->comm, api->MemAlloc(&p, size),
                                                          "ncclMemAlloc", e)
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

static int nccl_fill(struct backend *b, enum buffer which, const struct pattern_span *span,
                     const struct pattern *p, struct err *e)
{
    struct nccl_backend *n = self(b);
    struct pattern pattern = *p;
    struct pattern_span s = *span;
    void *base = n->buffers[which];
    void *args[] = {&base, &s, &pattern};
    if (s.begin >= s.end)
        return 0;
    return launch(n, n->fill[p->type], words_of(s.begin, s.end, pattern_size(p->type)), args,
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
    size_t size = type_bytes(op->type);
    uint32_t rank = n->s.rank;
    const char *from = n->buffers[op->in_place ? BUFFER_RECV : BUFFER_SEND];
    char *to = n->buffers[BUFFER_RECV];
    uint64_t out = collective_send_at(op->collective, op->count, op->in_place, rank),
             in = collective_recv_at(op->collective, op->count, op->in_place, rank);
    return nccl_comm_run(&n->comm, op, from + offset + out * size, to + offset + in * size, e);
}

static int nccl_transfer(struct backend *b, const struct transfer *t, struct err *e)
{
    struct nccl_backend *n = self(b);
    return nccl_comm_transfer(&n->comm, t, n->buffers[BUFFER_SEND], n->buffers[BUFFER_RECV], e);
}

static int nccl_leave_out(struct backend *b, uint32_t rank, struct err *e)
{
    return nccl_comm_leave_out(&self(b)->comm, rank, e);
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
        int status = polls % POLLS_PER_ERROR_CHECK == 0 ? nccl_comm_check(&n->comm, e) : 0;
        if (status)
            return status;
        sched_yield();
    }
}

static int nccl_barrier(struct backend *b, struct err *e)
{
    struct nccl_backend *n = self(b);
    if (n->s.nranks > 1 && (n->s.nodes > 1 || !n->s.shared)) {
        int status = nccl_comm_meet(&n->comm, n->word, e);
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
static int check_on_host(struct nccl_backend *n, enum buffer which,
                         const struct pattern_span *span, const struct pattern *p,
                         struct pattern_tally *t, struct err *e)
{
    size_t size = pattern_size(p->type);
    const uint64_t per = host_chunk_bytes / 8; /* elements; none has more bytes */
    unsigned char *copy = mem_alloc(1, (size_t)host_chunk_bytes);
    int status = 0;
    for (uint64_t at = span->begin; at < span->end && !status; at += per) {
        uint64_t count = span->end - at < per ? span->end - at : per;
        const struct pattern_span part = {at, at + count, span->shift, span->source};
        status = cuda_status(cudaMemcpy(copy, (const char *)n->buffers[which] + at * size,
                                        (size_t)(count * size), cudaMemcpyDeviceToHost),
                             "cudaMemcpy", e);
        /* As if the array began where element 0 would be. */
        const void *base = (const void *)((uintptr_t)copy - (uintptr_t)(at * size));
        if (!status)
            pattern_check(p, &part, base, t);
    }
    free(copy);
    return status;
}

static int nccl_verify(struct backend *b, enum buffer which, const struct pattern_span *span,
                       const struct pattern *p, struct pattern_tally *t, struct err *e)
{
    struct nccl_backend *n = self(b);
    struct pattern pattern = *p;
    struct pattern_span s = *span;
    struct pattern_tally before = *t;
    void *base = n->buffers[which];
    void *args[] = {&base, &s, &pattern, &n->tally_device};
    if (s.begin >= s.end)
        return 0;
    int status = run_check(n, n->check[p->type],
                           words_of(s.begin, s.end, pattern_size(p->type)), args, t, e);
    if (status || !n->s.verify_on_host)
        return status;
    status = check_on_host(n, which, &s, p, &before, e);
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
            status, n->is_nccl_memory ? nccl_comm_status(
                        &n->comm, n->s.api->MemFree(n->buffers[i]), "ncclMemFree", to)
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
    int status = nccl_comm_close(&n->comm, e);
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
    .transfer = nccl_transfer,
    .leave_out = nccl_leave_out,
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
    nccl_comm_init(&n->comm, setup->api, &setup->abort, setup->rank, setup->nranks);
    *out = NULL;
    int status = cuda_status(cudaStreamCreateWithFlags(&n->stream, cudaStreamNonBlocking),
                             "cudaStreamCreateWithFlags", e);
    n->comm.stream = n->stream;
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
