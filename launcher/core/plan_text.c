#include "launcher/core/plan_text.h"

#include <string.h>

#include "base/str.h"

enum { WIDTH = 100 };

/* An argument as a shell would have to read it. */
static void add_word(const char *word, struct buf *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789%+,-./:=@_";
    if (*word && !word[strspn(word, plain)]) {
        buf_adds(out, word);
        return;
    }
    buf_addc(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buf_adds(out, "'\\''");
        else
            buf_addc(out, *word);
    }
    buf_addc(out, '\'');
}

void plan_text_value(const char *value, struct buf *out)
{
    for (; *value; value++)
        buf_addc(out, (unsigned char)*value < ' ' || *value == 0x7f ? '?' : *value);
}

struct plan_wrap plan_wrap_begin(struct buf *out, size_t column, size_t indent)
{
    return (struct plan_wrap){out, column, indent, true};
}

void plan_wrap_add(struct plan_wrap *w, const char *word)
{
    size_t n = strlen(word);
    if (!w->is_first && w->column + 2 + n > WIDTH) {
        buf_addf(w->out, ",\n%*s", (int)w->indent, "");
        w->column = w->indent;
    } else if (!w->is_first) {
        buf_adds(w->out, ", ");
        w->column += 2;
    }
    w->is_first = false;
    plan_text_value(word, w->out);
    w->column += n;
}

void plan_text_words(char *const *words, struct buf *out)
{
    for (; *words; words++) {
        add_word(*words, out);
        buf_addc(out, words[1] ? ' ' : '\n');
    }
}

void plan_text_name(const char *name, struct buf *out)
{
    buf_addf(out, "  %-*s", PLAN_NAME_WIDTH, name);
    if (strlen(name) >= PLAN_NAME_WIDTH)
        buf_addc(out, ' ');
}

/* ---- where values came from ---- */

static bool is_set(const struct options *opt, int id)
{
    return opt->origin[id] != ORIGIN_DEFAULT && id != OPTION_HELP;
}

static void add_set_option(const struct options *opt, enum option_id id, struct buf *out)
{
    struct buf left, from;
    buf_init(&left, 0);
    buf_init(&from, 0);
    buf_addf(&left, "--%s ", options_name(id));
    options_value_format(opt, id, &left);
    options_origin_format(opt, id, &from);
    plan_text_name(buf_str(&left), out);
    buf_addf(out, "%s\n", buf_str(&from));
    buf_fini(&left);
    buf_fini(&from);
}

void plan_text_origins(const struct options *opt, struct buf *out)
{
    buf_adds(out, "\nwhere values came from\n");
    for (int id = 0; id < OPTION_ID_COUNT; id++)
        if (is_set(opt, id))
            add_set_option(opt, (enum option_id)id, out);
    buf_adds(out, "  defaults: ");
    struct plan_wrap w = plan_wrap_begin(out, 12, 4);
    for (int id = 0; id < OPTION_ID_COUNT; id++) {
        if (is_set(opt, id) || id == OPTION_HELP || id == OPTION_JSON)
            continue;
        struct buf word;
        buf_init(&word, 0);
        buf_addf(&word, "%s ", options_name((enum option_id)id));
        size_t n = word.len;
        options_value_format(opt, (enum option_id)id, &word);
        if (word.len == n)
            buf_adds(&word, "-");
        plan_wrap_add(&w, buf_str(&word));
        buf_fini(&word);
    }
    buf_addc(out, '\n');
}
