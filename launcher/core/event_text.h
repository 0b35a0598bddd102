/* event_text.h - events and effects as one line of text and back: for traces, debug logs,
 * tests.
 *
 * Owns the table of their fields, which both directions read.
 */
#ifndef MUSTER_LAUNCHER_CORE_EVENT_TEXT_H
#define MUSTER_LAUNCHER_CORE_EVENT_TEXT_H

#include "base/buf.h"
#include "base/err.h"
#include "launcher/core/event.h"

enum { EVENT_PARTS_MAX = 16 }; /* nodes of a list that is read */

/* Text form, one line without newline: "12 exited local_rank=1 end=exit:7". Appended to out. */
void event_format(const struct event *ev, struct buf *out);
void effect_format(const struct effect *fx, struct buf *out);

/* What an event that was read points to, beside its line. */
struct event_parts {
    struct order order; /* fields that a line does not give keep what is here */
    struct err err;
    struct mpi_layout layout;
    struct mpi_node layout_nodes[EVENT_PARTS_MAX];
    uint32_t nodes[EVENT_PARTS_MAX];
};

/* The reverse, for traces. Splits line in place; text fields then point into it, so it must
 * outlive the event, and *parts too. 0, or -1 with the token that is wrong. */
int event_parse(char *line, struct event *ev, struct event_parts *parts, struct err *e);

#endif
