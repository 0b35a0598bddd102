/* option_words.h - what completions offer as the value of an option. Pure data.
 *
 * What is right, and what is wrong with the rest, says option_value.h.
 */
#ifndef MUSTER_LAUNCHER_CORE_OPTION_WORDS_H
#define MUSTER_LAUNCHER_CORE_OPTION_WORDS_H

#include "launcher/core/options.h"

/* The words that a value of this type may be, or often is; static, between blanks. NULL = none.
 */
const char *option_words(enum option_type type);

#endif
