/* hosts_gpus.h - `muster gpus` over hosts in one table: hosts whose GPUs look alike are written
 * together, "n2-n9".
 *
 * Owns which hosts are alike and the table. What a host answered is read by
 * io/hosts_gpus_json.
 */
#ifndef MUSTER_LAUNCHER_CORE_HOSTS_GPUS_H
#define MUSTER_LAUNCHER_CORE_HOSTS_GPUS_H

#include <stddef.h>

#include "base/buf.h"

/* X(id, title) */
#define HOSTS_GPUS_COLUMNS(X)                                                                  \
    X(INDEX, "GPU")                                                                            \
    X(CUDA, "CUDA now")                                                                        \
    X(RANK, "local rank")                                                                      \
    X(NAME, "name")                                                                            \
    X(MEMORY, "MiB")                                                                           \
    X(USE, "used by")

enum hosts_gpus_column {
#define X(id, title) HOSTS_GPUS_##id,
    HOSTS_GPUS_COLUMNS(X)
#undef X
        HOSTS_GPUS_COLUMN_COUNT
};

/* Owned by whoever fills it. */
struct hosts_gpus_row {
    char *cells[HOSTS_GPUS_COLUMN_COUNT]; /* none NULL */
};

struct hosts_gpus {
    const char *host;
    struct hosts_gpus_row *rows; /* one a GPU */
    size_t nrows, cap;
};

/* Appends the table, in the order in which hosts that differ come first; a host without GPUs
 * has a line, too. Nothing for no hosts. */
void hosts_gpus_render(const struct hosts_gpus *list, size_t n, struct buf *out);

#endif
