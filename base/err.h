/* err.h - one error type for every layer: a code from the registry, an errno, one line of text.
 *
 * Owns the registry of error codes and their exit statuses. Does not print: an error travels up
 * to the one place that reports it. Being of fixed size it needs no freeing and can cross a
 * pipe or a link as it is.
 */
#ifndef MUSTER_BASE_ERR_H
#define MUSTER_BASE_ERR_H

/* X(name, exit status, what it means and what to do about it). Rows are add-only;
 * docs/errors.md is generated from them. A worker's own exit code and 128+N for a signal never
 * appear here: they come from verdict_exit_status() alone. */
#define ERR_REGISTRY(X)                                                                        \
    X(USAGE, 2, "the command line is wrong; see --help")                                       \
    X(HOSTFILE, 2, "the host list cannot be read as written; correct the line that is named")  \
    X(GPU_REQUEST, 2,                                                                          \
      "the GPUs asked for cannot be had here; `muster gpus` shows which exist")                \
    X(UNAVAILABLE, 69,                                                                         \
      "a node or the rendezvous cannot be reached; check the address, the port and the host")  \
    X(NODE_LOST, 75,                                                                           \
      "a node was lost and no restart was left; submitting the job again may work")            \
    X(AUTH, 77,                                                                                \
      "a peer could not prove that it belongs to this job; use the same secret on every node") \
    X(PREFLIGHT, 78, "a check before the start failed; `muster doctor` says how to mend it")   \
    X(TIME_LIMIT, 124,                                                                         \
      "a limit that was set ended the job: --timeout, --heartbeat-timeout, --silence-timeout") \
    X(SYSTEM, 125, "the operating system refused something that muster needs")                 \
    X(INTERNAL, 125, "muster itself failed; this is a bug worth reporting")                    \
    X(NO_MEMORY, 125, "the machine had no memory left for muster")                             \
    X(PROTOCOL, 125,                                                                           \
      "a peer spoke a protocol that muster does not understand; compare versions")             \
    X(LIMIT, 125, "a bound of muster's own was passed; the line says which")                   \
    X(TIMEOUT, 125, "an answer did not come in time")                                          \
    X(CLOSED, 125, "the other side closed the connection")                                     \
    X(NOT_EXECUTABLE, 126,                                                                     \
      "the program was found but cannot be executed; check its mode and its first line")       \
    X(NOT_FOUND, 127, "there is no such program; give its path or correct PATH")

enum err_code {
    ERR_OK = 0,
#define X(name, status, hint) ERR_##name,
    ERR_REGISTRY(X)
#undef X
        ERR_CODE_COUNT
};

/* Owned by the caller, usually on the stack; valid for reading only after a function returned
 * failure. */
struct err {
    enum err_code code;
    int sys; /* errno behind it, 0 if none */
    char text[256];
};

/* Fills e (which may be NULL: the caller does not want to know) and returns -1, so that failing
 * is one line. Text that does not fit is cut. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As err_set, for a failed system call: appends ": " and the text of errno value sys. */
int err_sys(struct err *e, int sys, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts context before the text of an error already set, as "context: text"; returns -1. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "USAGE" for ERR_USAGE; "OK" for ERR_OK. code must be in the registry. */
const char *err_name(enum err_code code);

/* The exit status and the one-line hint of a code. */
int err_exit_status(enum err_code code);
const char *err_hint(enum err_code code);

#endif
