/* result.h - what a run found, as a table for people and as one JSON object.
 *
 * Pure: fills buffers. Decides how numbers are written and what the verdict's words are; the
 * JSON schema "muster.check/1" only grows.
 */
#ifndef MUSTER_WORKER_RESULT_H
#define MUSTER_WORKER_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "worker/pattern.h"

struct result_rank {
    uint32_t rank, local_rank;
    int device; /* CUDA ordinal, -1 none */
    char host[64], pid[16], gpu_uuid[48], pci[20], name[64];
    double init_s;
};

/* One size, out of place or in place. */
struct result_row {
    enum type type;
    enum op op;
    uint64_t bytes, count;
    bool in_place, is_checked;
    uint32_t iters;
    double mean_us, min_us, max_us;
    double *per_rank_us; /* one a rank, owned */
    double algbw, busbw; /* GB/s; busbw 0 for one rank */
    uint64_t wrong;      /* elements, over all ranks */
};

struct result {
    uint32_t world_size, nodes;
    const char *job_id, *backend, *why, *nccl_version, *nccl_path;
    int cuda_driver, cuda_runtime;
    uint64_t started_ms; /* wall clock */
    double duration_s;
    struct result_rank *ranks; /* world_size */
    struct result_row *rows;
    size_t nrows, rows_cap;
    char **env; /* "NAME=value", sorted or not; ends with NULL; only allowed names are used */
    struct buf errors;       /* lines of text, one finding each */
    uint64_t compared_bytes; /* by all ranks */
    uint64_t wrong;
    bool is_wrong_everywhere; /* results differ, and no rank can say whose is right */
    int status;
};

void result_init(struct result *r);
void result_fini(struct result *r); /* frees ranks, rows, errors */

/* A new row, zeroed but for per_rank_us, which has world_size numbers. Valid until the next. */
struct result_row *result_add_row(struct result *r);

/* The table: head with the ranks, one line for a size (in == the row after out), last line. */
void result_head(const struct result *r, struct buf *out);
void result_line(const struct result *r, const struct result_row *out_of_place,
                 const struct result_row *in_place, struct buf *out);
void result_verdict(const struct result *r, struct buf *out);

/* Appends the whole as one JSON object in one line. */
void result_json(const struct result *r, struct buf *out);

/* Of an environment variable: is it published, and is its value hidden. */
bool result_env_is_allowed(const char *name, size_t n);
bool result_env_is_secret(const char *name, size_t n);

#endif
