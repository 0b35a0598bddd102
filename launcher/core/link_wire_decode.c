#include "launcher/core/link_wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/link_reader.h"
#include "launcher/core/link_wire_fields.h"

static int get_end(struct link_reader *r, struct worker_end *end, const char *what)
{
    uint64_t kind, code, core;
    if (link_reader_bounded(r, 1, 0, END_UNKNOWN, &kind, what) < 0
        || link_reader_bounded(r, 4, (uint64_t)wire_end_codes[kind].min,
                               (uint64_t)wire_end_codes[kind].max, &code, what)
               < 0
        || link_reader_bounded(r, 1, 0, kind == END_SIGNAL, &core, what) < 0)
        return -1;
    *end = (struct worker_end){(enum end_kind)kind, (int)code, core != 0};
    return 0;
}

static int get_err(struct link_reader *r, struct err *err, const char *what)
{
    const char *name, *text;
    uint64_t sys;
    if (link_reader_text(r, 64, &name, what) < 0
        || link_reader_bounded(r, 4, 0, WIRE_ERRNO_MAX, &sys, what) < 0
        || link_reader_text(r, sizeof err->text - 1, &text, what) < 0)
        return -1;
    int code = ERR_OK + 1;
    while (code < ERR_CODE_COUNT && strcmp(err_name((enum err_code)code), name) != 0)
        code++;
    if (code == ERR_CODE_COUNT)
        return link_reader_bad(r, what, "is an error that this muster does not know");
    err_set(err, (enum err_code)code, "%s", text);
    err->sys = (int)sys;
    return 0;
}

static int get_layout(struct link_reader *r, const struct mpi_layout **out,
                      struct wire_message *m, const char *what)
{
    enum { LEAST = 4 + 1 + 4 };
    size_t n;
    uint64_t nranks, world = 0;
    if (link_reader_count(r, LINK_WIRE_LIST_MAX, LEAST, &n, what) < 0)
        return -1;
    struct mpi_node *nodes = m->lists = mem_alloc(n, sizeof *nodes);
    for (size_t i = 0; i < n; i++) {
        if (link_reader_text(r, WIRE_HOST_MAX, &nodes[i].host, what) < 0
            || link_reader_bounded(r, 4, 0, INT32_MAX - world, &nranks, what) < 0)
            return -1;
        nodes[i].first_rank = (uint32_t)world;
        nodes[i].nranks = (uint32_t)nranks;
        world += nranks;
    }
    m->layout = (struct mpi_layout){nodes, (uint32_t)n, (uint32_t)world};
    *out = n ? &m->layout : NULL;
    return 0;
}

static int get_nodes(struct link_reader *r, struct gather *g, struct wire_message *m,
                     const char *what)
{
    size_t n;
    uint64_t node, least = 0;
    if (link_reader_count(r, LINK_WIRE_LIST_MAX, 4, &n, what) < 0)
        return -1;
    uint32_t *nodes = m->lists = mem_alloc(n, sizeof *nodes);
    for (size_t i = 0; i < n; i++) {
        if (link_reader_bounded(r, 4, least, UINT32_MAX, &node, what) < 0)
            return -1;
        nodes[i] = (uint32_t)node;
        least = node + 1;
    }
    g->nodes = nodes;
    g->nnodes = (uint32_t)n;
    return 0;
}

static int get_field(struct link_reader *r, const struct wire_field *f, void *base,
                     struct wire_message *m);

static int get_fields(struct link_reader *r, const struct wire_fields *table, int type,
                      void *base, struct wire_message *m)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].type == type && get_field(r, &table->rows[i], base, m) < 0)
            return -1;
    return 0;
}

static int get_field(struct link_reader *r, const struct wire_field *f, void *base,
                     struct wire_message *m)
{
    void *at = (char *)base + f->offset;
    uint64_t v = 0;
    switch (f->kind) {
    case FIELD_U16:
        if (link_reader_number(r, 2, &v, f->name) < 0)
            return -1;
        *(uint16_t *)at = (uint16_t)v;
        return 0;
    case FIELD_U32:
        if (link_reader_number(r, 4, &v, f->name) < 0)
            return -1;
        *(uint32_t *)at = (uint32_t)v;
        return 0;
    case FIELD_U64:
        return link_reader_number(r, 8, at, f->name);
    case FIELD_BOOL:
        if (link_reader_bounded(r, 1, 0, 1, &v, f->name) < 0)
            return -1;
        *(bool *)at = v != 0;
        return 0;
    case FIELD_SIGNAL:
        if (link_reader_bounded(r, 1, 1, WIRE_SIGNAL_MAX, &v, f->name) < 0)
            return -1;
        *(int *)at = (int)v;
        return 0;
    case FIELD_HANG:
        if (link_reader_bounded(r, 1, 0, HANG_KIND_COUNT - 1, &v, f->name) < 0)
            return -1;
        *(enum hang_kind *)at = (enum hang_kind)v;
        return 0;
    case FIELD_COUNT: {
        struct maybe_u64 *count = at;
        if (link_reader_bounded(r, 1, 0, 1, &v, f->name) < 0)
            return -1;
        count->is_known = v != 0;
        return link_reader_number(r, 8, &count->value, f->name);
    }
    case FIELD_NOTICE: {
        struct notice *notice = at;
        if (link_reader_bounded(r, 1, 0, WIRE_SIGNAL_MAX, &v, f->name) < 0)
            return -1;
        notice->signo = (int)v;
        return link_reader_number(r, 8, &notice->ms, f->name);
    }
    case FIELD_STATUS:
        if (link_reader_bounded(r, 1, 0, WIRE_EXIT_MAX, &v, f->name) < 0)
            return -1;
        *(int *)at = (int)v;
        return 0;
    case FIELD_MAYBE:
        if (link_reader_bounded(r, 1, 0, 1, &v, f->name) < 0)
            return -1;
        return v ? link_reader_text(r, f->max, at, f->name) : 0;
    case FIELD_TEXT:
        return link_reader_text(r, f->max, at, f->name);
    case FIELD_END_OF_WORKER:
        return get_end(r, at, f->name);
    case FIELD_ORDER:
        *(const struct order **)at = &m->order;
        return get_fields(r, &wire_order_fields, 0, &m->order, m);
    case FIELD_ERR:
        *(const struct err **)at = &m->err;
        return get_err(r, &m->err, f->name);
    case FIELD_MPI:
        if (link_reader_bounded(r, 1, 0, MPI_MODE_COUNT - 1, &v, f->name) < 0)
            return -1;
        if (v == MPI_MODE_AUTO)
            return link_reader_bad(r, f->name, "is out of range");
        *(enum mpi_mode *)at = (enum mpi_mode)v;
        return 0;
    case FIELD_LAYOUT:
        return get_layout(r, at, m, f->name);
    case FIELD_NODES:
        return get_nodes(r, at, m, f->name);
    case FIELD_BYTES:
        return link_reader_bytes(r, f->max, at, f->name);
    }
    return -1;
}

static int get_frame(struct link_reader *r, uint64_t number, struct wire_message *m)
{
    struct frame *frame = &m->u.frame;
    uint64_t generation;
    size_t type = 0;
    while (type < FRAME_TYPE_COUNT && wire_numbers[type] != number)
        type++;
    if (type == FRAME_TYPE_COUNT)
        return link_reader_bad(r, "its kind", "is unknown");
    m->kind = WIRE_KIND_FRAME;
    frame->type = (enum frame_type)type;
    if (link_reader_number(r, 4, &generation, "generation") < 0)
        return -1;
    frame->generation = (uint32_t)generation;
    return get_fields(r, &wire_frame_fields, (int)type, frame, m);
}

static int get_output(struct link_reader *r, struct wire_output *output)
{
    uint64_t rank, stream;
    if (link_reader_number(r, 4, &rank, "rank") < 0
        || link_reader_bounded(r, 1, 1, 2, &stream, "stream") < 0)
        return -1;
    if (r->in.n > LINK_WIRE_OUTPUT_MAX)
        return link_reader_bad(r, "output", "is too long");
    *output = (struct wire_output){(uint32_t)rank, (int)stream, r->in};
    r->in = (struct str){r->in.p + r->in.n, 0};
    return 0;
}

static int get_input(struct link_reader *r, struct str *input)
{
    if (r->in.n > LINK_WIRE_OUTPUT_MAX)
        return link_reader_bad(r, "input", "is too long");
    *input = r->in;
    r->in = (struct str){r->in.p + r->in.n, 0};
    return 0;
}

static int get_list(struct link_reader *r, const char **list, size_t n, bool is_env,
                    const char *what)
{
    for (size_t i = 0; i < n; i++) {
        if (link_reader_text(r, WIRE_STRING_MAX, &list[i], what) < 0)
            return -1;
        if (is_env && (list[i][0] == '=' || !strchr(list[i], '=')))
            return link_reader_bad(r, what, "is not NAME=value");
    }
    return 0;
}

/* *list: in a message's one block, after the n strings that are there already. */
static int get_strings(struct link_reader *r, struct wire_message *m, size_t before, size_t *n,
                       bool is_env, const char *what)
{
    enum { LEAST = 5 }; /* bytes of a string on the wire */
    if (link_reader_count(r, LINK_WIRE_LIST_MAX, LEAST, n, what) < 0)
        return -1;
    size_t total = before + *n + 1;
    m->lists = mem_realloc(m->lists, total, sizeof(char *));
    const char **list = (const char **)m->lists + before;
    list[*n] = NULL;
    return get_list(r, list, *n, is_env, what);
}

static int get_who(struct link_reader *r, struct wire_who *who)
{
    uint64_t node, task;
    if (link_reader_number(r, 4, &node, "node") < 0
        || link_reader_number(r, 4, &task, "task") < 0
        || link_reader_text(r, WIRE_HOST_MAX, &who->host, "host") < 0)
        return -1;
    who->node = (uint32_t)node;
    who->task = (uint32_t)task;
    return 0;
}

static int get_setup(struct link_reader *r, struct wire_message *m)
{
    struct wire_setup *s = &m->u.setup;
    uint64_t node;
    if (link_reader_number(r, 4, &node, "node") < 0
        || link_reader_text(r, WIRE_HOST_MAX, &s->host, "host") < 0
        || link_reader_text(r, WIRE_DIR_MAX, &s->dir, "directory") < 0
        || link_reader_text(r, WIRE_SLOTS_MAX, &s->slots, "slots") < 0
        || link_reader_text(r, WIRE_ADDR_MAX, &s->addr, "address") < 0
        || link_reader_text(r, WIRE_ADDR_MAX, &s->iface, "interface") < 0
        || link_reader_text(r, WIRE_DIR_MAX, &s->line, "line") < 0
        || get_strings(r, m, 0, &s->nargs, false, "arguments") < 0
        || get_strings(r, m, s->nargs + 1, &s->nenv, true, "environment") < 0)
        return -1;
    s->node = (uint32_t)node;
    s->args = (const char *const *)m->lists;
    s->env = s->args + s->nargs + 1;
    return 0;
}

static int get_message(struct link_reader *r, struct wire_message *m)
{
    uint64_t version, number;
    if (link_reader_number(r, 1, &version, "version") < 0)
        return -1;
    if (version != LINK_WIRE_VERSION)
        return err_set(
            r->e, ERR_PROTOCOL,
            "a peer's messages have version %u and this muster's version %d; use one "
            "muster on all nodes",
            (unsigned)version, LINK_WIRE_VERSION);
    if (link_reader_number(r, 1, &number, "its kind") < 0)
        return -1;
    switch (number) {
    case WIRE_NUMBER_SETUP:
        m->kind = WIRE_KIND_SETUP;
        return get_setup(r, m);
    case WIRE_NUMBER_WHO:
        m->kind = WIRE_KIND_WHO;
        return get_who(r, &m->u.who);
    case WIRE_NUMBER_OUTPUT:
        m->kind = WIRE_KIND_OUTPUT;
        return get_output(r, &m->u.output);
    case WIRE_NUMBER_MORE:
        m->kind = WIRE_KIND_MORE;
        return 0;
    case WIRE_NUMBER_INPUT:
        m->kind = WIRE_KIND_INPUT;
        return get_input(r, &m->u.input);
    default:
        return get_frame(r, number, m);
    }
}

int link_wire_decode(struct str bytes, struct wire_message *m, struct err *e)
{
    struct link_reader r = {bytes, e};
    memset(m, 0, sizeof *m);
    if (get_message(&r, m) == 0
        && (!r.in.n || link_reader_bad(&r, "its end", "is followed by more") == 0))
        return 0;
    wire_message_fini(m);
    return -1;
}

void wire_message_fini(struct wire_message *m)
{
    free(m->lists);
    m->lists = NULL;
}
