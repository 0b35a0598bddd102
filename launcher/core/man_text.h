/* man_text.h - text of the tables as mdoc(7) takes it. Pure. */
#ifndef MUSTER_LAUNCHER_CORE_MAN_TEXT_H
#define MUSTER_LAUNCHER_CORE_MAN_TEXT_H

#include "base/buf.h"
#include "base/str.h"

/* Appends one word: what roff would read as something else is escaped. is_literal: it is typed
 * as it stands, so its dashes are no hyphens. */
void man_word(struct buf *out, struct str word, bool is_literal);

/* Appends paragraphs, an empty line between two of them, as text lines: filled, each sentence
 * on a line of its own, `typed` in quotes. */
void man_text(struct buf *out, const char *text);

/* Appends lines as they stand, indented, after a paragraph break. */
void man_display(struct buf *out, const char *line);

#endif
