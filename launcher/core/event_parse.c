#include "launcher/core/event_text.h"

#include <string.h>

#include "base/str.h"
#include "launcher/core/event_fields.h"
#include "launcher/core/note.h"
#include "launcher/core/notice.h"
#include "launcher/core/signal_names.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static char *next_word(char **rest)
{
    char *s = *rest;
    while (*s == ' ')
        s++;
    if (!*s)
        return NULL;
    char *end = strchr(s, ' ');
    if (end)
        *end++ = '\0';
    else
        end = s + strlen(s);
    *rest = end;
    return s;
}

static int find_name(const char *const *names, size_t n, const char *text)
{
    struct buf name;
    buf_init(&name, 0);
    int found = -1;
    for (size_t i = 0; i < n && found < 0; i++) {
        buf_reset(&name);
        event_fields_lower(&name, names[i]);
        if (strcmp(buf_str(&name), text) == 0)
            found = (int)i;
    }
    buf_fini(&name);
    return found;
}

static int parse_end(const char *text, struct worker_end *end)
{
    struct str rest = str_from(text), part;
    uint64_t code;
    if (!str_split(&rest, ':', &part))
        return -1;
    size_t kind = 0;
    while (kind < EVENT_END_NAMES && !str_eq(part, event_end_names[kind]))
        kind++;
    if (kind == EVENT_END_NAMES || !str_split(&rest, ':', &part)
        || str_parse_u64(part, 0, 255, &code) < 0)
        return -1;
    *end = (struct worker_end){(enum end_kind)kind, (int)code, str_split(&rest, ':', &part)};
    return 0;
}

static int parse_signal(const char *text, int *signo)
{
    *signo = strcmp(text, signal_name(0)) == 0 ? 0 : signal_number(str_from(text));
    return *signo < 0 ? -1 : 0;
}

/* "first=0,n=2,..." with the fields that a trace cares about; the others keep what they were.
 */
static int parse_order(const char *text, struct order *o)
{
    static const struct {
        const char *name;
        size_t offset;
    } rows[] = {
        {"gen", offsetof(struct order, generation)},
        {"max_restarts", offsetof(struct order, max_restarts)},
        {"node", offsetof(struct order, node_rank)},
        {"nnodes", offsetof(struct order, nnodes)},
        {"first", offsetof(struct order, first_rank)},
        {"n", offsetof(struct order, nworkers)},
        {"world", offsetof(struct order, world_size)},
    };
    struct str rest = str_from(text), part, key;
    while (str_split(&rest, ',', &part)) {
        struct str value = part;
        uint64_t v;
        if (!str_split(&value, '=', &key) || !value.p
            || str_parse_u64(value, 0, UINT32_MAX, &v) < 0)
            return -1;
        size_t i = 0;
        while (i < COUNT(rows) && !str_eq(key, rows[i].name))
            i++;
        if (i == COUNT(rows))
            return -1;
        *(uint32_t *)(void *)((char *)o + rows[i].offset) = (uint32_t)v;
    }
    return 0;
}

static int parse_hang(const char *text, enum hang_kind *kind)
{
    for (size_t i = 0; i < HANG_KIND_COUNT; i++) {
        if (strcmp(event_hang_names[i], text) == 0) {
            *kind = (enum hang_kind)i;
            return 0;
        }
    }
    return -1;
}

static int parse_layout(char *text, struct event_parts *parts)
{
    uint32_t n = 0, first = 0;
    for (char *rest = text, *end; rest; rest = end, n++) {
        uint64_t nranks;
        end = strchr(rest, ',');
        if (end)
            *end++ = '\0';
        char *colon = strchr(rest, ':');
        if (!colon || n == EVENT_PARTS_MAX
            || str_parse_u64(str_from(colon + 1), 0, 65535, &nranks) < 0)
            return -1;
        *colon = '\0';
        parts->layout_nodes[n] = (struct mpi_node){rest, first, (uint32_t)nranks};
        first += (uint32_t)nranks;
    }
    parts->layout = (struct mpi_layout){parts->layout_nodes, n, first};
    return 0;
}

static int parse_nodes(const char *text, struct gather *gather, struct event_parts *parts)
{
    struct str rest = str_from(text), part;
    uint64_t v;
    for (gather->nnodes = 0; str_split(&rest, ',', &part); gather->nnodes++) {
        if (gather->nnodes == EVENT_PARTS_MAX || str_parse_u64(part, 0, UINT32_MAX, &v) < 0)
            return -1;
        parts->nodes[gather->nnodes] = (uint32_t)v;
    }
    gather->nodes = parts->nodes;
    return 0;
}

static void parse_err(const char *text, struct err *err)
{
    err_set(err, ERR_INTERNAL, "%s", text);
    for (int i = 1; i < ERR_CODE_COUNT; i++) {
        size_t n = strlen(err_name((enum err_code)i));
        if (strncmp(text, err_name((enum err_code)i), n) == 0 && text[n] == ':')
            err_set(err, (enum err_code)i, "%s", text + n + 1);
    }
}

static int field_parse(const struct event_field *f, void *base, char *text,
                       struct event_parts *parts)
{
    void *at = (char *)base + f->offset;
    uint64_t v = 0;
    bool is_number = str_parse_u64(str_from(text), 0, UINT64_MAX, &v) == 0;
    switch (f->kind) {
    case FIELD_U16:
        *(uint16_t *)at = (uint16_t)v;
        return is_number && v <= UINT16_MAX ? 0 : -1;
    case FIELD_U32:
    case FIELD_RANK:
        *(uint32_t *)at = (uint32_t)v;
        return is_number && v <= UINT32_MAX ? 0 : -1;
    case FIELD_U64:
        *(uint64_t *)at = v;
        return is_number ? 0 : -1;
    case FIELD_I64:
        *(int64_t *)at = (int64_t)v;
        return is_number ? 0 : -1;
    case FIELD_BOOL:
    case FIELD_FLAG:
        return str_parse_bool(str_from(text), at);
    case FIELD_SIGNAL:
        return parse_signal(text, at);
    case FIELD_INT:
        *(int *)at = (int)v;
        return is_number && v < 4096 ? 0 : -1;
    case FIELD_TEXT:
    case FIELD_MAYBE:
        *(const char **)at = strcmp(text, "-") == 0 ? NULL : text;
        return 0;
    case FIELD_END_OF_WORKER:
        return parse_end(text, at);
    case FIELD_ORDER:
        *(const struct order **)at = &parts->order;
        return parse_order(text, &parts->order);
    case FIELD_ERR:
        parse_err(text, &parts->err);
        *(const struct err **)at = &parts->err;
        return 0;
    case FIELD_MPI:
        return mpi_mode_parse(str_from(text), at);
    case FIELD_LAYOUT:
        *(const struct mpi_layout **)at = &parts->layout;
        return parse_layout(text, parts);
    case FIELD_NODES:
        return parse_nodes(text, at, parts);
    case FIELD_BYTES:
        *(struct str *)at = str_from(text);
        return 0;
    case FIELD_COUNT:
        *(struct maybe_u64 *)at = (struct maybe_u64){true, v};
        return is_number ? 0 : -1;
    case FIELD_HANG:
        return parse_hang(text, at);
    case FIELD_NOTICE:
        return notice_parse(text, at);
    case FIELD_NOTE_ID:
        return -1; /* effects are not read */
    }
    return -1;
}

static int fields_parse(const struct event_table *table, int type, void *base, char **rest,
                        struct event_parts *parts, struct err *e)
{
    char *token;
    while ((token = next_word(rest)) != NULL) {
        char *value = strchr(token, '=');
        if (!value)
            return err_set(e, ERR_USAGE, "'%s' is not KEY=VALUE", token);
        *value++ = '\0';
        const struct event_field *f = NULL;
        for (size_t i = 0; i < table->nfields && !f; i++)
            if (table->fields[i].type == type && strcmp(table->fields[i].name, token) == 0)
                f = &table->fields[i];
        if (!f || field_parse(f, base, value, parts) < 0)
            return err_set(e, ERR_USAGE, "'%s=%s' is not understood", token, value);
    }
    return 0;
}

int event_parse(char *line, struct event *ev, struct event_parts *parts, struct err *e)
{
    *ev = (struct event){0};
    char *rest = line, *token = next_word(&rest);
    if (!token || str_parse_u64(str_from(token), 0, UINT64_MAX, &ev->now_ms) < 0)
        return err_set(e, ERR_USAGE, "a line begins with the time in ms");
    token = next_word(&rest);
    int type =
        token ? find_name(event_table_events.names, event_table_events.nnames, token) : -1;
    if (type < 0)
        return err_set(e, ERR_USAGE, "no event is called '%s'", token ? token : "");
    ev->type = (enum event_type)type;
    if (ev->type != EV_FRAME)
        return fields_parse(&event_table_events, type, ev, &rest, parts, e);
    /* frame NODE NAME GENERATION KEY=VALUE... */
    uint64_t node, generation;
    char *node_text = next_word(&rest), *name = next_word(&rest), *gen = next_word(&rest);
    int frame =
        name ? find_name(event_table_frames.names, event_table_frames.nnames, name) : -1;
    if (frame < 0 || !gen || str_parse_u64(str_from(node_text), 0, UINT32_MAX, &node) < 0
        || str_parse_u64(str_from(gen), 0, UINT32_MAX, &generation) < 0)
        return err_set(e, ERR_USAGE, "a frame is: frame NODE NAME GENERATION KEY=VALUE...");
    ev->u.frame.node = (uint32_t)node;
    ev->u.frame.frame.type = (enum frame_type)frame;
    ev->u.frame.frame.generation = (uint32_t)generation;
    if (frame == FRAME_HELLO)
        ev->u.frame.frame.u.hello.node_rank = NODE_RANK_ANY;
    if (frame == FRAME_REFUSED)
        ev->u.frame.frame.u.refused.node_rank = NODE_RANK_ANY;
    return fields_parse(&event_table_frames, frame, &ev->u.frame.frame, &rest, parts, e);
}
