/* options.h - the one table of command-line options.
 *
 * Feeds parsing, --help, the environment fallback MUSTER_<OPTION> and torchrun's PET_<OPTION>.
 * Parsing stops at the first word that is not an option, or at "--"; what follows belongs to
 * the program, untouched. Pure: the environment comes in as a list, errors go out as text.
 */
#ifndef MUSTER_LAUNCHER_CORE_OPTIONS_H
#define MUSTER_LAUNCHER_CORE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "launcher/core/device_select.h"
#include "launcher/core/mpi.h"

enum option_type {
    VALUE_FLAG,     /* bool */
    VALUE_COUNT,    /* uint32_t, 1 to 4096 */
    VALUE_NUMBER,   /* uint32_t, from 0 */
    VALUE_PORT,     /* uint16_t, 1 to 65535 */
    VALUE_DURATION, /* uint64_t in ms */
    VALUE_SIZE,     /* uint64_t in bytes */
    VALUE_TEXT,     /* const char *, not empty */
    VALUE_TEMPLATE, /* const char *, of prefix.h */
    VALUE_RANKS,    /* const char *, of rank_set.h */
    VALUE_STREAMS,  /* const char *, a stream map of rank_set.h */
    VALUE_INPUT,    /* const char *: a rank or "none" */
    VALUE_BINDING,  /* enum binding */
    VALUE_DIST,     /* enum dist */
    VALUE_FORMAT,   /* enum gpu_format */
    VALUE_MPI,      /* enum mpi_mode */
    VALUE_CPU_BIND, /* const char *, as cpu_request_parse takes it */
};

/* X(id, long name, short letter or 0, environment?, PET name or NULL, type, member,
 * metavariable, help) */
#define OPTION_TABLE(X)                                                                        \
    X(NPROC, "nproc-per-node", 'n', true, "PET_NPROC_PER_NODE", COUNT, nproc, "N",             \
      "workers on each node (default: one per visible GPU)")                                   \
    X(GPUS, "gpus", 0, true, NULL, TEXT, gpus, "LIST",                                         \
      "which GPUs: positions in CUDA_VISIBLE_DEVICES (0,2 or 0-3), GPU-UUIDs or their first "  \
      "digits, all, none")                                                                     \
    X(BINDING, "binding", 0, false, NULL, BINDING, binding, "MODE",                            \
      "what a worker sees: shared (all selected GPUs, cuda:LOCAL_RANK is its own; default), "  \
      "isolated, isolated-virtual, rotated, none")                                             \
    X(PROCS_PER_GPU, "procs-per-gpu", 0, true, NULL, COUNT, procs_per_gpu, "N",                \
      "workers that share one GPU (default 1)")                                                \
    X(GPUS_PER_PROC, "gpus-per-proc", 0, true, NULL, COUNT, gpus_per_proc, "N",                \
      "GPUs of each worker (default 1)")                                                       \
    X(GPU_DIST, "gpu-dist", 0, true, NULL, DIST, dist, "HOW",                                  \
      "which worker shares or gets which GPUs: block (default) or cyclic")                     \
    X(GPU_FORMAT, "gpu-format", 0, true, NULL, FORMAT, format, "HOW",                          \
      "how CUDA_VISIBLE_DEVICES is written: auto (default: index where it is safe), index or " \
      "uuid")                                                                                  \
    X(GPU_REQUIRE, "gpu-require", 0, true, NULL, TEXT, gpu_require, "LIST",                    \
      "what --gpus auto asks of a GPU: free>=40G, util<=10, procs=0")                          \
    X(IGNORE_VISIBLE, "ignore-visible", 0, true, NULL, FLAG, ignore_visible, NULL,             \
      "let --gpus name GPUs that CUDA_VISIBLE_DEVICES hides")                                  \
    X(STRICT_ENV, "strict-env", 0, true, NULL, FLAG, strict_env, NULL,                         \
      "refuse a CUDA_VISIBLE_DEVICES of which CUDA would drop a part")                         \
    X(SKIP_UNHEALTHY, "skip-unhealthy", 0, true, NULL, FLAG, skip_unhealthy, NULL,             \
      "leave GPUs that have failed out of the selection instead of refusing")                  \
    X(CPU_BIND, "cpu-bind", 0, true, NULL, CPU_BIND, cpu_bind, "HOW",                          \
      "which CPUs a worker runs on: node (those of its GPU's NUMA node; default where there "  \
      "are several), socket, exclusive (the node's cores split among its workers), llc (one "  \
      "last-level cache each), none, or list:0-3;4-7 (by local rank; one list is for all)")    \
    X(MPI, "mpi", 0, true, NULL, MPI, mpi, "HOW",                                              \
      "process manager for MPI programs: auto (default: as the program's libraries say; for "  \
      "mpi4py name it), pmix (Open MPI), pmi (MPICH) or none")                                 \
    X(MAX_RESTARTS, "max-restarts", 0, true, "PET_MAX_RESTARTS", NUMBER, max_restarts, "N",    \
      "start the whole group again after a failure, at most N times (default 0)")              \
    X(GRACE, "grace", 0, true, NULL, DURATION, grace_ms, "TIME",                               \
      "between the stop signal and SIGKILL (default 25s; also 500ms, 2m)")                     \
    X(TIMEOUT, "timeout", 0, true, NULL, DURATION, timeout_ms, "TIME",                         \
      "end the job after this time with status 124 (default: none)")                           \
    X(PREFIX, "prefix", 0, true, NULL, TEMPLATE, prefix, "TEXT",                               \
      "before each line: {rank} {local_rank} {host} {time}; none; auto (default): '{rank}: ' " \
      "on a terminal, else none; coloured on a terminal unless NO_COLOR is set")               \
    X(LOG_DIR, "log-dir", 0, true, "PET_LOG_DIR", TEXT, log_dir, "DIR",                        \
      "also write each worker's output to DIR/<job>/<attempt>/rank-<R>.out and .err")          \
    X(LOG_SIZE, "log-size", 0, true, NULL, SIZE, log_size, "SIZE",                             \
      "limit of each file of --log-dir, as in 64K, 100M, 2G: a full one becomes FILE.1, in "   \
      "place of an older one (default: none)")                                                 \
    X(TEE, "tee", 't', true, "PET_TEE", STREAMS, tee, "STREAMS",                               \
      "with --log-dir, write only these to files: 1 stdout, 2 stderr, 3 both, 0 none; or by "  \
      "local rank: 0:3,12:1")                                                                  \
    X(REDIRECTS, "redirects", 'r', true, "PET_REDIRECTS", STREAMS, redirects, "STREAMS",       \
      "the same, and do not show them")                                                        \
    X(ONLY_RANKS, "only-ranks", 0, true, NULL, RANKS, only_ranks, "LIST",                      \
      "show the output of these ranks only, as in 0,2-5; files get all")                       \
    X(DEDUPE, "dedupe", 0, true, NULL, FLAG, is_deduped, NULL,                                 \
      "show a line that several ranks print within 200 ms once, as in 'x7: line'")             \
    X(STDIN, "stdin", 0, true, NULL, INPUT, input, "RANK",                                     \
      "which rank reads standard input (default 0), or none")                                  \
    X(REPORT, "report", 0, true, NULL, TEXT, report, "FILE",                                   \
      "write how the job ended to FILE, as one JSON object")                                   \
    X(EVENTS, "events", 0, true, NULL, TEXT, events, "FILE",                                   \
      "write what happens to FILE, one JSON object a line (- = standard output)")              \
    X(JUNIT, "junit", 0, true, NULL, TEXT, junit, "FILE",                                      \
      "write how each rank ended to FILE, as JUnit XML")                                       \
    X(RDZV_ID, "rdzv-id", 0, true, "PET_RDZV_ID", TEXT, job_id, "ID",                          \
      "name of the job (default: random)")                                                     \
    X(MASTER_PORT, "master-port", 0, true, "PET_MASTER_PORT", PORT, master_port, "PORT",       \
      "port of the rendezvous store (default: any free one)")                                  \
    X(MODULE, "module", 'm', false, "PET_MODULE", FLAG, is_module, NULL,                       \
      "the program is a Python module, as in python3 -m")                                      \
    X(VERBOSE, "verbose", 'v', true, NULL, FLAG, is_verbose, NULL, "say what muster does")     \
    X(JSON, "json", 0, false, NULL, FLAG, is_json, NULL,                                       \
      "of muster plan and muster gpus: the answer as one JSON object")                         \
    X(HELP, "help", 'h', false, NULL, FLAG, is_help, NULL, "this text")

enum option_id {
#define X(id, ...) OPTION_##id,
    OPTION_TABLE(X)
#undef X
        OPTION_ID_COUNT
};

/* Whose command line it is: all read the same options. */
enum option_command { OPTIONS_RUN, OPTIONS_PLAN, OPTIONS_GPUS };

enum option_origin { ORIGIN_DEFAULT, ORIGIN_PET, ORIGIN_ENVIRONMENT, ORIGIN_COMMAND_LINE };

/* Text members are borrowed from argv or the environment. */
struct options {
    uint32_t nproc;   /* 0 = not given */
    const char *gpus; /* NULL = not given */
    enum binding binding;
    uint32_t procs_per_gpu, gpus_per_proc; /* 0 = not given */
    enum dist dist;
    enum gpu_format format;
    const char *gpu_require; /* NULL = not given */
    bool ignore_visible, strict_env, skip_unhealthy;
    const char *cpu_bind; /* NULL = not given */
    enum mpi_mode mpi;
    uint32_t max_restarts;
    uint64_t grace_ms, timeout_ms;       /* timeout 0 = none */
    const char *report, *events, *junit; /* files; NULL = none */
    uint64_t log_size;                   /* 0 = none */
    const char *prefix, *log_dir, *job_id;
    const char *tee, *redirects, *only_ranks, *input; /* NULL = not given */
    uint16_t master_port;                             /* 0 = any */
    bool is_deduped;
    bool is_module, is_verbose, is_help, is_json;
    bool is_plan; /* muster plan: the job ends when every node is ready, nothing starts */
    enum option_origin origin[OPTION_ID_COUNT];

    char *const *program; /* the program's argv, NULL-terminated; NULL if none was given */
};

/* Fills opt with args, then what they leave open with MUSTER_*, PET_*, defaults (without
 * program and subcommand name; NULL-terminated). 0, or -1 with ERR_USAGE: names the word, what
 * would be right and, for an unknown option, the nearest known one. A missing program is an
 * error unless --help was given. */
int options_parse(char *const *args, const char *const *environment, struct options *opt,
                  struct err *e);

/* The same for another command. `plan` sets is_plan; `gpus` starts nothing, so a program is an
 * error; --json is an error for `run`. */
int options_parse_command(enum option_command command, char *const *args,
                          const char *const *environment, struct options *opt, struct err *e);

/* Appends the --help text of `muster run`; of another command. */
void options_help(struct buf *out);
void options_help_command(enum option_command command, struct buf *out);

/* Long name of an option, without dashes. */
const char *options_name(enum option_id id);

/* Appends the value in force, as the command line would spell it: "4", "25s", "shared", "yes";
 * nothing for an option without a value. */
void options_value_format(const struct options *opt, enum option_id id, struct buf *out);

/* Appends where the value came from: "command line", "MUSTER_GPUS", "PET_LOG_DIR", "default".
 */
void options_origin_format(const struct options *opt, enum option_id id, struct buf *out);

/* Name of an option's environment fallback, "MUSTER_MAX_RESTARTS"; false if it has none. */
bool options_env_name(enum option_id id, struct buf *out);

/* Whether an environment entry NAME=VALUE is some option's MUSTER_ or PET_ name. */
bool options_is_fallback(const char *entry);

#endif
