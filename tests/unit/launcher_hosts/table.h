/* table.h - reading the tables of tests/vectors/hostfile in tests.
 *
 * Columns are found by name, one row at a time; the text format is tsv.h's. Not for product
 * code.
 */
#ifndef MUSTER_TESTS_UNIT_LAUNCHER_HOSTS_TABLE_H
#define MUSTER_TESTS_UNIT_LAUNCHER_HOSTS_TABLE_H

#include <stdbool.h>

#include "base/str.h"

struct table;

/* Reads TESTS_DIR/vectors/hostfile/<name>; ends the test program on any trouble. */
struct table *table_open(const char *name);
void table_close(struct table *t);

/* Goes to the next row, the first at the first call; false behind the last. */
bool table_next(struct table *t);

/* A column of the present row, decoded, NUL behind it; p is NULL for \N. Valid until the next
 * row. */
struct str table_bytes(struct table *t, const char *column);
const char *table_text(struct table *t, const char *column);
int table_int(struct table *t, const char *column, int absent);

#endif
