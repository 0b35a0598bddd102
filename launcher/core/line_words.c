#include "launcher/core/line_words.h"

#include <string.h>

#include "base/buf.h"

/* Takes the next word from *rest, which is NULL after the last one. */
static void next_word(const char **rest, struct buf *word)
{
    buf_reset(word);
    for (const char *p = *rest;; p++) {
        if (!*p || (*p == ',' && p[1] != ',')) {
            *rest = *p ? p + 1 : NULL;
            return;
        }
        p += *p == ',';
        buf_addc(word, *p);
    }
}

bool line_words_match(const char *words, const char *line, size_t n)
{
    struct buf word;
    buf_init(&word, 0);
    bool is_in = false;
    while (words && !is_in) {
        next_word(&words, &word);
        is_in = !word.len || memmem(line, n, word.data, word.len) != NULL;
    }
    buf_fini(&word);
    return is_in;
}
