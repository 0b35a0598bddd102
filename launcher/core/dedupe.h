/* dedupe.h - equal lines of several streams become one with a count.
 *
 * A line is held for a short window, in the order in which lines came; the same line of another
 * stream joins it. The lines of one stream keep their order, and no line of a stream is counted
 * twice in one place. Bounded in lines and bytes. Pure: the time is passed in.
 */
#ifndef MUSTER_LAUNCHER_CORE_DEDUPE_H
#define MUSTER_LAUNCHER_CORE_DEDUPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum {
    DEDUPE_WINDOW_MS = 200,
    DEDUPE_LINES_MAX = 256,
    DEDUPE_SLOTS = 2 * DEDUPE_LINES_MAX,
    DEDUPE_BYTES_MAX = 64 * 1024,
};

/* One stream. */
struct dedupe_source {
    uint64_t last; /* number of the line that it last joined; 0 = none yet */
};

struct dedupe_line {
    uint64_t number, since_ms, hash;
    uint32_t count;         /* how many streams wrote it */
    struct buf label, text; /* of the first of them; the line with its end */
};

struct dedupe {
    struct dedupe_line *lines[DEDUPE_SLOTS]; /* by number, modulo their count */
    uint64_t numbers;                        /* of lines so far: that of the newest */
    size_t nlines, nbytes;                   /* that are held */
};

/* The caller's memory; what is held at the end is lost. */
void dedupe_init(struct dedupe *d);
void dedupe_fini(struct dedupe *d);

/* label: what stands before the line if it stays alone. What dedupe_due names has been written
 * and dropped before the next line is added, so that the bounds hold. */
void dedupe_add(struct dedupe *d, struct dedupe_source *source, const char *label,
                const char *p, size_t n, uint64_t now_ms);

/* Appends the line as it is shown: with its label, or as "x7: line". */
void dedupe_line_format(const struct dedupe_line *line, struct buf *out);

/* The line to be written now, NULL if none: its window is over, all nsources (0 = unknown) have
 * written it, or too much is held. It stays the first until dedupe_drop. */
const struct dedupe_line *dedupe_due(const struct dedupe *d, uint32_t nsources,
                                     uint64_t now_ms);

/* The oldest line, whatever the time; NULL if none is held. */
const struct dedupe_line *dedupe_first(const struct dedupe *d);

/* Forgets the oldest line, once it was written; there must be one. */
void dedupe_drop(struct dedupe *d);

/* When the next window is over; UINT64_MAX if nothing is held. */
uint64_t dedupe_deadline(const struct dedupe *d);

#endif
