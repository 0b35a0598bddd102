#include "launcher/core/link_wire.h"

#include <assert.h>
#include <string.h>

#include "launcher/core/link_wire_fields.h"

static void add_u8(struct buf *out, unsigned v)
{
    buf_addc(out, (char)v);
}

static void add_u16(struct buf *out, unsigned v)
{
    add_u8(out, v & 0xff);
    add_u8(out, v >> 8 & 0xff);
}

static void add_bytes(struct buf *out, const char *s, size_t n)
{
    buf_add_u32le(out, (uint32_t)n);
    buf_add(out, s, n);
    buf_addc(out, '\0');
}

/* Cut at the beginning of a character. */
static void add_text(struct buf *out, const char *s, uint32_t max)
{
    size_t n = s ? strnlen(s, (size_t)max + 1) : 0;
    if (n > max) {
        n = max;
        while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
            n--;
    }
    add_bytes(out, s, n);
}

static void add_field(const struct wire_field *f, const void *base, struct buf *out);

static void add_fields(const struct wire_fields *table, int type, const void *base,
                       struct buf *out)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].type == type)
            add_field(&table->rows[i], base, out);
}

static void add_err(const struct err *err, struct buf *out)
{
    assert(err && err->code > ERR_OK && err->code < ERR_CODE_COUNT);
    add_text(out, err_name(err->code), WIRE_LINE_MAX);
    buf_add_u32le(out, (uint32_t)err->sys);
    add_text(out, err->text, sizeof err->text - 1);
}

static void add_end(const struct worker_end *end, struct buf *out)
{
    add_u8(out, (unsigned)end->kind);
    buf_add_u32le(out, (uint32_t)end->code);
    add_u8(out, end->core);
}

static void add_layout(const struct mpi_layout *layout, struct buf *out)
{
    uint32_t n = layout ? layout->nnodes : 0;
    buf_add_u32le(out, n);
    for (uint32_t i = 0; i < n; i++) {
        add_text(out, layout->nodes[i].host, WIRE_HOST_MAX);
        buf_add_u32le(out, layout->nodes[i].nranks);
    }
}

static void add_nodes(const struct gather *g, struct buf *out)
{
    buf_add_u32le(out, g->nnodes);
    for (uint32_t i = 0; i < g->nnodes; i++)
        buf_add_u32le(out, g->nodes[i]);
}

static void add_counted(struct str bytes, struct buf *out)
{
    buf_add_u32le(out, (uint32_t)bytes.n);
    buf_add(out, bytes.p, bytes.n);
}

static void add_field(const struct wire_field *f, const void *base, struct buf *out)
{
    const void *at = (const char *)base + f->offset;
    switch (f->kind) {
    case FIELD_U16:
        add_u16(out, *(const uint16_t *)at);
        return;
    case FIELD_U32:
        buf_add_u32le(out, *(const uint32_t *)at);
        return;
    case FIELD_U64:
        buf_add_u64le(out, *(const uint64_t *)at);
        return;
    case FIELD_BOOL:
        add_u8(out, *(const bool *)at);
        return;
    case FIELD_SIGNAL:
    case FIELD_STATUS:
        add_u8(out, (unsigned)*(const int *)at);
        return;
    case FIELD_HANG:
        add_u8(out, (unsigned)*(const enum hang_kind *)at);
        return;
    case FIELD_COUNT:
        add_u8(out, ((const struct maybe_u64 *)at)->is_known);
        buf_add_u64le(out, ((const struct maybe_u64 *)at)->value);
        return;
    case FIELD_NOTICE:
        add_u8(out, (unsigned)((const struct notice *)at)->signo);
        buf_add_u64le(out, ((const struct notice *)at)->ms);
        return;
    case FIELD_MAYBE:
        add_u8(out, *(const char *const *)at != NULL);
        if (!*(const char *const *)at)
            return;
        add_text(out, *(const char *const *)at, f->max);
        return;
    case FIELD_TEXT:
        add_text(out, *(const char *const *)at, f->max);
        return;
    case FIELD_END_OF_WORKER:
        add_end(at, out);
        return;
    case FIELD_ORDER:
        add_fields(&wire_order_fields, 0, *(const struct order *const *)at, out);
        return;
    case FIELD_ERR:
        add_err(*(const struct err *const *)at, out);
        return;
    case FIELD_MPI:
        add_u8(out, (unsigned)*(const enum mpi_mode *)at);
        return;
    case FIELD_LAYOUT:
        add_layout(*(const struct mpi_layout *const *)at, out);
        return;
    case FIELD_NODES:
        add_nodes(at, out);
        return;
    case FIELD_BYTES:
        add_counted(*(const struct str *)at, out);
        return;
    }
}

void link_wire_frame(const struct frame *frame, struct buf *out)
{
    add_u8(out, LINK_WIRE_VERSION);
    add_u8(out, wire_numbers[frame->type]);
    buf_add_u32le(out, frame->generation);
    add_fields(&wire_frame_fields, (int)frame->type, frame, out);
}

void link_wire_output(const struct wire_output *output, struct buf *out)
{
    assert(output->bytes.n <= LINK_WIRE_OUTPUT_MAX);
    assert(output->stream == 1 || output->stream == 2);
    add_u8(out, LINK_WIRE_VERSION);
    add_u8(out, WIRE_NUMBER_OUTPUT);
    buf_add_u32le(out, output->rank);
    add_u8(out, (unsigned)output->stream);
    buf_add(out, output->bytes.p, output->bytes.n);
}

void link_wire_who(const struct wire_who *who, struct buf *out)
{
    add_u8(out, LINK_WIRE_VERSION);
    add_u8(out, WIRE_NUMBER_WHO);
    buf_add_u32le(out, who->node);
    buf_add_u32le(out, who->task);
    add_text(out, who->host, WIRE_HOST_MAX);
}

void link_wire_more(struct buf *out)
{
    add_u8(out, LINK_WIRE_VERSION);
    add_u8(out, WIRE_NUMBER_MORE);
}

void link_wire_input(struct str bytes, struct buf *out)
{
    assert(bytes.n <= LINK_WIRE_OUTPUT_MAX);
    add_u8(out, LINK_WIRE_VERSION);
    add_u8(out, WIRE_NUMBER_INPUT);
    buf_add(out, bytes.p, bytes.n);
}

static int check_text(const char *what, const char *s, size_t max, struct err *e)
{
    size_t n = strlen(s);
    if (n <= max)
        return 0;
    return err_set(e, ERR_USAGE,
                   "%s (%.40s...) has %zu bytes; at most %zu can travel to a node", what, s, n,
                   max);
}

static int check_list(const char *what, const char *const *list, size_t n, struct err *e)
{
    if (n > LINK_WIRE_LIST_MAX)
        return err_set(e, ERR_USAGE, "%zu times %s; at most %d can travel to a node", n, what,
                       LINK_WIRE_LIST_MAX);
    for (size_t i = 0; i < n; i++)
        if (check_text(what, list[i], WIRE_STRING_MAX, e) < 0)
            return -1;
    return 0;
}

static void add_list(struct buf *out, const char *const *list, size_t n)
{
    buf_add_u32le(out, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        add_bytes(out, list[i], strlen(list[i]));
}

int link_wire_setup(const struct wire_setup *s, struct buf *out, struct err *e)
{
    if (check_text("the host's name", s->host ? s->host : "", WIRE_HOST_MAX, e) < 0
        || check_text("the working directory", s->dir, WIRE_DIR_MAX, e) < 0
        || check_list("an argument", s->args, s->nargs, e) < 0
        || check_list("a variable", s->env, s->nenv, e) < 0)
        return -1;
    for (size_t i = 0; i < s->nenv; i++)
        if (!strchr(s->env[i], '=') || s->env[i][0] == '=')
            return err_set(e, ERR_USAGE, "a variable is NAME=value, not \"%.80s\"", s->env[i]);
    struct buf m;
    buf_init(&m, LINK_WIRE_MAX);
    add_u8(&m, LINK_WIRE_VERSION);
    add_u8(&m, WIRE_NUMBER_SETUP);
    buf_add_u32le(&m, s->node);
    add_text(&m, s->host, WIRE_HOST_MAX);
    add_text(&m, s->dir, WIRE_DIR_MAX);
    add_text(&m, s->slots, WIRE_SLOTS_MAX);
    add_text(&m, s->addr, WIRE_ADDR_MAX);
    add_text(&m, s->iface, WIRE_ADDR_MAX);
    add_text(&m, s->line, WIRE_DIR_MAX);
    add_list(&m, s->args, s->nargs);
    add_list(&m, s->env, s->nenv);
    bool is_fit = !m.overflowed;
    if (is_fit)
        buf_add(out, m.data, m.len);
    buf_fini(&m);
    if (is_fit)
        return 0;
    return err_set(e, ERR_USAGE,
                   "arguments and environment have more than the %d bytes that can travel to a "
                   "node",
                   LINK_WIRE_MAX);
}
