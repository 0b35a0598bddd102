/* check_result.h - what one `muster check` has found, as plain values: what the worker
 * measured, how its ranks came up, what the preflight said, and the verdict.
 *
 * io/check_json reads the worker's object into it and writes the whole; check_judge decides the
 * verdict; check_table, check_junit and check_html only show it. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_CHECK_RESULT_H
#define MUSTER_LAUNCHER_CORE_CHECK_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/core/finding.h"

/* X(id, word): what is said of a row, and of the whole. */
#define CHECK_VERDICTS(X)                                                                      \
    X(NONE, "not_tested") /* neither compared nor held against anything */                     \
    X(PASS, "pass")                                                                            \
    X(WARN, "warn")                                                                            \
    X(FAIL, "fail")

enum check_verdict {
#define X(id, word) CHECK_##id,
    CHECK_VERDICTS(X)
#undef X
        CHECK_VERDICT_COUNT
};

/* As JSON has it. */
const char *check_verdict_word(enum check_verdict v);

/* The phases of muster-worker whose times are kept, in order (worker/phase_table.h). */
#define CHECK_PHASES(X)                                                                        \
    X(started) X(cuda_ok) X(uid_seen) X(reach) X(init_enter) X(init_done) X(warm)

enum check_phase {
#define X(name) CHECK_PHASE_##name,
    CHECK_PHASES(X)
#undef X
        CHECK_PHASE_COUNT
};

/* As the worker's --deadline has it. */
const char *check_phase_name(enum check_phase phase);

/* Text is owned; NULL = not told. */
struct check_rank {
    uint32_t rank, local_rank, pid;
    int device; /* CUDA ordinal; -1 = none */
    char *host, *gpu_uuid, *pci, *name;
    double init_s;                          /* below 0 = not told */
    uint64_t reached_ms[CHECK_PHASE_COUNT]; /* wall clock; 0 = has not been seen there */
};

/* One size in one placement. Numbers that were not measured are NAN. */
struct check_row {
    char *collective, *dtype, *op; /* owned */
    bool is_in_place, is_checked;
    uint64_t bytes, count, wrong; /* wrong elements, if checked */
    uint32_t iters;
    double mean_us, min_us, max_us, algbw, busbw; /* GB/s, 1e9 bytes */
    double *per_rank_us;                          /* owned; nper_rank of them */
    size_t nper_rank;
    double expected, ratio; /* of busbw; NAN = no expectation */
    enum check_verdict verdict;
};

/* A square of numbers, row by row: from rank a (row) to b (column); NAN where nothing was
 * measured. */
struct check_matrix {
    double *at; /* owned; NULL = not measured */
    size_t n;
};

/* A pair, or a rank (b = -1), that stands out. */
struct check_outlier {
    int32_t a, b;
    double ratio; /* to the median */
    char *kind;   /* owned: "link", "rank" */
};

struct check_pairs {
    uint64_t bytes;
    struct check_matrix uni, bidi, latency; /* GB/s, GB/s, us */
    struct check_outlier *outliers;
    size_t noutliers;
};

/* The same all_reduce with all ranks, and without each of them; GB/s. */
struct check_isolate {
    uint64_t bytes;
    double with_all, *without; /* owned; n of them; NULL = not measured */
    size_t n;
};

struct check_text {
    char **items; /* owned, as each of them */
    size_t n, cap;
};

void check_text_add(struct check_text *list, const char *text);

/* Text is owned; NULL = not told. */
struct check_result {
    char *job_id, *backend, *nccl_version, *nccl_path;
    uint32_t world_size, nodes;
    int cuda_driver, cuda_runtime; /* 0 = none */
    double started_s, duration_s;  /* Unix time; seconds */
    struct check_rank *ranks;
    size_t nranks;
    struct check_row *rows;
    size_t nrows;
    struct check_pairs pairs;
    struct check_isolate isolate;
    struct check_text errors; /* what went wrong, a line each */
    struct check_text notes;  /* what a reader of the verdict should know */
    struct finding_list preflight;
    bool is_verbose;     /* notes of the preflight are shown, too */
    bool has_colour;     /* the verdict's word has, as for a terminal */
    bool is_tested;      /* the worker left a result */
    double expected_gbs; /* busbw of this group; 0 = no expectation */
    char *expected_why;  /* in words; NULL = nothing is known */
    enum check_verdict verdict;
    int status;         /* exit status of muster check */
    char *verdict_text; /* one line */
};

/* An empty result; frees everything. */
void check_result_init(struct check_result *r);
void check_result_fini(struct check_result *r);

/* The phase that a rank was last seen to reach; -1 = none. */
int check_rank_last_phase(const struct check_rank *rank);

/* Room for n ranks, rows; zeroed but for what is unknown (NAN, -1). */
void check_result_set_ranks(struct check_result *r, size_t n);
struct check_row *check_result_add_row(struct check_result *r, size_t *cap);

/* Whether a finding of the preflight is for people who have not asked for all. */
bool check_result_shows(const struct check_result *r, const struct finding *f);

/* n x n numbers, all NAN. */
void check_matrix_set(struct check_matrix *m, size_t n);
double check_matrix_at(const struct check_matrix *m, size_t row, size_t column);

/* The row of the greatest busbw; NULL if none has one. */
const struct check_row *check_result_peak(const struct check_result *r);

/* The rank whose operations took longest, by the median over rows of its time to the mean of
 * all; *ratio: that median. -1: too little to say (fewer than two ranks). */
int check_result_slowest(const struct check_result *r, double *ratio);

/* "8", "64K", "1M": appends a size as the command line would spell it. */
void check_size_format(uint64_t bytes, struct buf *out);

#endif
