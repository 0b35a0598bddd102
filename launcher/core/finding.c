#include "launcher/core/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "launcher/core/host_span.h"

static const struct {
    char letter;
    const char *name;
} levels[FINDING_LEVEL_COUNT] = {
    [FINDING_ERROR] = {'E', "error"},
    [FINDING_WARNING] = {'W', "warning"},
    [FINDING_NOTE] = {'N', "note"},
    [FINDING_UNKNOWN] = {'?', "unknown"},
};

char finding_level_letter(enum finding_level level)
{
    return levels[level].letter;
}

const char *finding_level_name(enum finding_level level)
{
    return levels[level].name;
}

static void finding_fini(struct finding *f)
{
    for (size_t i = 0; i < f->nwho; i++)
        free(f->who[i]);
    free(f->who);
    free(f->seen);
    free(f->symptom);
    free(f->fix);
}

void finding_list_fini(struct finding_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        finding_fini(&list->items[i]);
    free(list->items);
    *list = (struct finding_list){0};
}

/* A copy on one line. */
static char *one_line(const char *text)
{
    char *line = mem_strdup(text);
    for (char *p = line; *p; p++)
        if ((unsigned char)*p < ' ')
            *p = ' ';
    return line;
}

struct finding *finding_add(struct finding_list *list, const char *rule,
                            enum finding_level level, const char *symptom, const char *fix,
                            const char *fmt, ...)
{
    char seen[FINDING_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(seen, sizeof seen, fmt, args);
    va_end(args);
    array_grow(list->items, list->n, list->cap);
    struct finding *f = &list->items[list->n++];
    *f = (struct finding){.rule = rule,
                          .level = level,
                          .seen = one_line(seen),
                          .symptom = mem_strdup(symptom),
                          .fix = mem_strdup(fix)};
    return f;
}

void finding_set_fix(struct finding *f, const char *fmt, ...)
{
    char fix[FINDING_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(fix, sizeof fix, fmt, args);
    va_end(args);
    free(f->fix);
    f->fix = one_line(fix);
}

/* ---- who ---- */

static bool has(const struct finding *f, const char *name)
{
    for (size_t i = 0; i < f->nwho; i++)
        if (strcmp(f->who[i], name) == 0)
            return true;
    return false;
}

void finding_add_host(struct finding *f, const char *name)
{
    if (has(f, name))
        return;
    array_grow(f->who, f->nwho, f->cap_who);
    f->who[f->nwho++] = mem_strdup(name);
}

void finding_format_who(const struct finding *f, struct buf *out)
{
    struct host_span span = {0};
    for (size_t i = 0; i < f->nwho; i++)
        host_span_add(&span, f->who[i], out);
    host_span_end(&span, out);
}

/* ---- the list as a whole ---- */

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same(const struct finding *a, const struct finding *b)
{
    return strcmp(a->rule, b->rule) == 0 && a->level == b->level
           && a->is_difference == b->is_difference && is_same_text(a->seen, b->seen)
           && is_same_text(a->symptom, b->symptom) && is_same_text(a->fix, b->fix);
}

static struct finding *find_same(struct finding *items, size_t n, const struct finding *f)
{
    for (size_t i = 0; i < n; i++)
        if (is_same(&items[i], f))
            return &items[i];
    return NULL;
}

void finding_list_merge(struct finding_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++) {
        struct finding f = list->items[i];
        struct finding *first = find_same(list->items, kept, &f);
        if (!first) {
            list->items[kept++] = f;
            continue;
        }
        for (size_t k = 0; k < f.nwho; k++)
            finding_add_host(first, f.who[k]);
        finding_fini(&f);
    }
    list->n = kept;
}

static unsigned place(const struct finding *f)
{
    return (f->is_difference ? 0 : FINDING_LEVEL_COUNT) + (unsigned)f->level;
}

void finding_list_order(struct finding_list *list)
{
    for (size_t i = 1; i < list->n; i++) {
        struct finding f = list->items[i];
        size_t k = i;
        for (; k > 0 && place(&list->items[k - 1]) > place(&f); k--)
            list->items[k] = list->items[k - 1];
        list->items[k] = f;
    }
}

void finding_list_harden(struct finding_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].level == FINDING_WARNING)
            list->items[i].level = FINDING_ERROR;
}

size_t finding_list_count(const struct finding_list *list, enum finding_level level)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        n += list->items[i].level == level;
    return n;
}

int finding_list_status(const struct finding_list *list)
{
    return finding_list_count(list, FINDING_ERROR) ? err_exit_status(ERR_PREFLIGHT) : 0;
}

/* ---- text ---- */

void finding_format(const struct finding *f, struct buf *out)
{
    buf_addf(out, "%c %s  ", finding_level_letter(f->level), f->rule);
    finding_format_who(f, out);
    buf_addf(out, "%s%s\n", f->nwho ? ": " : "", f->seen);
    if (f->symptom)
        buf_addf(out, "    leads to: %s\n", f->symptom);
    if (f->fix)
        buf_addf(out, "    fix: %s\n", f->fix);
}

static void add_member(struct buf *out, const char *name, const char *value)
{
    buf_addf(out, ", \"%s\": ", name);
    if (value)
        buf_add_json(out, value, strlen(value));
    else
        buf_adds(out, "null");
}

static void add_hosts(const struct finding *f, struct buf *out)
{
    buf_adds(out, ", \"hosts\": [");
    for (size_t i = 0; i < f->nwho; i++) {
        buf_adds(out, i ? ", " : "");
        buf_add_json(out, f->who[i], strlen(f->who[i]));
    }
    buf_addc(out, ']');
}

static void add_finding(const struct finding *f, struct buf *out)
{
    buf_addf(out, "{\"rule\": \"%s\", \"level\": \"%s\", \"difference\": %s", f->rule,
             finding_level_name(f->level), f->is_difference ? "true" : "false");
    add_hosts(f, out);
    add_member(out, "seen", f->seen);
    add_member(out, "symptom", f->symptom);
    add_member(out, "fix", f->fix);
    buf_addc(out, '}');
}

void finding_list_json(const struct finding_list *list, struct buf *out)
{
    buf_addc(out, '[');
    for (size_t i = 0; i < list->n; i++) {
        buf_adds(out, i ? ", " : "");
        add_finding(&list->items[i], out);
    }
    buf_addc(out, ']');
}
