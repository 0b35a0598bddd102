#include "launcher/core/man_text.h"

#include <stddef.h>
#include <string.h>

enum { WIDTH = 78 };

/* mandoc_char(7): ASCII that groff would print as something prettier. */
static const char *escape_of(char c, bool is_literal)
{
    switch (c) {
    case '\\':
        return "\\e";
    case '`':
        return "\\(ga";
    case '\'':
        return "\\(aq";
    case '^':
        return "\\(ha";
    case '~':
        return "\\(ti";
    case '-':
        return is_literal ? "\\-" : NULL;
    default:
        return NULL;
    }
}

void man_word(struct buf *out, struct str word, bool is_literal)
{
    for (size_t i = 0; i < word.n; i++) {
        const char *escape = escape_of(word.p[i], is_literal);
        if (escape)
            buf_adds(out, escape);
        else
            buf_addc(out, word.p[i]);
    }
}

/* The next word, blanks and line ends being one. False past the last. */
static bool next_word(struct str *rest, struct str *word)
{
    *rest = str_trim(*rest);
    size_t n = 0;
    while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\n')
        n++;
    *word = (struct str){rest->p, n};
    *rest = (struct str){rest->p + n, rest->n - n};
    return n > 0;
}

/* An option, also in quotes or brackets: --gpus, '-n, (-v: */
static bool is_option(struct str word)
{
    size_t i = 0;
    while (i < word.n && strchr("('`", word.p[i]))
        i++;
    return i + 1 < word.n && word.p[i] == '-';
}

static bool ends_sentence(struct str word)
{
    while (word.n && strchr("')", word.p[word.n - 1]))
        word.n--;
    return word.n > 1 && strchr(".!?", word.p[word.n - 1]) && word.p[word.n - 2] != '.';
}

/* `typed` is put between quotes; a pair may span words. */
static void add_quoted(struct buf *out, struct str word, bool *is_open)
{
    bool is_literal = is_option(word) || *is_open;
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] != '`') {
            man_word(out, (struct str){word.p + i, 1}, is_literal);
            continue;
        }
        buf_adds(out, *is_open ? "\\(cq" : "\\(oq");
        *is_open = !*is_open;
    }
}

static void add_paragraph(struct buf *out, struct str text)
{
    struct str word;
    size_t start = out->len; /* of the line */
    bool is_open = false, is_end = false;
    struct buf next;
    buf_init(&next, 0);
    while (next_word(&text, &word)) {
        buf_reset(&next);
        add_quoted(&next, word, &is_open);
        bool is_first = out->len == start;
        if (!is_first && (is_end || out->len - start + 1 + next.len > WIDTH)) {
            buf_addc(out, '\n');
            start = out->len;
            is_first = true;
        }
        buf_adds(out, !is_first ? " " : word.p[0] == '.' ? "\\&" : ""); /* no request */
        buf_adds(out, buf_str(&next));
        is_end = ends_sentence(word);
    }
    buf_fini(&next);
    buf_addc(out, '\n');
}

void man_text(struct buf *out, const char *text)
{
    for (bool is_first = true; *text; is_first = false) {
        const char *end = strstr(text, "\n\n");
        size_t n = end ? (size_t)(end - text) : strlen(text);
        if (!is_first)
            buf_adds(out, ".Pp\n");
        add_paragraph(out, (struct str){text, n});
        text += n + (end ? 2 : 0);
    }
}

void man_display(struct buf *out, const char *line)
{
    buf_adds(out, ".Bd -literal -offset indent\n");
    if (line[0] == '.' || line[0] == '\'')
        buf_adds(out, "\\&");
    man_word(out, str_from(line), true);
    buf_adds(out, "\n.Ed\n");
}
