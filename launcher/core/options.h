/* options.h - the one table of command-line options.
 *
 * Feeds parsing, --help, the man page, completions, the environment fallback MUSTER_<OPTION>
 * and torchrun's PET_<OPTION>. Parsing stops at the first word that is not an option, or at
 * "--"; what follows belongs to the program, untouched. Pure: the environment comes in as a
 * list, errors go out as text.
 */
#ifndef MUSTER_LAUNCHER_CORE_OPTIONS_H
#define MUSTER_LAUNCHER_CORE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "launcher/core/device_select.h"
#include "launcher/core/engine_start.h"
#include "launcher/core/mpi_mode.h"
#include "launcher/core/option_face.h"

enum option_type {
    VALUE_FLAG,          /* bool */
    VALUE_COUNT,         /* uint32_t, 1 to 4096 */
    VALUE_NPROC,         /* a count for nproc, or a word for nproc_source */
    VALUE_NUMBER,        /* uint32_t, from 0 */
    VALUE_PORT,          /* uint16_t, 1 to 65535 */
    VALUE_DURATION,      /* uint64_t in ms */
    VALUE_SIZE,          /* uint64_t in bytes */
    VALUE_TEXT,          /* const char *, not empty */
    VALUE_TEMPLATE,      /* const char *, of prefix.h */
    VALUE_RANKS,         /* const char *, of rank_set.h */
    VALUE_STREAMS,       /* const char *, a stream map of rank_set.h */
    VALUE_CODES,         /* const char *, exit codes as rank_set.h takes ranks */
    VALUE_WRAP,          /* const char *, of wrap.h */
    VALUE_RANK,          /* const char *: a rank or "none" */
    VALUE_INPUT,         /* const char *: a rank, "all" or "none" */
    VALUE_BINDING,       /* enum binding */
    VALUE_DIST,          /* enum dist */
    VALUE_FORMAT,        /* enum gpu_format */
    VALUE_CPU_BIND,      /* const char *, as cpu_request_parse takes it */
    VALUE_NNODES,        /* uint32_t[2], "N" or "MIN:MAX" */
    VALUE_NODE_RANK,     /* int32_t, from 0, or NODE_RANK_AUTO */
    VALUE_ENGINE,        /* enum engine_start */
    VALUE_LIST,          /* struct text_list: one text each time it is given */
    VALUE_NOTICE,        /* const char *, as notice_parse takes it */
    VALUE_STACK_TOOL,    /* const char *: auto, none or the name of a tool */
    VALUE_SCHEDULER_ENV, /* enum scheduler_env */
    VALUE_MPI,           /* enum mpi_mode */
    VALUE_COMPAT,        /* const char *, a list of compat.h */
    VALUE_EVIDENCE,      /* enum evidence_how */
    VALUE_LISTEN,        /* const char *, as listen_addr_parse takes it */
};

/* X(id, long name, short letter or 0, environment?, PET name or NULL, type, member,
 * metavariable, help) */
#define OPTION_TABLE(X)                                                                        \
    X(NPROC, "nproc-per-node", 'n', true, "PET_NPROC_PER_NODE", NPROC, nproc, "N",             \
      "workers on each node: a number, gpu (one per visible GPU; default), cpu (one per CPU "  \
      "that muster may use) or auto (gpu, or cpu where there is none)")                        \
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
    X(RESTART_DELAY, "restart-delay", 0, true, NULL, DURATION, restart_delay_ms, "TIME",       \
      "wait before a restart, twice as long after each that fails soon (default: the first "   \
      "at once, then 1s)")                                                                     \
    X(RESTART_DELAY_MAX, "restart-delay-max", 0, true, NULL, DURATION, restart_delay_max_ms,   \
      "TIME", "the longest such wait (default 30s)")                                           \
    X(MIN_UPTIME, "min-uptime", 0, true, NULL, DURATION, min_uptime_ms, "TIME",                \
      "a failure sooner than this after the start is a crash at start: three in a row end "    \
      "the job although restarts are left (default: none)")                                    \
    X(NO_RESTART_CODES, "no-restart-codes", 0, true, NULL, CODES, no_restart_codes, "LIST",    \
      "exit codes of a worker that are not restarted, as in 2,64-78 (93 never is)")            \
    X(GRACE, "grace", 0, true, NULL, DURATION, grace_ms, "TIME",                               \
      "between the stop signal and SIGKILL (default 25s; also 500ms, 2m)")                     \
    X(TIMEOUT, "timeout", 0, true, NULL, DURATION, timeout_ms, "TIME",                         \
      "end the job after this time with status 124 (default: none)")                           \
    X(HEARTBEAT, "heartbeat-timeout", 0, true, NULL, DURATION, heartbeat_ms, "TIME",           \
      "end the job with status 124 when a rank that has sent a heartbeat sends none for this " \
      "long (HEARTBEAT=1 to $MUSTER_NOTIFY_SOCKET; default: none)")                            \
    X(SILENCE, "silence-timeout", 0, true, NULL, DURATION, silence_ms, "TIME",                 \
      "the same when no rank writes any output for this long (default: none)")                 \
    X(STACK_TOOL, "stack-tool", 0, true, NULL, STACK_TOOL, stack_tool, "NAME",                 \
      "what shows the stacks of a hung job, and of any at SIGQUIT: auto (default: what is "    \
      "installed), py-spy, eu-stack, gdb or none")                                             \
    X(PREEMPT_SIGNAL, "preempt-signal", 0, true, NULL, NOTICE, preempt_signal, "SIG[:TIME]",   \
      "when muster gets SIGTERM, workers first get SIG and TIME (default 10s) to save, then "  \
      "SIGTERM and --grace, as in USR1:20s")                                                   \
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
    X(SHOW, "show", 0, true, NULL, STREAMS, show, "STREAMS",                                   \
      "show only these streams of workers: 1 stdout, 2 stderr, 3 both (default), 0 none; or "  \
      "by local rank: 0:3,1:2; files get all")                                                 \
    X(DEDUPE, "dedupe", 0, true, NULL, FLAG, is_deduped, NULL,                                 \
      "show a line that several ranks print within 200 ms once, as in 'x7: line'")             \
    X(STDIN, "stdin", 0, true, NULL, INPUT, input, "RANK",                                     \
      "which rank reads standard input (default 0); all: each gets every byte; or none")       \
    X(WRAP, "wrap", 0, true, NULL, WRAP, wrap, "TEXT",                                         \
      "put these words before the program, as in 'nsys profile -o out.%r'; quotes as in a "    \
      "shell, without a shell; %r is the rank, %l the local rank, %h the host, %j the job "    \
      "id, %% a percent sign")                                                                 \
    X(WRAP_RANKS, "wrap-ranks", 0, true, NULL, RANKS, wrap_ranks, "LIST",                      \
      "which ranks --wrap is for (default: all)")                                              \
    X(TERMINAL, "terminal", 0, true, NULL, RANK, terminal, "RANK",                             \
      "this rank owns the terminal: its keys, Ctrl-C, job control (default: the rank of "      \
      "--wrap if that is a debugger for one rank), or none")                                   \
    X(REPORT, "report", 0, true, NULL, TEXT, report, "FILE",                                   \
      "write how the job ended to FILE, as one JSON object")                                   \
    X(EVENTS, "events", 0, true, NULL, TEXT, events, "FILE",                                   \
      "write what happens to FILE, one JSON object a line (- = standard output)")              \
    X(JUNIT, "junit", 0, true, NULL, TEXT, junit, "FILE",                                      \
      "write how each rank ended to FILE, as JUnit XML")                                       \
    X(METRICS, "metrics", 0, true, NULL, LISTEN, metrics, "[HOST]:PORT",                       \
      "serve figures of the job to Prometheus while it runs, at http://HOST:PORT/metrics "     \
      "(without a host: to this machine alone; port 0: any free one, which is said)")          \
    X(NNODES, "nnodes", 0, true, "PET_NNODES", NNODES, nnodes_min, "N[:MAX]",                  \
      "how many nodes take part, or MIN:MAX: the same command on each of them, with "          \
      "--rdzv-endpoint (default 1)")                                                           \
    X(NODE_RANK, "node-rank", 0, true, "PET_NODE_RANK", NODE_RANK, node_rank, "N",             \
      "place of this node among them (default: by natural order of the host names); auto: as " \
      "JOB_COMPLETION_INDEX, Slurm or MPI say")                                                \
    X(RDZV_ENDPOINT, "rdzv-endpoint", 0, true, "PET_RDZV_ENDPOINT", TEXT, rdzv_endpoint,       \
      "HOST[:PORT]",                                                                           \
      "where the nodes meet: an address of one of them, the same on each (port 29400 unless "  \
      "given)")                                                                                \
    X(HOSTFILE, "hostfile", 0, true, NULL, TEXT, hostfile, "FILE",                             \
      "start on the hosts of FILE: 'host slots=4 gpus=0-3' a line, also n[01-16]:8")           \
    X(HOSTS, "hosts", 0, true, NULL, TEXT, hosts, "LIST",                                      \
      "the same from the command line: n1:4,n2:4")                                             \
    X(INCLUDE, "include", 0, true, NULL, TEXT, include, "LIST",                                \
      "of these hosts only those, or only some of their slots: n1@n2:0,2")                     \
    X(EXCLUDE, "exclude", 0, true, NULL, TEXT, exclude, "LIST", "all but those")               \
    X(ENGINE, "engine", 0, true, NULL, ENGINE, engine, "HOW",                                  \
      "what starts muster on other nodes: ssh, slurm (in an allocation, one srun step), mpi "  \
      "(mpirun or mpiexec.hydra), manual (others do), or auto (default: slurm in an "          \
      "allocation, ssh for a list of hosts)")                                                  \
    X(SSH, "ssh", 0, true, NULL, TEXT, ssh, "PROGRAM",                                         \
      "what starts muster on another host, called as ssh is (default: ssh)")                   \
    X(SSH_ARG, "ssh-arg", 0, false, NULL, LIST, ssh_args, "WORD",                              \
      "one more word for it, before muster's own; may be repeated")                            \
    X(SSH_TREE, "ssh-tree", 0, true, NULL, COUNT, ssh_tree, "N",                               \
      "above N hosts, hosts that have been reached start further ones: nobody more than N, "   \
      "at "                                                                                    \
      "most 32 (default: above 64 hosts)")                                                     \
    X(SSH_FLAT, "ssh-flat", 0, true, NULL, FLAG, ssh_flat, NULL,                               \
      "this host starts muster on all others itself, however many they are")                   \
    X(REMOTE_MUSTER, "remote-muster", 0, true, NULL, TEXT, remote_muster, "PATH",              \
      "where muster is on the other hosts (default: the same path as here)")                   \
    X(FORWARD, "forward", 'x', false, NULL, LIST, forward, "NAME[=VALUE]",                     \
      "a variable for the workers of all hosts, also a pattern as in 'MY_*'; may be repeated") \
    X(ENV_FILE, "env-file", 0, true, NULL, TEXT, env_file, "FILE",                             \
      "the same from a file of NAME=VALUE lines")                                              \
    X(CHDIR, "chdir", 0, true, NULL, TEXT, chdir, "DIR",                                       \
      "working directory on all hosts (default: the one muster is started in)")                \
    X(INTERFACE, "interface", 0, true, NULL, TEXT, interface, "NAME",                          \
      "where other hosts reach this one: an interface or a subnet, eth0 or 10.1.0.0/16")       \
    X(RDZV_ID, "rdzv-id", 0, true, "PET_RDZV_ID", TEXT, job_id, "ID",                          \
      "name of the job, the same on each node (default: random; with --rdzv-endpoint: none)")  \
    X(SECRET_FILE, "secret-file", 0, true, NULL, TEXT, secret_file, "FILE",                    \
      "the nodes prove to each other that they know what is in FILE (at least 16 bytes, "      \
      "mode 0600)")                                                                            \
    X(REQUIRE_SECRET, "require-secret", 0, true, NULL, FLAG, require_secret, NULL,             \
      "refuse to meet other nodes without --secret-file")                                      \
    X(STORE_OPEN, "store-open", 0, true, NULL, FLAG, is_store_open, NULL,                      \
      "let every process that reaches the rendezvous store use it (default: only those of "    \
      "this user, and of nodes that have joined)")                                             \
    X(JOIN_TIMEOUT, "join-timeout", 0, true, NULL, DURATION, join_timeout_ms, "TIME",          \
      "for all nodes to come (default 600s)")                                                  \
    X(ROLE, "role", 0, true, "PET_ROLE", TEXT, role, "NAME",                                   \
      "label of the workers, their ROLE_NAME (default: default)")                              \
    X(SCHEDULER_ENV, "scheduler-env", 0, true, NULL, SCHEDULER_ENV, scheduler_env, "HOW",      \
      "variables by which Slurm, MPI and others number their tasks: hide them from workers, "  \
      "keep them, or auto (default: keep Slurm's where they agree with the worker's ranks)")   \
    X(COMPAT, "compat", 0, true, NULL, COMPAT, compat, "LIST",                                 \
      "variables of frameworks that read others than PyTorch's: jax, accelerate-cpu, tf, "     \
      "paddle; see docs/environment.md")                                                       \
    X(MASTER_PORT, "master-port", 0, true, "PET_MASTER_PORT", PORT, master_port, "PORT",       \
      "port of the rendezvous store (default: any free one)")                                  \
    X(MODULE, "module", 'm', false, "PET_MODULE", FLAG, is_module, NULL,                       \
      "the program is a Python module, as in python3 -m")                                      \
    X(PREFLIGHT, "preflight", 0, true, NULL, FLAG, is_preflight, NULL,                         \
      "of muster run: judge each host first, as muster doctor does without CUDA; an error "    \
      "ends with status 78, and nothing is started")                                           \
    X(ONLY, "only", 0, false, NULL, LIST, only, "ID",                                          \
      "of muster doctor and --preflight: judge this rule only; may be repeated (muster "       \
      "explain lists them)")                                                                   \
    X(SKIP, "skip", 0, false, NULL, LIST, skip, "ID", "likewise: all rules but this one")      \
    X(STRICT, "strict", 0, true, NULL, FLAG, is_strict, NULL, "likewise: warnings are errors") \
    X(EXPECT_GPUS, "expect-gpus", 0, true, NULL, COUNT, expect_gpus, "N",                      \
      "likewise: each host should have N GPUs")                                                \
    X(LOOKUP, "lookup", 0, false, NULL, LIST, lookups, "NAME",                                 \
      "of muster doctor: a name that each host should know, besides those of the list of "     \
      "hosts; may be repeated")                                                                \
    X(EVIDENCE, "evidence", 0, false, NULL, EVIDENCE, evidence, "HOW",                         \
      "of muster doctor: do not judge, print what is judged: look (this host alone) or reach " \
      "(then connect to the peers that standard input names)")                                 \
    X(VERBOSE, "verbose", 'v', true, NULL, FLAG, is_verbose, NULL, "say what muster does")     \
    X(JSON, "json", 0, false, NULL, FLAG, is_json, NULL,                                       \
      "of muster plan, gpus and doctor: the answer as one JSON object")                        \
    X(HELP, "help", 'h', false, NULL, FLAG, is_help, NULL, "this text")

enum option_id {
#define X(id, ...) OPTION_##id,
    OPTION_TABLE(X)
#undef X
        OPTION_ID_COUNT
};

/* Whose command line it is: all read the same options. */
enum option_command { OPTIONS_RUN, OPTIONS_PLAN, OPTIONS_GPUS, OPTIONS_DOCTOR };

enum option_origin { ORIGIN_DEFAULT, ORIGIN_PET, ORIGIN_ENVIRONMENT, ORIGIN_COMMAND_LINE };

enum { TEXT_LIST_MAX = 64, NODE_RANK_NOT_GIVEN = -1, NODE_RANK_AUTO = -2 };

struct text_list {
    const char *items[TEXT_LIST_MAX + 1]; /* NULL-terminated */
    uint32_t n;
};

/* What `muster doctor` shows instead of a judgement. */
enum evidence_how { EVIDENCE_NOT_SHOWN, EVIDENCE_LOOK, EVIDENCE_REACHED };

/* Where a number of workers that is not given comes from. */
enum nproc_source { NPROC_GPUS, NPROC_CPUS, NPROC_AUTO };

/* What workers get of an outer launcher's task identity. */
enum scheduler_env { SCHEDULER_ENV_AUTO, SCHEDULER_ENV_KEEP, SCHEDULER_ENV_HIDE };

/* How the program is executed. */
enum interpreter {
    INTERPRETER_BY_NAME, /* Python for *.py and modules, else directly */
    INTERPRETER_PYTHON,
    INTERPRETER_NONE
};

/* Whether the rendezvous endpoint is on this machine, as the user says. */
enum is_host { IS_HOST_UNKNOWN, IS_HOST_NO, IS_HOST_YES };

/* What only torchrun's command line can ask for. Text is borrowed. */
struct torchrun_extra {
    bool is_on;              /* the command line was torchrun's */
    const char *prefix;      /* template of lines that are shown and filed; not empty */
    const char *local_ranks; /* whose lines are shown, by local rank; NULL = all */
    const char *filters[2];  /* of stdout and stderr: words of filtered_*.log; NULL = none */
    const char *shell;       /* print completions for this shell; NULL = no */
};

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
    uint64_t restart_delay_ms, restart_delay_max_ms;
    uint64_t min_uptime_ms;                   /* 0 = none */
    const char *no_restart_codes;             /* NULL = only 93 */
    const char *wrap, *wrap_ranks, *terminal; /* NULL = not given */
    uint64_t grace_ms, timeout_ms;            /* timeout 0 = none */
    uint64_t heartbeat_ms, silence_ms;        /* 0 = none */
    const char *preempt_signal;               /* NULL = not given */
    const char *stack_tool;                   /* NULL = not given: auto */
    const char *report, *events, *junit;      /* files; NULL = none */
    const char *metrics;                      /* where they are served; NULL = nowhere */
    uint64_t log_size;                        /* 0 = none */
    const char *prefix, *log_dir, *job_id;
    const char *tee, *redirects, *only_ranks, *show, *input; /* NULL = not given */
    uint16_t master_port;                                    /* 0 = any */
    bool is_deduped;
    const char *secret_file; /* NULL = none */
    bool require_secret;
    bool is_store_open; /* the store serves everybody */
    bool is_module, is_verbose, is_help, is_json;
    bool is_preflight, is_strict;
    uint32_t expect_gpus;                 /* 0 = not given */
    struct text_list only, skip, lookups; /* rules; names of hosts */
    enum evidence_how evidence;
    bool is_plan; /* muster plan: the job ends when every node is ready, nothing starts */
    enum nproc_source nproc_source; /* while nproc is 0 */
    enum interpreter interpreter;
    enum scheduler_env scheduler_env;
    const char *compat;   /* NULL = not given */
    const char *role;     /* label of the group; NULL = "default" */
    uint64_t end_signals; /* bit N: signal N ends the job, besides those that always do */

    /* Several nodes. */
    const char *hostfile, *hosts, *include, *exclude; /* NULL = not given; likewise below */
    const char *ssh, *remote_muster, *env_file, *chdir, *interface;
    struct text_list ssh_args, forward;
    uint32_t ssh_tree; /* above so many hosts */
    bool ssh_flat;
    uint32_t nnodes_min, nnodes_max;
    int32_t node_rank;        /* below 0: not given, or NODE_RANK_AUTO */
    enum engine_start engine; /* as asked for */
    const char *slots; /* of this host, as host_slots_format; NULL = all. Not an option: set
                        * from what the head tells */
    const char *rdzv_endpoint;              /* HOST[:PORT], checked; NULL = not given */
    const char *master_addr, *local_addr;   /* NULL = not given */
    uint64_t join_timeout_ms, last_call_ms; /* for all nodes; once enough have joined */
    uint64_t beat_ms;                       /* between two signs of life */
    uint32_t beats_missed;                  /* so many without one: lost */
    enum is_host is_host;

    struct torchrun_extra torchrun;
    enum option_origin origin[OPTION_ID_COUNT];

    char *const *program; /* the program's argv, NULL-terminated; NULL if none was given */
};

/* The defaults of every option, no program. */
void options_init(struct options *opt);

/* Sets what no command line has set (origin ORIGIN_DEFAULT) from MUSTER_* variables, and from
 * PET_* where has_pet. 0, or -1 with ERR_USAGE that names the variable. */
int options_parse_environment(const char *const *environment, bool has_pet, struct options *opt,
                              struct err *e);

/* Sets one option from its text, as the command line would; where: how the user spelled it,
 * for messages. 0, or -1 with ERR_USAGE. */
int options_set(struct options *opt, enum option_id id, enum option_origin origin,
                const char *where, const char *text, struct err *e);

/* Fills opt with args, then what they leave open with MUSTER_*, PET_*, defaults (without
 * program and subcommand name; NULL-terminated). 0, or -1 with ERR_USAGE: names the word, what
 * would be right and, for an unknown option, the nearest known one. A missing program is an
 * error unless --help was given. */
int options_parse(char *const *args, const char *const *environment, struct options *opt,
                  struct err *e);

/* The same for another command. `plan` sets is_plan; `gpus` starts nothing, so a program is an
 * error, and so does `doctor`; --json is an error for `run`. */
int options_parse_command(enum option_command command, char *const *args,
                          const char *const *environment, struct options *opt, struct err *e);

/* The i-th option of a command; false past the last. */
bool options_face(enum option_command command, size_t i, struct option_face *out);

/* Whether nodes of one job, each started by itself, meet at an endpoint. One node alone meets
 * nobody, whatever its endpoint. */
bool options_has_endpoint(const struct options *opt);

/* Whether muster itself starts nodes, on the hosts of a list. */
bool options_has_hosts(const struct options *opt);

/* How many words of a command line the option that begins with word takes: 1, 2 if its value is
 * the next one, 0 if there is no such option. For command lines that hold others' options. */
int options_word_count(const char *word);

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
