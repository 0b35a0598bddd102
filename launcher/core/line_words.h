/* line_words.h - whether a line has one of the words of torchrun's --duplicate-stdout-filters:
 * "apple,orange", where ",," is a comma. A word is any run of bytes, not a word of a language.
 * Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_LINE_WORDS_H
#define MUSTER_LAUNCHER_CORE_LINE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* An empty word is in every line. */
bool line_words_match(const char *words, const char *line, size_t n);

#endif
