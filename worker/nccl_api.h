/* nccl_api.h - NCCL's functions, loaded at run time.
 *
 * Each pointer has the type that nccl.h declares, so the header checks the table. Functions of
 * newer releases may be NULL. Only where the build found nccl.h and the CUDA toolkit.
 */
#ifndef MUSTER_WORKER_NCCL_API_H
#define MUSTER_WORKER_NCCL_API_H

#include <nccl.h>

#include "base/err.h"

/* Of NCCL 2.28: gather, scatter, alltoall as calls of their own. */
#if NCCL_VERSION_CODE >= 22803
#define NCCL_NEW_FUNCTIONS(X)                                                                  \
    X(AlltoAll, 0)                                                                             \
    X(Gather, 0)                                                                               \
    X(Scatter, 0)
#else
#define NCCL_NEW_FUNCTIONS(X)
#endif

/* X(function without its prefix, 1 = must be there) */
#define NCCL_FUNCTIONS(X)                                                                      \
    X(GetVersion, 1)                                                                           \
    X(GetUniqueId, 1)                                                                          \
    X(GetErrorString, 1)                                                                       \
    X(CommInitRankConfig, 1)                                                                   \
    X(CommFinalize, 1)                                                                         \
    X(CommDestroy, 1)                                                                          \
    X(CommAbort, 1)                                                                            \
    X(CommGetAsyncError, 1)                                                                    \
    X(AllReduce, 1)                                                                            \
    X(AllGather, 1)                                                                            \
    X(ReduceScatter, 1)                                                                        \
    X(Broadcast, 1)                                                                            \
    X(Reduce, 1)                                                                               \
    X(Send, 1)                                                                                 \
    X(Recv, 1)                                                                                 \
    X(GroupStart, 1)                                                                           \
    X(GroupEnd, 1)                                                                             \
    X(GetLastError, 0)                                                                         \
    X(CommInitRankScalable, 0)                                                                 \
    X(MemAlloc, 0)                                                                             \
    X(MemFree, 0)                                                                              \
    X(CommSplit, 0)                                                                            \
    NCCL_NEW_FUNCTIONS(X)

struct nccl {
    void *handle;
    int version;    /* NCCL_VERSION_CODE of the library, such as 22809 */
    char path[512]; /* the file it came from */
#define X(name, required) __typeof__(&nccl##name) name;
    NCCL_FUNCTIONS(X)
#undef X
};

/* Loads path, or libnccl.so.2 if NULL, for the rest of the process: NCCL starts threads. -1:
 * ERR_NOT_FOUND with the loader's reason, and nothing is loaded. */
int nccl_load(struct nccl *n, const char *path, struct err *e);

/* "2.28.9" */
const char *nccl_version_text(int version, char text[24]);

#endif
