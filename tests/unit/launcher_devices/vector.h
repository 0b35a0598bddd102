/* vector.h - reading the tables of tests/vectors/devices in tests.
 *
 * Columns are found by name, in all rows; lists; the text format is tsv.h's. Not for product
 * code.
 */
#ifndef MUSTER_TESTS_UNIT_LAUNCHER_DEVICES_VECTOR_H
#define MUSTER_TESTS_UNIT_LAUNCHER_DEVICES_VECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/core/device.h"

enum { VECTOR_COLUMNS = 32, VECTOR_LIST = 64 };

struct vector_row {
    char *line; /* owned text behind fields */
    char *fields[VECTOR_COLUMNS];
};

struct vector {
    char *header;
    const char *names[VECTOR_COLUMNS];
    int ncolumns, nrows;
    struct vector_row rows[160];
};

/* Reads TESTS_DIR/vectors/devices/<name>; ends the test program on any trouble. */
struct vector *vector_open(const char *name);
void vector_close(struct vector *v);

/* A scalar column, decoded; NULL for \N. */
const char *vector_get(const struct vector *v, int row, const char *column);
int vector_int(const struct vector *v, int row, const char *column, int absent);

/* A list column: fills out with decoded elements (NULL for \N), returns how many; \e gives 0.
 * The whole list \N gives -1. sep '|' columns are by rank: there \N and \e are one element, so
 * by_rank says not to read them as a missing or empty list. The elements stay valid until
 * vector_close. */
int vector_list(const struct vector *v, int row, const char *column, char sep, bool by_rank,
                const char *out[VECTOR_LIST]);

/* The inventory of that name in inventories.json; ends the program if there is none. */
struct inventory vector_inventory(const char *name);

#endif
