#include "launcher/core/prefix.h"

#include <assert.h>
#include <string.h>

enum field { FIELD_RANK, FIELD_LOCAL_RANK, FIELD_HOST, FIELD_TIME, FIELD_COUNT };

static const char *const names[] = {
    [FIELD_RANK] = "{rank}",
    [FIELD_LOCAL_RANK] = "{local_rank}",
    [FIELD_HOST] = "{host}",
    [FIELD_TIME] = "{time}",
};
static_assert(sizeof names / sizeof names[0] == FIELD_COUNT, "one name a field");

/* cyan, yellow, green, magenta, blue, red: red last, so that few see errors where none are */
static const unsigned colours[] = {36, 33, 32, 35, 34, 31};

/* The {name} that p begins with; empty if it is none. */
static struct str name_at(const char *p)
{
    size_t n = *p == '{' ? 1 + strspn(p + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;
    return n > 1 && p[n] == '}' ? (struct str){p, n + 1} : (struct str){p, 0};
}

static enum field field_find(struct str name)
{
    int i = 0;
    while (i < FIELD_COUNT && !str_eq(name, names[i]))
        i++;
    return (enum field)i;
}

struct str prefix_unknown(const char *template)
{
    for (; *template; template ++) {
        struct str name = name_at(template);
        if (name.n && field_find(name) == FIELD_COUNT)
            return name;
    }
    return (struct str){template, 0};
}

bool prefix_has_time(const char *template)
{
    return strstr(template, names[FIELD_TIME]) != NULL;
}

static void field_format(enum field field, const struct prefix_fields *f, struct buf *out)
{
    switch (field) {
    case FIELD_RANK:
        buf_addf(out, "%u", f->rank);
        return;
    case FIELD_LOCAL_RANK:
        buf_addf(out, "%u", f->local_rank);
        return;
    case FIELD_HOST:
        buf_adds(out, f->host);
        return;
    case FIELD_TIME:
        buf_adds(out, f->time);
        return;
    case FIELD_COUNT:
        return;
    }
}

void prefix_format(const char *template, const struct prefix_fields *fields, struct buf *out)
{
    if (fields->has_colour)
        buf_addf(out, "\033[%um", colours[fields->rank % (sizeof colours / sizeof *colours)]);
    while (*template) {
        struct str name = name_at(template);
        enum field field = field_find(name);
        if (field == FIELD_COUNT) {
            buf_addc(out, *template ++);
        } else {
            field_format(field, fields, out);
            template += name.n;
        }
    }
    if (fields->has_colour)
        buf_adds(out, "\033[0m");
}

/* ---- torchrun's templates ---- */

enum macro { MACRO_ROLE_NAME, MACRO_LOCAL_RANK, MACRO_RANK, MACRO_HOSTNAME, MACRO_COUNT };

static const char *const macros[] = {
    [MACRO_ROLE_NAME] = "role_name",
    [MACRO_LOCAL_RANK] = "local_rank",
    [MACRO_RANK] = "rank",
    [MACRO_HOSTNAME] = "hostname",
};
static_assert(sizeof macros / sizeof macros[0] == MACRO_COUNT, "one name a macro");

static const char name_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789_";

/* The known macro behind the "$" that p points to, and how long it is with all its marks. */
static enum macro macro_at(const char *p, size_t *n)
{
    bool is_braced = p[1] == '{';
    struct str name = {p + 1 + is_braced, 0};
    name.n = strspn(name.p, name_chars);
    *n = 1 + name.n + 2u * is_braced;
    if (is_braced && name.p[name.n] != '}')
        return MACRO_COUNT;
    int i = 0;
    while (i < MACRO_COUNT && !str_eq(name, macros[i]))
        i++;
    return (enum macro)i;
}

static void macro_format(enum macro macro, const struct prefix_fields *f, const char *role,
                         struct buf *out)
{
    switch (macro) {
    case MACRO_ROLE_NAME:
        buf_adds(out, role);
        return;
    case MACRO_LOCAL_RANK:
        buf_addf(out, "%u", f->local_rank);
        return;
    case MACRO_RANK:
        buf_addf(out, "%u", f->rank);
        return;
    case MACRO_HOSTNAME:
        buf_adds(out, f->host);
        return;
    case MACRO_COUNT:
        return;
    }
}

void prefix_dollar_format(const char *template, const struct prefix_fields *fields,
                          const char *role, struct buf *out)
{
    while (*template) {
        size_t n = 1;
        enum macro macro = *template == '$' ? macro_at(template, &n) : MACRO_COUNT;
        if (macro != MACRO_COUNT) {
            macro_format(macro, fields, role, out);
            template += n;
        } else {
            buf_addc(out, *template);
            template += template[0] == '$' && template[1] == '$' ? 2 : 1;
        }
    }
}
