/* words.h - a fuzzer's input as a command line: words ended by NUL. Words before the first
 * empty one are the environment (NAME=VALUE), the others the arguments.
 */
#ifndef MUSTER_TESTS_FUZZ_WORDS_H
#define MUSTER_TESTS_FUZZ_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { WORDS_MAX = 64 }; /* of each kind; further ones are left out */

/* Both lists are NULL-terminated, the words owned. */
struct words {
    char *environment[WORDS_MAX + 1], *args[WORDS_MAX + 1];
};

static inline void words_split(const uint8_t *data, size_t size, struct words *w)
{
    size_t nenvironment = 0, nargs = 0;
    bool in_environment = true;
    *w = (struct words){{NULL}, {NULL}};
    while (size) {
        size_t n = strnlen((const char *)data, size);
        char *word = mem_alloc(n + 1, 1); /* of its own size: ASan sees a read past it */
        memcpy(word, data, n);
        if (in_environment && n == 0) {
            in_environment = false;
            free(word);
        } else if (in_environment && nenvironment < WORDS_MAX)
            w->environment[nenvironment++] = word;
        else if (!in_environment && nargs < WORDS_MAX)
            w->args[nargs++] = word;
        else
            free(word);
        n += n < size;
        data += n;
        size -= n;
    }
}

static inline void words_fini(struct words *w)
{
    for (char **word = w->environment; *word; word++)
        free(*word);
    for (char **word = w->args; *word; word++)
        free(*word);
}

#endif
