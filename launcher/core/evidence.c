#include "launcher/core/evidence.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum field_type { FIELD_NUMBER, FIELD_TEXT };

struct field {
    const char *name;
    enum field_type type;
    size_t offset;
};

struct list_row {
    const char *name, *item;
    const struct field *fields;
    size_t nfields, size, offset; /* size of an item; the list within struct host_evidence */
};

#define X(type, name, meaning) {#name, FIELD_##type, offsetof(struct host_evidence, name)},
static const struct field host_fields[] = {EVIDENCE_HOST(X)};
#undef X

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define X(type, member, meaning) {#member, FIELD_##type, offsetof(struct evidence_gpu, member)},
static const struct field gpus_fields[] = {EVIDENCE_GPU(X)};
#undef X
#define X(type, member, meaning)                                                               \
    {#member, FIELD_##type, offsetof(struct evidence_pair, member)},
static const struct field pairs_fields[] = {EVIDENCE_PAIR(X)};
#undef X
#define X(type, member, meaning) {#member, FIELD_##type, offsetof(struct evidence_bus, member)},
static const struct field buses_fields[] = {EVIDENCE_BUS(X)};
#undef X
#define X(type, member, meaning)                                                               \
    {#member, FIELD_##type, offsetof(struct evidence_place, member)},
static const struct field places_fields[] = {EVIDENCE_PLACE(X)};
#undef X
#define X(type, member, meaning)                                                               \
    {#member, FIELD_##type, offsetof(struct evidence_address, member)},
static const struct field addresses_fields[] = {EVIDENCE_ADDRESS(X)};
#undef X
#define X(type, member, meaning)                                                               \
    {#member, FIELD_##type, offsetof(struct evidence_setting, member)},
static const struct field settings_fields[] = {EVIDENCE_SETTING(X)};
#undef X
#define X(type, member, meaning)                                                               \
    {#member, FIELD_##type, offsetof(struct evidence_name, member)},
static const struct field names_fields[] = {EVIDENCE_NAME(X)};
#undef X
#define X(type, member, meaning)                                                               \
    {#member, FIELD_##type, offsetof(struct evidence_reach, member)},
static const struct field reaches_fields[] = {EVIDENCE_REACH(X)};
#undef X
#define X(type, member, meaning) {#member, FIELD_##type, offsetof(struct evidence_hca, member)},
static const struct field hcas_fields[] = {EVIDENCE_HCA(X)};
#undef X
#define X(type, member, meaning)                                                               \
    {#member, FIELD_##type, offsetof(struct evidence_port, member)},
static const struct field ports_fields[] = {EVIDENCE_PORT(X)};
#undef X
#define X(type, member, meaning) {#member, FIELD_##type, offsetof(struct evidence_gid, member)},
static const struct field gids_fields[] = {EVIDENCE_GID(X)};
#undef X
#define X(type, member, meaning)                                                               \
    {#member, FIELD_##type, offsetof(struct evidence_channel, member)},
static const struct field channels_fields[] = {EVIDENCE_CHANNEL(X)};
#undef X

static const struct list_row lists[] = {
#define X(list, item, fields)                                                                  \
    {#list,                                                                                    \
     #item,                                                                                    \
     list##_fields,                                                                            \
     COUNT(list##_fields),                                                                     \
     sizeof(struct evidence_##item),                                                           \
     offsetof(struct host_evidence, list)},
    EVIDENCE_LISTS(X)
#undef X
};

enum { ITEMS_MAX = 4096 }; /* of a list that comes from elsewhere */

static struct evidence_list *list_of(const struct list_row *row, struct host_evidence *ev)
{
    return (struct evidence_list *)((char *)ev + row->offset);
}

static void *add_item(struct evidence_list *list, size_t size)
{
    mem_grow(&list->items, list->n, &list->cap, size);
    list->is_known = true;
    return memset((char *)list->items + list->n++ * size, 0, size);
}

#define X(list, item, fields)                                                                  \
    struct evidence_##item *evidence_##item##_at(const struct host_evidence *ev, size_t i)     \
    {                                                                                          \
        return (struct evidence_##item *)ev->list.items + i;                                   \
    }                                                                                          \
    struct evidence_##item *evidence_##item##_add(struct host_evidence *ev)                    \
    {                                                                                          \
        return add_item(&ev->list, sizeof(struct evidence_##item));                            \
    }
EVIDENCE_LISTS(X)
#undef X

/* ---- life ---- */

static char **text_at(void *record, const struct field *f)
{
    return (char **)(void *)((char *)record + f->offset);
}

static struct evidence_number *number_at(void *record, const struct field *f)
{
    return (struct evidence_number *)(void *)((char *)record + f->offset);
}

static void free_texts(void *record, const struct field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fields[i].type == FIELD_TEXT)
            free(*text_at(record, &fields[i]));
}

void evidence_clear(struct host_evidence *ev)
{
    for (size_t k = 0; k < COUNT(lists); k++) {
        struct evidence_list *list = list_of(&lists[k], ev);
        for (size_t i = 0; i < list->n; i++)
            free_texts((char *)list->items + i * lists[k].size, lists[k].fields,
                       lists[k].nfields);
        free(list->items);
    }
    free_texts(ev, host_fields, COUNT(host_fields));
    *ev = (struct host_evidence){0};
}

void evidence_set(struct evidence_number *field, int64_t value)
{
    *field = (struct evidence_number){true, value};
}

void evidence_set_text(char **field, const char *text)
{
    free(*field);
    *field = mem_strdup(text);
    if (*field)
        (*field)[strcspn(*field, "\n")] = '\0';
}

bool evidence_is(const struct evidence_number *field, int64_t value)
{
    return field->is_known && field->value == value;
}

const struct evidence_setting *evidence_setting_find(const struct host_evidence *ev,
                                                     const char *name)
{
    for (size_t i = 0; i < ev->settings.n; i++) {
        const struct evidence_setting *s = evidence_setting_at(ev, i);
        if (s->name && strcmp(s->name, name) == 0)
            return s;
    }
    return NULL;
}

const char *evidence_setting(const struct host_evidence *ev, const char *name)
{
    const struct evidence_setting *s = evidence_setting_find(ev, name);
    return s ? s->value : NULL;
}

/* ---- text ---- */

static void format_fields(void *record, const struct field *fields, size_t n,
                          const char *prefix, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct evidence_number *number = number_at(record, &fields[i]);
        if (fields[i].type == FIELD_NUMBER && number->is_known)
            buf_addf(out, "%s%s=%lld\n", prefix, fields[i].name, (long long)number->value);
        if (fields[i].type == FIELD_TEXT && *text_at(record, &fields[i]))
            buf_addf(out, "%s%s=%s\n", prefix, fields[i].name, *text_at(record, &fields[i]));
    }
}

void evidence_format(const struct host_evidence *ev, struct buf *out)
{
    struct host_evidence *record = (struct host_evidence *)(uintptr_t)ev;
    format_fields(record, host_fields, COUNT(host_fields), "", out);
    for (size_t k = 0; k < COUNT(lists); k++) {
        const struct evidence_list *list = list_of(&lists[k], record);
        if (list->is_known)
            buf_addf(out, "%s=%zu\n", lists[k].name, list->n);
        for (size_t i = 0; i < list->n; i++) {
            char *prefix = mem_printf("%s.%zu.", lists[k].item, i);
            format_fields((char *)list->items + i * lists[k].size, lists[k].fields,
                          lists[k].nfields, prefix, out);
            free(prefix);
        }
    }
}

static int parse_number(struct str s, int64_t *out)
{
    bool is_negative = s.n > 1 && *s.p == '-';
    uint64_t n;
    if (is_negative)
        s = (struct str){s.p + 1, s.n - 1};
    if (str_parse_u64(s, 0, INT64_MAX, &n) < 0)
        return -1;
    *out = is_negative ? -(int64_t)n : (int64_t)n;
    return 0;
}

/* 0 also for a key that is not known. */
static int set_field(void *record, const struct field *fields, size_t n, struct str key,
                     struct str value)
{
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(key, fields[i].name))
            continue;
        if (fields[i].type == FIELD_NUMBER) {
            struct evidence_number *number = number_at(record, &fields[i]);
            number->is_known = parse_number(value, &number->value) == 0;
            return number->is_known ? 0 : -1;
        }
        char **text = text_at(record, &fields[i]);
        free(*text);
        *text = mem_printf("%.*s", STR_ARG(value));
    }
    return 0;
}

/* "gpu.0.uuid": of an item that is there, or the next one. */
static int set_item(struct host_evidence *ev, struct str key, struct str value)
{
    struct str rest = key, item, place;
    uint64_t i;
    if (!str_split(&rest, '.', &item) || !str_split(&rest, '.', &place) || !rest.p)
        return 0;
    for (size_t k = 0; k < COUNT(lists); k++) {
        struct evidence_list *list = list_of(&lists[k], ev);
        if (!str_eq(item, lists[k].item))
            continue;
        if (str_parse_u64(place, 0, ITEMS_MAX - 1, &i) < 0 || i > list->n)
            return -1;
        if (i == list->n)
            add_item(list, lists[k].size);
        return set_field((char *)list->items + i * lists[k].size, lists[k].fields,
                         lists[k].nfields, rest, value);
    }
    return 0;
}

/* "gpus=2": also items of which nothing is known. */
static int set_length(struct evidence_list *list, size_t size, struct str value)
{
    uint64_t n;
    if (str_parse_u64(value, 0, ITEMS_MAX, &n) < 0)
        return -1;
    list->is_known = true;
    while (list->n < n)
        add_item(list, size);
    return 0;
}

static int set_line(struct host_evidence *ev, struct str key, struct str value)
{
    if (memchr(key.p, '.', key.n))
        return set_item(ev, key, value);
    for (size_t k = 0; k < COUNT(lists); k++)
        if (str_eq(key, lists[k].name))
            return set_length(list_of(&lists[k], ev), lists[k].size, value);
    return set_field(ev, host_fields, COUNT(host_fields), key, value);
}

int evidence_parse(struct str text, struct host_evidence *ev, struct err *e)
{
    struct str line;
    for (unsigned n = 1; str_split(&text, '\n', &line); n++) {
        const char *equals = memchr(line.p, '=', line.n);
        if (!line.n)
            continue;
        if (!equals)
            return err_set(e, ERR_PROTOCOL, "evidence, line %u: it has no '='", n);
        struct str key = {line.p, (size_t)(equals - line.p)};
        struct str value = {equals + 1, line.n - key.n - 1};
        if (set_line(ev, key, value) < 0)
            return err_set(e, ERR_PROTOCOL, "evidence, line %u: %.*s cannot be %.*s", n,
                           STR_ARG(key), value.n > 60 ? 60 : (int)value.n, value.p);
    }
    return 0;
}
