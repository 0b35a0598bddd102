/* say.h - muster's own words, to standard error.
 *
 * Never waits long for a reader: a terminal that is held or a pipe that nobody empties must not
 * make muster deaf to signals while workers run.
 */
#ifndef MUSTER_LAUNCHER_IO_SAY_H
#define MUSTER_LAUNCHER_IO_SAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

enum {
    SAY_LINE_MS = 500,   /* how long a line of the log waits for a reader */
    SAY_REPORT_MS = 2000 /* the same of the last report, when nothing runs any more */
};

/* Writes text, waiting at most wait_ms for each piece to be taken; false if some of it was not.
 */
bool say(const char *text, size_t n, int wait_ms);

/* For log_set_sink. */
void say_log(void *ctx, enum log_level level, const char *line);

struct event;
struct note;

/* The text of an event as a debug line of a machine ("job", "node"). */
void say_event(const char *machine, const struct event *ev);

/* A note in words, at its level. */
void say_note(const char *machine, const struct note *note);

#endif
