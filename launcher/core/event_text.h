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

/* Text form, one line without newline: "12 exited local_rank=1 end=exit:7". Appended to out. */
void event_format(const struct event *ev, struct buf *out);
void effect_format(const struct effect *fx, struct buf *out);

/* The reverse, for traces. Splits line in place; text fields then point into it, so it must
 * outlive the event; an order or an error is stored in *order or *err, which must outlive it
 * too. 0, or -1 with the token that is wrong. */
int event_parse(char *line, struct event *ev, struct order *order, struct err *inner,
                struct err *e);

#endif
