/* pmi_wire.h - the lines of PMI-1, which MPICH and its relatives speak with their launcher over
 * an inherited descriptor.
 *
 * A request is one line "cmd=NAME key=value ...", only a spawn has several, from "mcmd=spawn"
 * to "endcmd". Decodes requests from any chunking and encodes replies; what they mean is
 * decided by pmi_job. Source: the conversation of Hydra 4.0 with MPICH 4.0, as traced.
 */
#ifndef MUSTER_LAUNCHER_CORE_PMI_WIRE_H
#define MUSTER_LAUNCHER_CORE_PMI_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Most bytes of a name, a key, a value, each with its NUL, as `maxes` tells a client; and of
 * one request with its newlines. */
enum {
    PMI_NAME_MAX = 256,
    PMI_KEY_MAX = 64,
    PMI_VALUE_MAX = 1024,
    PMI_REQUEST_MAX = 16384,
};

/* X(name, word): what a client may ask */
#define PMI_COMMANDS(X)                                                                        \
    X(INIT, "init")                                                                            \
    X(GET_MAXES, "get_maxes")                                                                  \
    X(GET_APPNUM, "get_appnum")                                                                \
    X(GET_MY_KVSNAME, "get_my_kvsname")                                                        \
    X(GET_UNIVERSE_SIZE, "get_universe_size")                                                  \
    X(PUT, "put")                                                                              \
    X(GET, "get")                                                                              \
    X(BARRIER_IN, "barrier_in")                                                                \
    X(FINALIZE, "finalize")                                                                    \
    X(ABORT, "abort")                                                                          \
    X(PUBLISH_NAME, "publish_name")                                                            \
    X(UNPUBLISH_NAME, "unpublish_name")                                                        \
    X(LOOKUP_NAME, "lookup_name")                                                              \
    X(SPAWN, "spawn")

enum pmi_command {
#define X(name, word) PMI_##name,
    PMI_COMMANDS(X)
#undef X
        PMI_COMMAND_COUNT
};

/* Slices of the bytes that were decoded; {NULL, 0} = not given. */
struct pmi_request {
    enum pmi_command command;
    struct str version;    /* INIT */
    struct str kvsname;    /* PUT, GET */
    struct str key, value; /* PUT, GET */
    int exit_code;         /* ABORT */
    bool is_last;          /* SPAWN: the last of its parts; only that one is answered */
};

/* Takes one request from the front of in: 1 and the rest in *in; 0 when more bytes are needed,
 * which is never so with PMI_REQUEST_MAX of them; -1 with ERR_PROTOCOL for what is no request:
 * the connection is then of no use. */
int pmi_request_decode(struct str *in, struct pmi_request *out, struct err *e);

/* As it stands in a request: "get". Static text. */
const char *pmi_command_name(enum pmi_command command);

/* Whether a key or value can stand in a line: not empty but for a value, no blank or control
 * character, below its limit. */
bool pmi_is_word(struct str s, size_t limit);

/* Replies, each appended as one line. */
void pmi_reply_init(struct buf *out, bool is_known_version);
void pmi_reply_maxes(struct buf *out);
void pmi_reply_appnum(struct buf *out, int appnum);
void pmi_reply_kvsname(struct buf *out, const char *name);
void pmi_reply_universe_size(struct buf *out, uint32_t size);
void pmi_reply_put(struct buf *out, const char *refusal);               /* NULL = done */
void pmi_reply_get(struct buf *out, const char *value, struct str key); /* NULL = not there */
void pmi_reply_barrier(struct buf *out);
void pmi_reply_finalize(struct buf *out);
/* Of a command that is not offered: publish_name and its like, spawn. */
void pmi_reply_refused(struct buf *out, enum pmi_command command);

#endif
