/* ask_record.h - what an agent gets down its standard input instead of a boot record when it is
 * to answer a question and be gone: `muster gpus` over hosts.
 *
 *   muster-ask=SIZE        of what follows the empty line, in bytes
 *
 *   a message of the kind SETUP (link_wire.h): the command line, variables, slots
 *
 * The answer comes up its standard output, after its first words: lines "answer TEXT", then
 * "answered STATUS". It stays until its standard input ends.
 */
#ifndef MUSTER_LAUNCHER_CORE_ASK_RECORD_H
#define MUSTER_LAUNCHER_CORE_ASK_RECORD_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Appends the record. setup: a message of at most LINK_WIRE_MAX bytes. */
void ask_record_encode(struct str setup, struct buf *out);

/* got: the beginning of a record, with its empty line. Whether it is one of these. */
bool ask_record_is(struct str got);

/* The same: *length = bytes of the whole record, *setup = the part of got that has the message,
 * as far as it is there. 0, or -1 with ERR_PROTOCOL. */
int ask_record_parse(struct str got, size_t *length, struct str *setup, struct err *e);

/* A line of the agent's. TEXT of "answer TEXT" into *text: true. "answered STATUS": true, text
 * with p NULL, and the status of a process. Else false. */
bool ask_record_answer(const char *line, const char **text, int *status);

#endif
