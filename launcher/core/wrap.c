#include "launcher/core/wrap.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

struct splitter {
    const char *text, *at;
    const struct wrap_fields *fields; /* NULL: only look whether it is right */
    struct buf word;
    bool is_word; /* one has begun, be it empty */
    char **words;
    size_t nwords, cap;
};

static int wrong(const struct splitter *s, const char *at, const char *what, struct err *e)
{
    return err_set(e, ERR_USAGE, "--wrap: column %zu: %s", (size_t)(at - s->text) + 1, what);
}

static void add_field(struct splitter *s, char name)
{
    const struct wrap_fields *f = s->fields;
    if (name == '%')
        buf_addc(&s->word, '%');
    else if (f && name == 'r')
        buf_addf(&s->word, "%u", f->rank);
    else if (f && name == 'l')
        buf_addf(&s->word, "%u", f->local_rank);
    else if (f)
        buf_adds(&s->word, name == 'h' ? f->host : f->job_id);
}

/* One character or one %x at s->at. */
static int add_one(struct splitter *s, struct err *e)
{
    if (*s->at != '%') {
        buf_addc(&s->word, *s->at++);
        return 0;
    }
    char name = s->at[1];
    if (!name || !strchr("rlhj%", name))
        return wrong(s, s->at,
                     "only %r (rank), %l (local rank), %h (host), %j (job id) and %% are known",
                     e);
    add_field(s, name);
    s->at += 2;
    return 0;
}

/* From the opening quote to behind the closing one. */
static int add_quoted(struct splitter *s, struct err *e)
{
    const char *open = s->at++;
    while (*s->at && *s->at != *open) {
        if (*open == '"' && *s->at == '\\' && (s->at[1] == '"' || s->at[1] == '\\'))
            buf_addc(&s->word, (s->at += 2)[-1]);
        else if (add_one(s, e) < 0)
            return -1;
    }
    if (!*s->at)
        return wrong(s, open, *open == '"' ? "this \" is not closed" : "this ' is not closed",
                     e);
    s->at++;
    return 0;
}

static int add_part(struct splitter *s, struct err *e)
{
    s->is_word = true;
    if (*s->at == '\'' || *s->at == '"')
        return add_quoted(s, e);
    if (*s->at != '\\')
        return add_one(s, e);
    if (!s->at[1])
        return wrong(s, s->at, "nothing follows this backslash", e);
    buf_addc(&s->word, s->at[1]);
    s->at += 2;
    return 0;
}

static void end_word(struct splitter *s)
{
    if (!s->is_word)
        return;
    array_grow(s->words, s->nwords, s->cap);
    s->words[s->nwords++] = mem_strdup(buf_str(&s->word));
    buf_reset(&s->word);
    s->is_word = false;
}

static int split(struct splitter *s, struct err *e)
{
    while (*s->at) {
        if (strchr(" \t\n", *s->at)) {
            end_word(s);
            s->at++;
        } else if (add_part(s, e) < 0) {
            return -1;
        }
    }
    end_word(s);
    return s->nwords ? 0 : wrong(s, s->text, "there is no word in it", e);
}

/* Takes the words; NULL-terminated. */
static char **finish(struct splitter *s)
{
    array_grow(s->words, s->nwords, s->cap);
    s->words[s->nwords] = NULL;
    buf_fini(&s->word);
    return s->words;
}

int wrap_check(const char *text, struct err *e)
{
    struct splitter s = {.text = text, .at = text};
    buf_init(&s.word, 0);
    int rc = split(&s, e);
    wrap_free(finish(&s));
    return rc;
}

char **wrap_words(const char *text, const struct wrap_fields *f)
{
    struct splitter s = {.text = text, .at = text, .fields = f};
    buf_init(&s.word, 0);
    struct err e;
    split(&s, &e); /* checked before */
    return finish(&s);
}

char **wrap_build(const char *text, const struct wrap_fields *f, char *const *program)
{
    char **words = wrap_words(text, f);
    size_t nwords = 0, nprogram = 0;
    while (words[nwords])
        nwords++;
    while (program[nprogram])
        nprogram++;
    words = mem_realloc(words, nwords + nprogram + 1, sizeof *words);
    for (size_t i = 0; i <= nprogram; i++)
        words[nwords + i] = program[i] ? mem_strdup(program[i]) : NULL;
    return words;
}

void wrap_free(char **argv)
{
    for (char **word = argv; word && *word; word++)
        free(*word);
    free(argv);
}

bool wrap_is_interactive(char *const *argv)
{
    static const char *const names[] = {"gdb", "cuda-gdb", "lldb", "rr"};
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    bool is_debugger = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is_debugger = is_debugger || strcmp(name, names[i]) == 0;
    for (char *const *word = argv + 1; is_debugger && *word; word++)
        if (strcmp(*word, "-batch") == 0 || strcmp(*word, "--batch") == 0)
            return false;
    return is_debugger;
}
