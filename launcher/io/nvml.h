/* nvml.h - NVIDIA's management library, loaded at run time.
 *
 * Owns loading and initialising, and the words for its errors; what is asked of it is
 * probe_nvml's and evidence_gpu's. It does not survive fork(): to be opened, asked and closed
 * in one go, and never between fork and exec; only a command that starts nothing keeps it open.
 */
#ifndef MUSTER_LAUNCHER_IO_NVML_H
#define MUSTER_LAUNCHER_IO_NVML_H

#include "base/err.h"
#include "launcher/io/nvml_abi.h"

struct nvml {
    void *library;
#define X(needed, name, symbol, args) int(*name) args;
    NVML_FUNCTIONS(X)
#undef X
    const char *(*error_string)(int rc);
};

/* Loads and initialises it. path: the library, NULL = libnvidia-ml.so.1. *rc: NVML's own answer
 * to nvmlInit, -1 where it cannot be loaded. 0, or -1 with ERR_UNAVAILABLE and nothing to
 * close. */
int nvml_open(const char *path, struct nvml *n, int *rc, struct err *e);
void nvml_close(struct nvml *n);

/* Fills e with what NVML answered to a call; -1. */
int nvml_fail(const struct nvml *n, const char *what, int rc, struct err *e);

#endif
