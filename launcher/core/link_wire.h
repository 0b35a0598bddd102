/* link_wire.h - what travels over a link, as bytes: the machines' frames and two that only the
 * drivers use.
 *
 * Owns the layout and every bound; the link carries the bytes, the machines decide. Decoding is
 * strict: an unknown version, kind or name, a value out of range, an overlong text, a NUL
 * inside one, and bytes left over are all errors. Pure.
 *
 *     u8 version, u8 kind, the kind's fields
 *     numbers: u16, u32, u64 little-endian; bool: u8 0 or 1
 *     text: u32 length, so many bytes, a NUL not counted (decoded texts lie in the input)
 *     text that may be missing: bool, then the text if 1
 *     bytes: u32 length, so many bytes
 *     node ranks: u32 how many, u32 each, ascending
 *     layout: u32 how many nodes, 0 = none; of each its host and u32 ranks
 */
#ifndef MUSTER_LAUNCHER_CORE_LINK_WIRE_H
#define MUSTER_LAUNCHER_CORE_LINK_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "launcher/core/event.h"

enum {
    LINK_WIRE_VERSION = 1,
    LINK_WIRE_MAX = 16 << 20,       /* bytes of a message: what a link takes */
    LINK_WIRE_OUTPUT_MAX = 1 << 20, /* bytes of output in one message */
    LINK_WIRE_LIST_MAX = 65536,     /* strings of a list */
};

enum wire_kind {
    WIRE_KIND_FRAME,  /* both ways: of the machines */
    WIRE_KIND_WHO,    /* up, the first of a node that muster has started */
    WIRE_KIND_SETUP,  /* down, the answer */
    WIRE_KIND_OUTPUT, /* up */
    WIRE_KIND_MORE,   /* up: there is room for more standard input; no fields */
    WIRE_KIND_INPUT,  /* down: its bytes, none = the end */
};

enum { WIRE_NONE = UINT32_MAX };

/* Which one it is. */
struct wire_who {
    uint32_t node;    /* its place in the list of hosts, from its boot record; WIRE_NONE: the
                       * command that started it did so for several, see the others */
    uint32_t task;    /* its number among those, of one a node; WIRE_NONE = not known */
    const char *host; /* as the engine calls it, else as it calls itself */
};

/* What a node has to know before its machine can begin. */
struct wire_setup {
    uint32_t node;                   /* its index */
    const char *host;                /* what it is called in reports; "" = its own name */
    const char *dir;                 /* working directory */
    const char *slots;               /* which take part, as host_slots_format; "" = all */
    const char *addr, *iface, *line; /* as own_addr.h has them; "" = not given */
    const char *const *args;         /* the command line, NULL-terminated */
    size_t nargs;
    const char *const *env; /* "NAME=value" each, NULL-terminated */
    size_t nenv;
};

/* What a worker wrote. */
struct wire_output {
    uint32_t rank;
    int stream; /* 1 stdout, 2 stderr */
    struct str bytes;
};

struct wire_message {
    enum wire_kind kind;
    union {
        struct frame frame;
        struct wire_who who;
        struct wire_setup setup;
        struct wire_output output;
        struct str input;
    } u;
    struct order order;       /* what u.frame.u.plan.order points to */
    struct err err;           /* what u.frame.u.refused.err points to */
    struct mpi_layout layout; /* what u.frame.u.start.layout points to */
    void *lists;              /* the arrays of u.setup, of a layout, of u.frame.u.gather */
};

/* Append a message to out. Texts of reports that are longer than their bound are cut, at a
 * character; NULL where a text has to be counts as "". */
void link_wire_frame(const struct frame *frame, struct buf *out);

/* Likewise, of who a node is. */
void link_wire_who(const struct wire_who *who, struct buf *out);

/* 0, or -1 with ERR_USAGE, what cannot travel and how much would; out is then as it was. */
int link_wire_setup(const struct wire_setup *s, struct buf *out, struct err *e);

/* At most LINK_WIRE_OUTPUT_MAX bytes; stream 1 or 2. */
void link_wire_output(const struct wire_output *output, struct buf *out);

void link_wire_more(struct buf *out);

/* At most LINK_WIRE_OUTPUT_MAX bytes. */
void link_wire_input(struct str bytes, struct buf *out);

/* The whole of bytes is one message. Texts in *m lie in bytes, arrays and structs in *m itself,
 * which must not be copied and is freed with wire_message_fini. 0, or -1 with ERR_PROTOCOL;
 * nothing is to be freed then. */
int link_wire_decode(struct str bytes, struct wire_message *m, struct err *e);
/* Frees what decoding has kept; the message and its frame are of no use then. */
void wire_message_fini(struct wire_message *m);

#endif
