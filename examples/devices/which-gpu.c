/* which-gpu: says which GPU this process gets, by two of the three ways that programs choose
 * one.
 *
 *   which-gpu               the first one that CUDA shows: the way of CUDA_VISIBLE_DEVICES
 *   which-gpu LOCAL_RANK    the one with the number in that variable: cudaSetDevice(local_rank)
 *
 * Prints "rank 1: cuda:1 is GPU-7c22aa01-...", and ends with 1 if muster planned another one.
 * It asks the driver's library directly, so that it builds without a CUDA toolkit: cuInit and
 * cuDeviceGet are what cudaSetDevice does first. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct driver {
    int (*init)(unsigned flags);
    int (*count)(int *n);
    int (*get)(int *device, int ordinal);
    int (*uuid)(unsigned char bytes[16], int device);
};

enum { NO_GPU = 77 }; /* what a test runner takes for "skipped" */

static int load(void *library, const char *name, void *to)
{
    void *at = dlsym(library, name);
    memcpy(to, &at, sizeof at);
    return at ? 0 : -1;
}

static int open_driver(struct driver *d)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library || load(library, "cuInit", &d->init) != 0
        || load(library, "cuDeviceGetCount", &d->count) != 0
        || load(library, "cuDeviceGet", &d->get) != 0
        || load(library, "cuDeviceGetUuid_v2", &d->uuid) != 0)
        return -1;
    return 0;
}

static void format_uuid(const unsigned char *b, char out[48])
{
    char *p = out + sprintf(out, "GPU");
    for (int i = 0; i < 16; i++)
        p += sprintf(p, "%s%02x", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                     b[i]);
}

/* The number that the program was told to use; without a word, the first. */
static int ordinal_of(const char *variable)
{
    const char *text = variable ? getenv(variable) : "0";
    return text ? atoi(text) : 0;
}

int main(int argc, char **argv)
{
    struct driver cuda;
    const char *rank = getenv("RANK"), *planned = getenv("MUSTER_GPU_UUID");
    int ordinal = ordinal_of(argc > 1 ? argv[1] : NULL), n = 0, device;
    unsigned char bytes[16];
    char uuid[48];
    if (open_driver(&cuda) != 0) {
        printf("skipped: there is no libcuda.so.1 here\n");
        return NO_GPU;
    }
    int rc = cuda.init(0);
    if (rc == 0)
        rc = cuda.count(&n);
    if (rc != 0 || n == 0) {
        printf("skipped: CUDA shows no GPU (error %d)\n", rc);
        return NO_GPU;
    }
    rc = cuda.get(&device, ordinal);
    if (rc == 0)
        rc = cuda.uuid(bytes, device);
    if (rc != 0) {
        printf("rank %s: CUDA shows %d GPUs and none called cuda:%d (error %d)\n",
               rank ? rank : "?", n, ordinal, rc);
        return 1;
    }
    format_uuid(bytes, uuid);
    printf("rank %s: cuda:%d is %s\n", rank ? rank : "?", ordinal, uuid);
    if (!planned || strcmp(planned + 4, uuid + 4) == 0)
        return 0;
    printf("rank %s: muster planned %s\n", rank ? rank : "?", planned);
    return 1;
}
