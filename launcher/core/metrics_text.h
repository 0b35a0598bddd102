/* metrics_text.h - Prometheus' text format, version 0.0.4, line by line. Pure.
 *
 * Source: "Exposition formats" in the documentation of Prometheus: a family is one block, HELP
 * and TYPE once and before its samples; a label's value escapes backslash, quote and newline,
 * HELP backslash and newline. A family without a sample leaves nothing.
 */
#ifndef MUSTER_LAUNCHER_CORE_METRICS_TEXT_H
#define MUSTER_LAUNCHER_CORE_METRICS_TEXT_H

#include "base/buf.h"
#include "launcher/core/event.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum metrics_type { METRICS_GAUGE, METRICS_COUNTER };

/* What a whole number counts: the value is shown in the base unit. */
enum metrics_unit {
    METRICS_ONE,
    METRICS_MILLI, /* thousandths: milliseconds, milliwatts, steps in 1000 s */
    METRICS_MIBI,  /* bytes, shown as MiB */
};

struct metrics_text {
    struct buf *out;
    const char *name, *help;
    enum metrics_type type;
    bool has_head; /* of this family */
    char mark;     /* before the next label */
};

/* The samples that follow are of this family. Texts are borrowed; name is one of the format's.
 */
void metrics_family(struct metrics_text *t, const char *name, enum metrics_type type,
                    const char *help);

/* A sample: begun, its labels one by one, its value. value NULL counts as "", bytes that are
 * not UTF-8 become '?'. */
void metrics_begin(struct metrics_text *t);
void metrics_label(struct metrics_text *t, const char *key, const char *value);
void metrics_label_number(struct metrics_text *t, const char *key, uint64_t value);
void metrics_end(struct metrics_text *t, uint64_t value, enum metrics_unit unit);

#endif
