#include "worker/bind.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "worker/status.h"

#if MUSTER_HAVE_NCCL
#include <cuda_runtime_api.h>
#endif

void bind_none(struct device *d)
{
    *d = (struct device){.ordinal = -1};
}

#if MUSTER_HAVE_NCCL
int bind_count(char *why, size_t size)
{
    int n = 0;
    cudaError_t rc = cudaGetDeviceCount(&n);
    if (rc == cudaSuccess && n > 0)
        return n;
    if (why)
        snprintf(why, size, "%s", rc == cudaSuccess ? "no GPU" : cudaGetErrorString(rc));
    return 0;
}

static int cuda_error(struct err *e, const char *what, cudaError_t rc)
{
    err_set(e, ERR_SYSTEM, "%s: CUDA error %d, %s", what, (int)rc, cudaGetErrorString(rc));
    return STATUS_CUDA;
}

static void format_uuid(const unsigned char *b, char out[48])
{
    snprintf(out, 48,
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
             b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

/* Without "GPU-" or "MIG-": CUDA does not say which kind it is. Of a list, the first counts. */
static bool is_same_uuid(const char *planned, const char *found)
{
    size_t n = strcspn(planned, ",");
    if (n < 5 || strlen(found) != n)
        return false;
    return strncasecmp(planned + 4, found + 4, n - 4) == 0;
}

static int read_properties(struct device *d, struct err *e)
{
    struct cudaDeviceProp p;
    unsigned char uuid[16];
    cudaError_t rc = cudaGetDeviceProperties(&p, d->ordinal);
    if (rc != cudaSuccess)
        return cuda_error(e, "cudaGetDeviceProperties", rc);
    memcpy(uuid, &p.uuid, sizeof uuid);
    format_uuid(uuid, d->uuid);
    snprintf(d->name, sizeof d->name, "%.*s", (int)sizeof d->name - 1, p.name);
    d->multiprocessors = p.multiProcessorCount;
    d->capability = 10 * p.major + p.minor;
    if (cudaDeviceGetPCIBusId(d->pci, (int)sizeof d->pci, d->ordinal) != cudaSuccess)
        d->pci[0] = '\0';
    if (cudaDriverGetVersion(&d->driver) != cudaSuccess)
        d->driver = 0;
    if (cudaRuntimeGetVersion(&d->runtime) != cudaSuccess)
        d->runtime = 0;
    return 0;
}

int bind_select(const struct env *env, struct device *d, struct err *e)
{
    char why[128] = "";
    int count = bind_count(why, sizeof why);
    bind_none(d);
    if (count == 0) {
        err_set(e, ERR_SYSTEM, "rank %u: CUDA shows no GPU: %s", env->rank, why);
        return STATUS_CUDA;
    }
    d->ordinal = (int)env->cuda_ordinal;
    /* A launcher that shows each rank its own GPU and does not say so. */
    if (!env->binding && count == 1)
        d->ordinal = 0;
    if (d->ordinal >= count) {
        err_set(e, ERR_SYSTEM, "rank %u should use cuda:%d, but CUDA shows only %d GPU%s",
                env->rank, d->ordinal, count, count == 1 ? "" : "s");
        return STATUS_DEVICE;
    }
    cudaError_t rc = cudaSetDevice(d->ordinal);
    if (rc == cudaSuccess)
        rc = cudaFree(NULL); /* creates the context where cudaSetDevice does not */
    if (rc != cudaSuccess) {
        char what[64];
        snprintf(what, sizeof what, "rank %u: cudaSetDevice(%d)", env->rank, d->ordinal);
        return cuda_error(e, what, rc);
    }
    int status = read_properties(d, e);
    if (status)
        return status;
    if (env->gpu_uuid && !is_same_uuid(env->gpu_uuid, d->uuid)) {
        err_set(e, ERR_SYSTEM, "rank %u was given %s but cuda:%d is %s", env->rank,
                env->gpu_uuid, d->ordinal, d->uuid);
        return STATUS_DEVICE;
    }
    return 0;
}

static int add_uuids(int count, struct buf *out, struct err *e)
{
    char uuid[48];
    for (int i = 0; i < count; i++) {
        struct cudaDeviceProp p;
        unsigned char bytes[16];
        cudaError_t rc = cudaGetDeviceProperties(&p, i);
        if (rc != cudaSuccess)
            return cuda_error(e, "cudaGetDeviceProperties", rc);
        memcpy(bytes, &p.uuid, sizeof bytes);
        format_uuid(bytes, uuid);
        buf_addf(out, "%s\n", uuid);
    }
    return 0;
}

static void add_peers(int count, struct buf *out)
{
    int all = 1;
    for (int i = 0; i < count; i++) {
        buf_addf(out, "peer.%d=", i);
        for (int j = 0; j < count; j++) {
            int can = i == j;
            if (i != j && cudaDeviceCanAccessPeer(&can, i, j) != cudaSuccess)
                can = 0;
            all = all && can;
            buf_addf(out, "%s%d", j ? " " : "", can);
        }
        buf_addc(out, '\n');
    }
    buf_addf(out, "peers=%d\n", all);
}

/* A GPU that is full, or another process's alone, says nothing. */
static void add_free_memory(int count, struct buf *out)
{
    for (int i = 0; i < count; i++) {
        size_t available, total;
        if (cudaSetDevice(i) == cudaSuccess
            && cudaMemGetInfo(&available, &total) == cudaSuccess)
            buf_addf(out, "free.%d=%zu\n", i, available);
        cudaDeviceReset();
        cudaGetLastError();
    }
}

int bind_facts(struct buf *out, struct err *e)
{
    int count = 0, driver = 0, runtime = 0;
    cudaError_t rc = cudaGetDeviceCount(&count);
    int status = rc == cudaSuccess ? add_uuids(count, out, e) : 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess)
        buf_addf(out, "driver=%d\n", driver);
    if (cudaRuntimeGetVersion(&runtime) == cudaSuccess)
        buf_addf(out, "runtime=%d\n", runtime);
    buf_addf(out, "code=%d\ncount=%d\n", (int)rc, rc == cudaSuccess ? count : 0);
    if (status)
        return status;
    if (rc != cudaSuccess || count == 0) {
        err_set(e, ERR_SYSTEM, "CUDA shows no GPU: %s",
                rc == cudaSuccess ? "no GPU" : cudaGetErrorString(rc));
        return STATUS_BACKEND;
    }
    add_peers(count, out);
    add_free_memory(count, out);
    return 0;
}
#else
int bind_facts(struct buf *out, struct err *e)
{
    (void)out;
    err_set(e, ERR_SYSTEM, "this muster-worker was built without CUDA");
    return STATUS_BACKEND;
}

int bind_count(char *why, size_t size)
{
    if (why)
        snprintf(why, size, "this muster-worker was built without CUDA");
    return 0;
}

int bind_select(const struct env *env, struct device *d, struct err *e)
{
    (void)env;
    bind_none(d);
    err_set(e, ERR_SYSTEM, "this muster-worker was built without CUDA");
    return STATUS_BACKEND;
}
#endif
