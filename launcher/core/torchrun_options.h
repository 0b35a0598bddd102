/* torchrun_options.h - torchrun's command line and PET_* variables, read as torchrun reads them
 * and translated into struct options.
 *
 * One table has every option of PyTorch 2.11's and 2.14's torchrun: what it is here, that it
 * has no effect, or why it is refused. As argparse does: both spellings, unique prefixes,
 * --opt=value, options end at the script. Precedence: command line, MUSTER_*, PET_*, default.
 * Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_TORCHRUN_OPTIONS_H
#define MUSTER_LAUNCHER_CORE_TORCHRUN_OPTIONS_H

#include "launcher/core/options.h"

/* How an option comes: with a value, or as a flag. */
enum torchrun_kind { TORCHRUN_VALUE, TORCHRUN_FLAG };

/* X(id, name, letter or 0, PET?, kind, metavariable or NULL, help). The PET name is the
 * option's in capitals. */
#define TORCHRUN_OPTIONS(X)                                                                    \
    X(NNODES, "nnodes", 0, true, VALUE, "N|MIN:MAX", "nodes of the job (default 1)")           \
    X(NPROC, "nproc-per-node", 0, true, VALUE, "N|gpu|cpu|auto",                               \
      "workers on each node (default 1)")                                                      \
    X(RDZV_BACKEND, "rdzv-backend", 0, true, VALUE, "static|c10d",                             \
      "static (default) or c10d: how nodes find each other")                                   \
    X(RDZV_ENDPOINT, "rdzv-endpoint", 0, true, VALUE, "HOST[:PORT]",                           \
      "where they meet; port 29400 with c10d")                                                 \
    X(RDZV_ID, "rdzv-id", 0, true, VALUE, "ID", "name of the job (default none)")              \
    X(RDZV_CONF, "rdzv-conf", 0, true, VALUE, "KEY=VALUE,...",                                 \
      "join_timeout, last_call_timeout, keep_alive_interval, is_host, ...")                    \
    X(STANDALONE, "standalone", 0, true, FLAG, NULL,                                           \
      "one node, a free port; --rdzv-* do not count")                                          \
    X(MAX_RESTARTS, "max-restarts", 0, true, VALUE, "N",                                       \
      "start all workers again after a failure, at most N times (default 0)")                  \
    X(MONITOR_INTERVAL, "monitor-interval", 0, true, VALUE, "SECONDS",                         \
      "no effect: nothing is polled")                                                          \
    X(START_METHOD, "start-method", 0, true, VALUE, "spawn|fork|forkserver",                   \
      "spawn, fork or forkserver; no effect")                                                  \
    X(EVENT_LOG_HANDLER, "event-log-handler", 0, true, VALUE, "null|console",                  \
      "null (default), or console: events to standard error, one JSON object a line")          \
    X(ROLE, "role", 0, true, VALUE, "NAME", "label of the workers (default: default)")         \
    X(MODULE, "module", 'm', true, FLAG, NULL, "the script is a Python module")                \
    X(NO_PYTHON, "no-python", 0, true, FLAG, NULL, "execute the script directly")              \
    X(RUN_PATH, "run-path", 0, true, FLAG, NULL,                                               \
      "run the script with Python, whatever --no-python and --module say")                     \
    X(LOG_DIR, "log-dir", 0, true, VALUE, "DIR",                                               \
      "files go to DIR/<rdzv id>_<random>/attempt_<N>/<local rank>/")                          \
    X(REDIRECTS, "redirects", 'r', true, VALUE, "STREAMS",                                     \
      "to files only: 1 stdout, 2 stderr, 3 both, or by local rank: 0:3,1:1")                  \
    X(TEE, "tee", 't', true, VALUE, "STREAMS", "to files, and shown with a prefix")            \
    X(PREFIX, "log-line-prefix-template", 0, true, VALUE, "TEXT",                              \
      "that prefix: ${role_name} ${local_rank} ${rank} ${hostname} (default "                  \
      "[${role_name}${local_rank}]:)")                                                         \
    X(LOCAL_RANKS, "local-ranks-filter", 0, true, VALUE, "LIST",                               \
      "show the output of these local ranks only")                                             \
    X(OUT_FILTERS, "duplicate-stdout-filters", 0, true, VALUE, "WORDS",                        \
      "lines of --tee with one of these words go to filtered_stdout.log too")                  \
    X(ERR_FILTERS, "duplicate-stderr-filters", 0, true, VALUE, "WORDS",                        \
      "the same for standard error")                                                           \
    X(NODE_RANK, "node-rank", 0, true, VALUE, "N", "number of this node")                      \
    X(MASTER_ADDR, "master-addr", 0, true, VALUE, "HOST",                                      \
      "where node 0 is, with the static backend")                                              \
    X(MASTER_PORT, "master-port", 0, true, VALUE, "PORT",                                      \
      "port there (default: any free one on one node, else 29500)")                            \
    X(LOCAL_ADDR, "local-addr", 0, true, VALUE, "HOST", "address of this node for others")     \
    X(LOGS_SPECS, "logs-specs", 0, false, VALUE, "NAME", "refused: a plug-in in Python")       \
    X(NUMA_BINDING, "numa-binding", 0, false, VALUE, "node|socket|exclusive|core-complex",     \
      "node, socket, exclusive or core-complex: CPUs and memory near the worker's GPU")        \
    X(SIGNALS, "signals-to-handle", 0, true, VALUE, "NAMES",                                   \
      "signals that end the job, besides SIGTERM, SIGINT, SIGHUP and SIGQUIT")                 \
    X(SHUTDOWN_TIMEOUT, "shutdown-timeout", 0, true, VALUE, "SECONDS",                         \
      "between the stop signal and SIGKILL (default 25)")                                      \
    X(VIRTUAL_LOCAL_RANK, "virtual-local-rank", 0, true, FLAG, NULL,                           \
      "each worker sees its own GPU alone, LOCAL_RANK is 0")                                   \
    X(PRINT_COMPLETION, "print-completion", 0, false, VALUE, "bash|zsh|fish",                  \
      "print completions for bash, zsh or fish")                                               \
    X(EXIT_BARRIER_TIMEOUT, "exit-barrier-timeout", 0, true, VALUE, "SECONDS",                 \
      "no effect: nobody waits at the end")                                                    \
    X(HELP, "help", 'h', false, FLAG, NULL, "this text")

enum torchrun_id {
#define X(id, ...) TORCHRUN_##id,
    TORCHRUN_OPTIONS(X)
#undef X
        TORCHRUN_ID_COUNT
};

/* Fills opt with args (without the name torchrun; NULL-terminated) and the environment. 0, or
 * -1 with ERR_USAGE, one line. A missing script is an error unless --help was given or
 * opt->torchrun.shell is set. Text is borrowed. */
int torchrun_options_parse(char *const *args, const char *const *environment,
                           struct options *opt, struct err *e);

/* The i-th option; false past the last. */
bool torchrun_options_face(size_t i, struct option_face *out);

/* Whether an environment entry NAME=VALUE is a PET_ name of the table. */
bool torchrun_options_is_variable(const char *entry);

/* What was given, by option: the text of a flag is "yes" or "no". For torchrun_apply.c. */
struct torchrun_given {
    const char *text; /* NULL = not given */
    enum option_origin origin;
    char where[40]; /* "--tee", "PET_TEE" */
};

/* Translates what was given, the rest of opt at its defaults. given: one per torchrun_id. */
int torchrun_apply(const struct torchrun_given *given, struct options *opt, struct err *e);

/* The option of muster that an option of torchrun sets, OPTION_ID_COUNT if there is none. */
enum option_id torchrun_option_of(enum torchrun_id id);

#endif
