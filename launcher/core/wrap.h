/* wrap.h - the words of --wrap: a profiler or debugger that is put before the program of a
 * rank.
 *
 * Splits a text into words as a shell would by its quotes alone: no expansion, no shell. %r
 * (rank), %l (local rank), %h (host), %j (job id) and %% are replaced everywhere, also between
 * quotes. Knows by name which debuggers talk to a person. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_WRAP_H
#define MUSTER_LAUNCHER_CORE_WRAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct wrap_fields {
    uint32_t rank, local_rank;
    const char *host, *job_id;
};

/* Whether text can be split and expanded. 0, or -1 with ERR_USAGE and the column (from 1) of
 * what is wrong: a quote that is not closed, a backslash at the end, an unknown %, no word. */
int wrap_check(const char *text, struct err *e);

/* The words of a text that wrap_check takes, then those of program; NULL-terminated. Blanks,
 * tabs and newlines part words; in '...' all stands as it is but %; in "..." a backslash keeps
 * its meaning before " and \ only; elsewhere it takes the next character as it is. Free with
 * wrap_free. */
char **wrap_build(const char *text, const struct wrap_fields *f, char *const *program);
void wrap_free(char **argv); /* NULL is fine */

/* The words alone, likewise. */
char **wrap_words(const char *text, const struct wrap_fields *f);

/* Whether argv is a debugger that reads commands from a terminal: gdb, cuda-gdb, rr or lldb, by
 * the last part of its path, without -batch or --batch before the program. */
bool wrap_is_interactive(char *const *argv);

#endif
