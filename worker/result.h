/* result.h - what a run found, the verdict on it, and both as one JSON object.
 *
 * Pure. Decides what is too slow and what the verdict's words are; the JSON schema
 * "muster.check/1" (result_json.c) only grows.
 */
#ifndef MUSTER_WORKER_RESULT_H
#define MUSTER_WORKER_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "worker/collective.h"
#include "worker/links.h"
#include "worker/pattern.h"

struct result_rank {
    uint32_t rank, local_rank;
    int device; /* CUDA ordinal, -1 none */
    char host[64], pid[16], gpu_uuid[48], pci[20], name[64];
    double init_s;
};

/* X(name, word): what is said of a row. */
#define ROW_VERDICTS(X)                                                                        \
    X(UNCHECKED, "unchecked")                                                                  \
    X(OK, "ok")                                                                                \
    X(WARN, "warn") /* slower than expected */                                                 \
    X(SLOW, "slow") /* and the run fails */                                                    \
    X(WRONG, "wrong")

enum row_verdict {
#define X(name, word) ROW_##name,
    ROW_VERDICTS(X)
#undef X
};

/* One size, out of place or in place. */
struct result_row {
    enum collective collective;
    enum type type;
    enum op op;
    uint32_t root;
    uint64_t bytes, count; /* bytes: S of the bandwidth */
    bool in_place, is_checked;
    uint32_t iters;
    double mean_us, min_us, max_us;
    double *per_rank_us;    /* one a rank, owned */
    double algbw, busbw;    /* GB/s; busbw 0 for one rank */
    double expected, ratio; /* GB/s, busbw / expected; 0 = not judged */
    uint64_t wrong;         /* elements, over all ranks */
    enum row_verdict verdict;
};

/* all_reduce of all ranks and without each of them; busbw in GB/s, 0 = not tested. */
struct result_isolate {
    uint64_t bytes;
    double with_all;
    double *without; /* by rank; owned, NULL = not tested */
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
    struct links links; /* n 0: not tested */
    struct result_isolate isolate;
    char **env; /* "NAME=value", sorted or not; ends with NULL; only allowed names are used */
    struct buf errors;       /* lines of text, one finding each */
    uint64_t compared_bytes; /* by all ranks */
    uint64_t wrong;
    bool is_wrong_everywhere; /* results differ, and no rank can say whose is right */
    bool is_warned;
    int status;
};

void result_init(struct result *r);
void result_fini(struct result *r); /* frees ranks, rows, links, errors */

/* A new row, zeroed but for per_rank_us, which has world_size numbers. Valid until the next. */
struct result_row *result_add_row(struct result *r);

/* What was demanded of the speed; 0 = nothing. */
struct result_limits {
    double min_busbw_gbs;                      /* of the largest size, out of place */
    double expect_gbs, warn_below, fail_below; /* busbw from 256 MiB on, and fractions of it */
};

/* Gives every row its verdict, and the whole its status (STATUS_WRONG, STATUS_SLOW or 0). Only
 * all_reduce, all_gather and reduce_scatter can fail an expectation, and min_busbw_gbs takes
 * its place; the others warn. Adds to errors what was slow. */
void result_judge(struct result *r, const struct result_limits *limits);

/* Whether anything was measured. */
bool result_is_empty(const struct result *r);

/* The last line, without its newline. */
void result_verdict(const struct result *r, struct buf *out);

/* Appends the whole as one JSON object in one line. */
void result_json(const struct result *r, struct buf *out);

/* Of an environment variable: is it published, and is its value hidden. */
bool result_env_is_allowed(const char *name, size_t n);
bool result_env_is_secret(const char *name, size_t n);

#endif
