/* gpu_error.h - the classes of refusal and of warning of GPU selection, and how they are said.
 *
 * Owns the two closed lists and their names ("E_RANGE", "W_TRUNC"). To the rest of the program
 * every class is ERR_GPU_REQUEST, status 2; the class exists so that a caller can react to one
 * of them (E_ORDER: run the probe and ask again) and so that tests need not compare prose.
 */
#ifndef MUSTER_LAUNCHER_CORE_GPU_ERROR_H
#define MUSTER_LAUNCHER_CORE_GPU_ERROR_H

#include "base/err.h"

#define GPU_ERRORS(X)                                                                          \
    X(SYNTAX)                                                                                  \
    X(EMPTY)                                                                                   \
    X(RANGE)                                                                                   \
    X(NOT_VISIBLE)                                                                             \
    X(NO_MATCH)                                                                                \
    X(AMBIGUOUS)                                                                               \
    X(DUPLICATE)                                                                               \
    X(NO_DEVICES)                                                                              \
    X(INSUFFICIENT)                                                                            \
    X(OVERSUBSCRIBED)                                                                          \
    X(UNEVEN)                                                                                  \
    X(CONFLICT)                                                                                \
    X(AMBIENT_BAD)                                                                             \
    X(ORDER)                                                                                   \
    X(MIG_PARENT)                                                                              \
    X(MIG_SHARED)                                                                              \
    X(UNHEALTHY)                                                                               \
    X(PROHIBITED)                                                                              \
    X(EXCLUSIVE)                                                                               \
    X(NVML)

enum gpu_error {
    GPU_OK = 0,
#define X(name) GPU_E_##name,
    GPU_ERRORS(X)
#undef X
        GPU_ERROR_COUNT
};

#define GPU_WARNINGS(X)                                                                        \
    X(TRUNC)        /* CUDA ignores the rest of CUDA_VISIBLE_DEVICES */                        \
    X(SLOPPY)       /* CUDA ignores text after a number in it */                               \
    X(ORDER)        /* mixed GPUs, no CUDA_DEVICE_ORDER: what a number means is a guess */     \
    X(UNUSED)       /* more GPUs were selected than the workers use */                         \
    X(BUSY)         /* `auto` had to take a GPU with processes on it */                        \
    X(NO_NVML)      /* no inventory: nothing could be checked */                               \
    X(TASK_SHARING) /* one device node per Slurm task: no peer access between GPUs */          \
    X(MULTI_RANK)   /* several workers on one GPU */

enum gpu_warning {
#define X(name) GPU_W_##name,
    GPU_WARNINGS(X)
#undef X
        GPU_WARNING_COUNT
};

/* A failure on its way up inside GPU selection: its class, and where the text goes. */
struct gpu_fault {
    enum gpu_error class;
    struct err *e; /* may be NULL: the caller does not want the text */
};

/* Records class and text (one line: control characters become '?') and returns -1. */
int gpu_fail(struct gpu_fault *f, enum gpu_error class, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Replaces control characters in place, so that text taken from the environment stays on one
 * line. */
void gpu_one_line(char *text);

/* "E_RANGE" for GPU_E_RANGE, "OK" for GPU_OK; "W_TRUNC" for GPU_W_TRUNC. */
const char *gpu_error_name(enum gpu_error class);
const char *gpu_warning_name(enum gpu_warning w);

#endif
