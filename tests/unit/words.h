/* words.h - a command line of a test, as one text. */
#ifndef MUSTER_TESTS_UNIT_WORDS_H
#define MUSTER_TESTS_UNIT_WORDS_H

#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 32 };

/* items points into line, NULL-terminated. */
struct words {
    char line[512], *items[WORDS_MAX + 1];
};

/* Splits text at blanks. What is too long for a test is cut. */
static inline char **words_split(struct words *w, const char *text)
{
    size_t n = 0;
    char *save = NULL;
    snprintf(w->line, sizeof w->line, "%s", text);
    for (char *word = strtok_r(w->line, " ", &save); word && n < WORDS_MAX;
         word = strtok_r(NULL, " ", &save))
        w->items[n++] = word;
    w->items[n] = NULL;
    return w->items;
}

#endif
