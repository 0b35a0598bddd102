/* status_line.h - what an agent says to whoever started it, over its standard output, until it
 * has its link: one line a fact.
 *
 *   try ADDRESS: WHY           it could not reach the head there, and goes on trying
 *   linked                     it has its link
 *   below N up                 of an agent that it starts, or that one of those starts: it runs
 *   below N state WORDS        how far it is: "ssh refused, trying again"
 *   below N unreachable WHY    it could not be started, for good: the way there
 *   below N failed WHY         the same: that host
 *   below N ended              it has ended although it had its link
 *
 * N is the host's place in the list. Owns the form of the lines only; lines of another form are
 * no error, for start-up files may have left something that writes.
 */
#ifndef MUSTER_LAUNCHER_CORE_STATUS_LINE_H
#define MUSTER_LAUNCHER_CORE_STATUS_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* X(name, word, has a host, has a text) */
#define STATUS_KINDS(X)                                                                        \
    X(TRY, "try", false, true)                                                                 \
    X(LINKED, "linked", false, false)                                                          \
    X(UP, "up", true, false)                                                                   \
    X(STATE, "state", true, true)                                                              \
    X(UNREACHABLE, "unreachable", true, true)                                                  \
    X(FAILED, "failed", true, true)                                                            \
    X(ENDED, "ended", true, false)

#define X(name, ...) STATUS_##name,
enum status_kind { STATUS_KINDS(X) STATUS_KIND_COUNT };
#undef X

struct status_line {
    enum status_kind kind;
    uint32_t node;    /* of kinds with a host */
    const char *text; /* of kinds with a text; borrowed */
};

/* Appends the line with its end. Control characters of the text become blanks. */
void status_line_format(const struct status_line *s, struct buf *out);

/* line: without its end. False: none of these. The text points into line. */
bool status_line_parse(const char *line, struct status_line *out);

#endif
