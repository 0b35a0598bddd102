/* options.h - the command line of muster-worker.
 *
 * One table feeds parsing, --help and the man page. Long options take dashes or underscores;
 * the single letters are those of nccl-tests. Pure: reads nothing but argv, prints nothing.
 */
#ifndef MUSTER_WORKER_OPTIONS_H
#define MUSTER_WORKER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "worker/collective.h"
#include "worker/inject.h"
#include "worker/phase_table.h"
#include "worker/types.h"

enum { OPTIONS_SIZES_MAX = 64 };

enum backend_choice { BACKEND_AUTO, BACKEND_NCCL, BACKEND_HOST };

/* Which rank's time enters the bandwidth; the numbers of nccl-tests' -a. */
enum average { AVERAGE_RANK0, AVERAGE_MEAN, AVERAGE_MIN, AVERAGE_MAX };

enum output_format { FORMAT_TABLE, FORMAT_NCCL_TESTS };

struct options {
    bool help, version;
    bool probe; /* say what CUDA and NCCL show here, for muster */
    bool collectives[COLLECTIVE_COUNT], pairs, latency, isolate;
    bool all_tests; /* asked for as "all": what the group cannot do is left out */
    enum backend_choice backend;
    uint64_t sizes[OPTIONS_SIZES_MAX]; /* from --sizes; nsizes 0 = not given */
    unsigned nsizes;
    uint64_t min_bytes, max_bytes; /* 0 = not given */
    uint64_t step_bytes, factor;   /* 0 = not given */
    bool full;
    uint32_t iters, warmup, check;
    bool types[TYPE_COUNT], ops[OP_COUNT];
    uint32_t root;
    enum average average;
    bool blocking;       /* wait after every operation, nccl-tests' -z */
    bool cuda_malloc;    /* --memory cuda */
    bool verify_on_host; /* --verify host */
    bool diagnose;       /* non-blocking communicator, aborted at a deadline */
    enum output_format format;
    double min_busbw_gbs;          /* 0 = not demanded */
    double expect_gbs;             /* of the largest sizes; 0 = unknown */
    double warn_below, fail_below; /* of expect_gbs */
    const char *json, *nccl_path;
    uint64_t deadline_ms[PHASE_COUNT]; /* 0 = the table's */
    struct inject inject;
};

/* Points into argv. -1: ERR_USAGE, with the nearest known name of an unknown option. */
int options_parse(struct options *o, int argc, char **argv, struct err *e);

/* The text of --help. */
void options_help(struct buf *out);

/* One row of the table, for the man page; meta "" = a flag. */
struct option_text {
    const char *name, *meta, *help;
    char letter; /* 0 = none */
};

/* The i-th option, from 0; false past the last. */
bool options_text(size_t i, struct option_text *out);

/* The words around the options in --help: what the program does, what else is to know, its exit
 * statuses. */
extern const char options_about[], options_notes[], options_status[];

#endif
