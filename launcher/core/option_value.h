/* option_value.h - the value of an option: from text into struct options, and back.
 *
 * Owns what is right for each type of value, and the words that say so. Which options there
 * are, and who set which, is options.h's; which may stand together, option_checks.h's.
 */
#ifndef MUSTER_LAUNCHER_CORE_OPTION_VALUE_H
#define MUSTER_LAUNCHER_CORE_OPTION_VALUE_H

#include "launcher/core/option_row.h"

/* Sets the row's value. text is borrowed where the value is text. where: how the user spelled
 * the option, for messages. 0, or -1 with ERR_USAGE: what was wrong and what would be right. */
int option_value_set(struct options *opt, const struct option_row *row, const char *where,
                     const char *text, struct err *e);

/* Appends the value as the command line would spell it; nothing where there is none. is_given:
 * something but the default has set it. */
void option_value_format(const struct options *opt, const struct option_row *row, bool is_given,
                         struct buf *out);

#endif
