/* host_fault.h - the classes of error in a host list, the place of one, and how it is said.
 *
 * Owns the closed list of classes and the form of the text: `FILE:LINE:COL: what; what would be
 * right`, then the line and a caret. Does not read anything. To the rest of the program every
 * class is ERR_HOSTFILE, status 2; the class exists so that tests need not compare prose.
 */
#ifndef MUSTER_LAUNCHER_CORE_HOST_FAULT_H
#define MUSTER_LAUNCHER_CORE_HOST_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define HOST_ERRORS(X)                                                                         \
    X(CHAR)      /* a byte that may only stand in a comment */                                 \
    X(SYNTAX)    /* a word that should not be there */                                         \
    X(HOSTNAME)  /* not a name, not an address */                                              \
    X(USER)      /* not a user */                                                              \
    X(BRACKET)   /* a list in brackets */                                                      \
    X(TOOMANY)   /* above HOSTS_MAX hosts */                                                   \
    X(NUMBER)    /* no number where one belongs */                                             \
    X(RANGE)     /* a number, but not one that is allowed */                                   \
    X(OPTION)    /* no such key */                                                             \
    X(DUPOPT)    /* a key twice */                                                             \
    X(DUPHOST)   /* a host again, in a way that does not add up */                             \
    X(CONFLICT)  /* two things that are right alone */                                         \
    X(NOHOST)    /* named in a filter, not in the list */                                      \
    X(NOSLOT)    /* the same, of a slot */                                                     \
    X(RELATIVE)  /* +n, +e where it means nothing */                                           \
    X(RANKFILE)  /* Open MPI's rankfile */                                                     \
    X(EMPTY)     /* no host is left */                                                         \
    X(EMPTYITEM) /* nothing between two separators */

enum host_error {
    HOST_OK = 0,
#define X(name) HOST_E_##name,
    HOST_ERRORS(X)
#undef X
        HOST_ERROR_COUNT
};

enum { HOSTS_MAX = 65536, HOST_SLOTS_MAX = 4096 };

/* What was found, for who wants more than the first line that struct err carries. */
struct host_fault {
    enum host_error class;
    uint32_t line, col; /* both from 1, col in bytes; 0, 0 = the whole input */
    struct buf text;    /* all lines, each ended by LF */
};

/* The caller's memory; no fault so far. */
void host_fault_init(struct host_fault *f);
void host_fault_fini(struct host_fault *f);

/* "E_RANGE" for HOST_E_RANGE, "OK" for HOST_OK. */
const char *host_error_name(enum host_error class);

/* The text that is being read, and where its errors go. */
struct host_source {
    const char *name;         /* of the file, or of the option: "--hosts" */
    bool is_option;           /* one line: only the column is said */
    uint32_t number;          /* of the line, from 1 */
    struct str line;          /* without its end */
    struct host_fault *fault; /* may be NULL; initialised by the caller of the parser */
    struct err *e;            /* may be NULL */
};

/* Records class, place and text and returns -1. at: the byte of src->line, or just behind its
 * end; NULL = the whole input. */
int host_fail(const struct host_source *src, enum host_error class, const char *at,
              const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* The same for a place whose line is no longer at hand. */
int host_fail_at(const struct host_source *src, enum host_error class, uint32_t line,
                 uint32_t col, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
