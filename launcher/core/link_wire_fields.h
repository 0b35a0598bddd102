/* link_wire_fields.h - which fields each message of a link has, in what order and within which
 * bounds: what its encoder and its decoder both go by.
 *
 * Private to link_wire_encode.c and link_wire_decode.c; everybody else uses link_wire.h.
 */
#ifndef MUSTER_LAUNCHER_CORE_LINK_WIRE_FIELDS_H
#define MUSTER_LAUNCHER_CORE_LINK_WIRE_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "launcher/core/event.h"

/* Kinds of messages that are no frames. Never given to anything else. */
enum {
    WIRE_NUMBER_SETUP = 64,
    WIRE_NUMBER_OUTPUT = 65,
    WIRE_NUMBER_WHO = 66,
    WIRE_NUMBER_MORE = 67,
    WIRE_NUMBER_INPUT = 68
};

/* The number of each type of frame. */
extern const unsigned char wire_numbers[FRAME_TYPE_COUNT];

/* How a field looks, in memory (at its offset) and on the wire. */
enum field_kind {
    FIELD_U16,
    FIELD_U32,
    FIELD_U64,
    FIELD_BOOL,
    FIELD_SIGNAL,
    FIELD_STATUS, /* of a process */
    FIELD_HANG,   /* enum hang_kind */
    FIELD_COUNT,  /* struct maybe_u64 */
    FIELD_NOTICE, /* struct notice */
    FIELD_TEXT,
    FIELD_MAYBE, /* a text that may be missing */
    FIELD_END_OF_WORKER,
    FIELD_ORDER,
    FIELD_ERR,
    FIELD_MPI, /* enum mpi_mode, but AUTO */
    FIELD_LAYOUT,
    FIELD_NODES, /* of struct gather */
    FIELD_BYTES, /* struct str */
};

struct wire_field {
    int type; /* of frame; unused in tables of other structs */
    enum field_kind kind;
    size_t offset;
    uint32_t max; /* bytes of a text */
    const char *name;
};

/* Of texts, in bytes; the last three of numbers. */
enum {
    WIRE_HOST_MAX = 255,
    WIRE_JOB_MAX = 255,
    WIRE_ADDR_MAX = 255,
    WIRE_GPU_MAX = 255,
    WIRE_LINE_MAX = 16 * 1024,
    WIRE_TAIL_MAX = 256 * 1024,
    WIRE_DIR_MAX = 4095,
    WIRE_SLOTS_MAX = 32 * 1024, /* all 4096 of a host by number */
    WIRE_STRING_MAX = 131071,   /* the kernel's MAX_ARG_STRLEN without the NUL */
    WIRE_SIGNAL_MAX = 64,
    WIRE_ERRNO_MAX = 4095,
    WIRE_EXIT_MAX = 255,
};

/* A table: the fields of a type of frame are its rows of that type, in this order. */
struct wire_fields {
    const struct wire_field *rows;
    size_t n;
};

/* Of struct frame, by type; of struct order. */
extern const struct wire_fields wire_frame_fields, wire_order_fields;

/* Where each kind of end may lie. */
struct wire_end_code {
    int min, max;
};
extern const struct wire_end_code wire_end_codes[END_UNKNOWN + 1];

#endif
