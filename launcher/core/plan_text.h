/* plan_text.h - words that `muster plan` and other tables are put together from, for one node
 * and for a list of hosts. Appends text, decides nothing.
 */
#ifndef MUSTER_LAUNCHER_CORE_PLAN_TEXT_H
#define MUSTER_LAUNCHER_CORE_PLAN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "launcher/core/options.h"

enum { PLAN_NAME_WIDTH = 33 };

/* Arguments as a shell would have to read them, and the end of the line. */
void plan_text_words(char *const *words, struct buf *out);

/* A value on one line, without control characters, whatever is in it. */
void plan_text_value(const char *value, struct buf *out);

/* The name at the beginning of a line, and blanks up to where its value stands. */
void plan_text_name(const char *name, struct buf *out);

/* "where values came from": each option that was set and by what, the defaults of the others.
 */
void plan_text_origins(const struct options *opt, struct buf *out);

/* Words behind each other, broken at 100 columns and then indented. */
struct plan_wrap {
    struct buf *out;
    size_t column, indent;
    bool is_first;
};
struct plan_wrap plan_wrap_begin(struct buf *out, size_t column, size_t indent);
void plan_wrap_add(struct plan_wrap *w, const char *word);

#endif
