/* tsv.h - the text format of the tables in tests/vectors, for tests: TAB-separated columns, "#"
 * lines, \N (absent) and \e (empty), escapes up to \xHH.
 *
 * Owns lines and fields. Which columns there are, and who keeps the rows, is its callers'. Ends
 * the test program on any trouble.
 */
#ifndef MUSTER_TESTS_UNIT_TSV_H
#define MUSTER_TESTS_UNIT_TSV_H

#include <stdbool.h>
#include <stdio.h>

#include "base/str.h"

/* Says what is wrong with the tables and ends the program. */
_Noreturn void tsv_die(const char *what, const char *detail);

/* Opens TESTS_DIR/vectors/<folder>/<name>. The caller closes it. */
FILE *tsv_open(const char *folder, const char *name);

/* Reads the next line with content into *line, which getline() grows; false at the end. */
bool tsv_next(FILE *file, char **line, size_t *cap);

/* Cuts the line at each byte of sep, in place. Returns how many parts, at most max. */
int tsv_split(char *line, const char *sep, char **parts, int max);

/* Decodes a field in place, NUL behind it; p is NULL for \N. */
struct str tsv_decode(char *field);

#endif
