/* event_fields.h - which fields each event, effect and frame has, and how each looks as a word
 * of text: what event_text.c writes by and event_parse.c reads by.
 *
 * Private to those two; everybody else uses event_text.h. Pure data.
 */
#ifndef MUSTER_LAUNCHER_CORE_EVENT_FIELDS_H
#define MUSTER_LAUNCHER_CORE_EVENT_FIELDS_H

#include <stddef.h>

#include "base/buf.h"
#include "launcher/core/event.h"

enum field_kind {
    FIELD_U16,
    FIELD_U32,
    FIELD_U64,
    FIELD_I64,
    FIELD_BOOL,
    FIELD_SIGNAL,
    FIELD_TEXT,
    FIELD_MAYBE, /* a text that is left out where there is none */
    FIELD_END_OF_WORKER,
    FIELD_ORDER,
    FIELD_ERR,
    FIELD_NOTE_ID,
    FIELD_RANK, /* a node rank, left out where the head may choose */
    FIELD_INT,
    FIELD_FLAG,   /* left out where it is not set */
    FIELD_COUNT,  /* a number that is left out where it is not known */
    FIELD_HANG,   /* which limit */
    FIELD_NOTICE, /* SIGUSR1:20000ms; left out where there is none */
    FIELD_MPI,    /* left out for none */
    FIELD_LAYOUT, /* a:2,b:4 are hosts and their ranks; left out where there is no MPI */
    FIELD_NODES,  /* 0,1,3: of struct gather */
    FIELD_BYTES,  /* as text; only its length where it is long */
};

struct event_field {
    int type; /* event, frame or effect type */
    const char *name;
    enum field_kind kind;
    size_t offset;
};

/* All of one enum. The fields of a type stand in the order in which they are written. */
struct event_table {
    const struct event_field *fields;
    size_t nfields;
    const char *const *names; /* of the types, by number */
    size_t nnames;
};

extern const struct event_table event_table_frames, event_table_events, event_table_effects;

enum { EVENT_END_NAMES = END_UNKNOWN + 1 };
extern const char *const event_end_names[EVENT_END_NAMES];
extern const char *const event_hang_names[HANG_KIND_COUNT];

/* Appends a name as text has it: in small letters. */
void event_fields_lower(struct buf *out, const char *name);

#endif
