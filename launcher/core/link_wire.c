#include "launcher/core/link_wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/mpi_gather.h"

/* On the wire; never given to anything else. */
enum {
    NUMBER_SETUP = 64,
    NUMBER_OUTPUT = 65,
    NUMBER_WHO = 66,
    NUMBER_MORE = 67,
    NUMBER_INPUT = 68
};

static const unsigned char numbers[] = {
    [FRAME_HELLO] = 1,      [FRAME_PLAN] = 2,    [FRAME_READY] = 3,   [FRAME_REFUSED] = 4,
    [FRAME_START] = 5,      [FRAME_STARTED] = 6, [FRAME_SIGNAL] = 7,  [FRAME_STOP] = 8,
    [FRAME_EXITED] = 9,     [FRAME_REAPED] = 10, [FRAME_BEAT] = 11,   [FRAME_BYE] = 12,
    [FRAME_INTERRUPT] = 13, [FRAME_HUNG] = 14,   [FRAME_STACKS] = 15, [FRAME_STACK] = 16,
    [FRAME_STACKED] = 17,   [FRAME_GATHER] = 18, [FRAME_WANTED] = 19, [FRAME_GATHERED] = 20,
};
static_assert(sizeof numbers == FRAME_TYPE_COUNT, "a number for each type of frame");

enum field_kind {
    FIELD_U16,
    FIELD_U32,
    FIELD_U64,
    FIELD_BOOL,
    FIELD_SIGNAL,
    FIELD_STATUS, /* of a process */
    FIELD_HANG,   /* enum hang_kind */
    FIELD_COUNT,  /* struct maybe_u64 */
    FIELD_NOTICE, /* struct notice */
    FIELD_TEXT,
    FIELD_MAYBE, /* a text that may be missing */
    FIELD_END_OF_WORKER,
    FIELD_ORDER,
    FIELD_ERR,
    FIELD_MPI, /* enum mpi_mode, but AUTO */
    FIELD_LAYOUT,
    FIELD_NODES, /* of struct gather */
    FIELD_BYTES, /* struct str */
};

struct field {
    int type; /* of frame; unused in tables of other structs */
    enum field_kind kind;
    size_t offset;
    uint32_t max; /* bytes of a text */
    const char *name;
};

enum {
    HOST_MAX = 255,
    JOB_MAX = 255,
    ADDR_MAX = 255,
    GPU_MAX = 255,
    LINE_MAX = 16 * 1024,
    TAIL_MAX = 256 * 1024,
    DIR_MAX = 4095,
    SLOTS_MAX = 32 * 1024, /* all 4096 of a host by number */
    STRING_MAX = 131071,   /* the kernel's MAX_ARG_STRLEN without the NUL */
    SIGNAL_MAX = 64,
    ERRNO_MAX = 4095,
    EXIT_MAX = 255,
};

#define ROW(type, kind, member, max)                                                           \
    {                                                                                          \
        FRAME_##type, FIELD_##kind, offsetof(struct frame, u.member), max, #member             \
    }
static const struct field frame_fields[] = {
    ROW(HELLO, TEXT, hello.host, HOST_MAX),
    ROW(HELLO, U32, hello.slots, 0),
    ROW(HELLO, U32, hello.node_rank, 0),
    ROW(HELLO, U32, hello.nnodes, 0),
    ROW(HELLO, U32, hello.pid, 0),
    ROW(HELLO, MAYBE, hello.via, ADDR_MAX),
    ROW(HELLO, MAYBE, hello.reach, ADDR_MAX),
    ROW(PLAN, ORDER, plan.order, 0),
    ROW(REFUSED, ERR, refused.err, 0),
    ROW(REFUSED, MAYBE, refused.host, HOST_MAX),
    ROW(REFUSED, U32, refused.node_rank, 0),
    ROW(READY, MPI, ready.mpi, 0),
    ROW(START, LAYOUT, start.layout, 0),
    ROW(STARTED, U32, started.local_rank, 0),
    ROW(STARTED, U32, started.pid, 0),
    ROW(SIGNAL, SIGNAL, signal.signo, 0),
    ROW(INTERRUPT, SIGNAL, signal.signo, 0),
    ROW(BEAT, BOOL, beat.is_last, 0),
    ROW(BYE, STATUS, bye.status, 0),
    ROW(BYE, MAYBE, bye.text, TAIL_MAX),
    ROW(STOP, SIGNAL, stop.signo, 0),
    ROW(STOP, U64, stop.grace_ms, 0),
    ROW(STOP, BOOL, stop.is_final, 0),
    ROW(STOP, NOTICE, stop.notice, 0),
    ROW(HUNG, HANG, hung.kind, 0),
    ROW(HUNG, U32, hung.local_rank, 0),
    ROW(HUNG, U64, hung.quiet_ms, 0),
    ROW(STACKS, BOOL, stacks.may_abort, 0),
    ROW(STACK, U32, stack.local_rank, 0),
    ROW(STACK, MAYBE, stack.facts.where, LINE_MAX),
    ROW(STACK, COUNT, stack.facts.step, 0),
    ROW(STACK, COUNT, stack.facts.quiet_ms, 0),
    ROW(STACK, MAYBE, stack.facts.section, LINE_MAX),
    ROW(STACK, MAYBE, stack.facts.status, LINE_MAX),
    ROW(STACKED, MAYBE, stacked.file, DIR_MAX),
    ROW(GATHER, TEXT, gather.operation, MPI_GATHER_NAME_MAX),
    ROW(GATHER, NODES, gather, 0),
    ROW(GATHER, COUNT, gather.wanted, 0),
    ROW(GATHER, BYTES, gather.data, MPI_GATHER_BYTES_MAX),
    ROW(WANTED, TEXT, gather.operation, MPI_GATHER_NAME_MAX),
    ROW(WANTED, NODES, gather, 0),
    ROW(WANTED, COUNT, gather.wanted, 0),
    ROW(GATHERED, TEXT, gathered.operation, MPI_GATHER_NAME_MAX),
    ROW(GATHERED, BOOL, gathered.is_lost, 0),
    ROW(GATHERED, BYTES, gathered.data, MPI_GATHER_BYTES_MAX),
    ROW(EXITED, U32, exited.local_rank, 0),
    ROW(EXITED, U32, exited.pid, 0),
    ROW(EXITED, END_OF_WORKER, exited.end, 0),
    ROW(EXITED, TEXT, exited.gpu, GPU_MAX),
    ROW(EXITED, MAYBE, exited.evidence.tail, TAIL_MAX),
    ROW(EXITED, MAYBE, exited.evidence.error, LINE_MAX),
    ROW(EXITED, MAYBE, exited.evidence.cause, LINE_MAX),
};

#define ORDER_ROW(kind, member, max)                                                           \
    {                                                                                          \
        0, FIELD_##kind, offsetof(struct order, member), max, "order." #member                 \
    }
static const struct field order_fields[] = {
    ORDER_ROW(TEXT, job_id, JOB_MAX),
    ORDER_ROW(U32, generation, 0),
    ORDER_ROW(U32, max_restarts, 0),
    ORDER_ROW(U32, node_rank, 0),
    ORDER_ROW(U32, nnodes, 0),
    ORDER_ROW(U32, first_rank, 0),
    ORDER_ROW(U32, nworkers, 0),
    ORDER_ROW(U32, world_size, 0),
    ORDER_ROW(TEXT, master_addr, ADDR_MAX),
    ORDER_ROW(U16, master_port, 0),
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Where each kind of end may lie. */
static const struct {
    int min, max;
} end_codes[] = {
    [END_EXIT] = {0, EXIT_MAX},
    [END_SIGNAL] = {1, SIGNAL_MAX},
    [END_EXEC] = {0, ERRNO_MAX},
    [END_UNKNOWN] = {0, ERRNO_MAX},
};
static_assert(COUNT(end_codes) == END_UNKNOWN + 1, "bounds for each kind of end");

/* ---- encoding */

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

static void add_field(const struct field *f, const void *base, struct buf *out);

static void add_fields(const struct field *table, size_t n, int type, const void *base,
                       struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        if (table[i].type == type)
            add_field(&table[i], base, out);
}

static void add_err(const struct err *err, struct buf *out)
{
    assert(err && err->code > ERR_OK && err->code < ERR_CODE_COUNT);
    add_text(out, err_name(err->code), LINE_MAX);
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
        add_text(out, layout->nodes[i].host, HOST_MAX);
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

static void add_field(const struct field *f, const void *base, struct buf *out)
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
        add_fields(order_fields, COUNT(order_fields), 0, *(const struct order *const *)at, out);
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
    add_u8(out, numbers[frame->type]);
    buf_add_u32le(out, frame->generation);
    add_fields(frame_fields, COUNT(frame_fields), (int)frame->type, frame, out);
}

void link_wire_output(const struct wire_output *output, struct buf *out)
{
    assert(output->bytes.n <= LINK_WIRE_OUTPUT_MAX);
    assert(output->stream == 1 || output->stream == 2);
    add_u8(out, LINK_WIRE_VERSION);
    add_u8(out, NUMBER_OUTPUT);
    buf_add_u32le(out, output->rank);
    add_u8(out, (unsigned)output->stream);
    buf_add(out, output->bytes.p, output->bytes.n);
}

void link_wire_who(const struct wire_who *who, struct buf *out)
{
    add_u8(out, LINK_WIRE_VERSION);
    add_u8(out, NUMBER_WHO);
    buf_add_u32le(out, who->node);
    buf_add_u32le(out, who->task);
    add_text(out, who->host, HOST_MAX);
}

void link_wire_more(struct buf *out)
{
    add_u8(out, LINK_WIRE_VERSION);
    add_u8(out, NUMBER_MORE);
}

void link_wire_input(struct str bytes, struct buf *out)
{
    assert(bytes.n <= LINK_WIRE_OUTPUT_MAX);
    add_u8(out, LINK_WIRE_VERSION);
    add_u8(out, NUMBER_INPUT);
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
        if (check_text(what, list[i], STRING_MAX, e) < 0)
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
    if (check_text("the host's name", s->host ? s->host : "", HOST_MAX, e) < 0
        || check_text("the working directory", s->dir, DIR_MAX, e) < 0
        || check_list("an argument", s->args, s->nargs, e) < 0
        || check_list("a variable", s->env, s->nenv, e) < 0)
        return -1;
    for (size_t i = 0; i < s->nenv; i++)
        if (!strchr(s->env[i], '=') || s->env[i][0] == '=')
            return err_set(e, ERR_USAGE, "a variable is NAME=value, not \"%.80s\"", s->env[i]);
    struct buf m;
    buf_init(&m, LINK_WIRE_MAX);
    add_u8(&m, LINK_WIRE_VERSION);
    add_u8(&m, NUMBER_SETUP);
    buf_add_u32le(&m, s->node);
    add_text(&m, s->host, HOST_MAX);
    add_text(&m, s->dir, DIR_MAX);
    add_text(&m, s->slots, SLOTS_MAX);
    add_text(&m, s->addr, ADDR_MAX);
    add_text(&m, s->iface, ADDR_MAX);
    add_text(&m, s->line, DIR_MAX);
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

/* ---- decoding */

struct reader {
    struct str in;
    struct err *e;
};

static int bad(struct reader *r, const char *what, const char *why)
{
    err_set(r->e, ERR_PROTOCOL, "a message of a peer: %s: %s", what, why);
    return -1;
}

static int get_number(struct reader *r, unsigned size, uint64_t *out, const char *what)
{
    uint64_t v = 0;
    if (r->in.n < size)
        return bad(r, what, "is cut off");
    for (unsigned i = 0; i < size; i++)
        v |= (uint64_t)(unsigned char)r->in.p[i] << (8 * i);
    r->in.p += size;
    r->in.n -= size;
    *out = v;
    return 0;
}

static int get_bounded(struct reader *r, unsigned size, uint64_t min, uint64_t max,
                       uint64_t *out, const char *what)
{
    if (get_number(r, size, out, what) < 0)
        return -1;
    return *out >= min && *out <= max ? 0 : bad(r, what, "is out of range");
}

static int get_text(struct reader *r, uint32_t max, const char **out, const char *what)
{
    uint64_t n;
    if (get_number(r, 4, &n, what) < 0)
        return -1;
    if (n > max)
        return bad(r, what, "is too long");
    if (n >= r->in.n)
        return bad(r, what, "is cut off");
    if (memchr(r->in.p, '\0', n) || r->in.p[n] != '\0')
        return bad(r, what, "is no text that ends where it says");
    *out = r->in.p;
    r->in.p += n + 1;
    r->in.n -= n + 1;
    return 0;
}

static int get_end(struct reader *r, struct worker_end *end, const char *what)
{
    uint64_t kind, code, core;
    if (get_bounded(r, 1, 0, END_UNKNOWN, &kind, what) < 0
        || get_bounded(r, 4, (uint64_t)end_codes[kind].min, (uint64_t)end_codes[kind].max,
                       &code, what)
               < 0
        || get_bounded(r, 1, 0, kind == END_SIGNAL, &core, what) < 0)
        return -1;
    *end = (struct worker_end){(enum end_kind)kind, (int)code, core != 0};
    return 0;
}

static int get_err(struct reader *r, struct err *err, const char *what)
{
    const char *name, *text;
    uint64_t sys;
    if (get_text(r, 64, &name, what) < 0 || get_bounded(r, 4, 0, ERRNO_MAX, &sys, what) < 0
        || get_text(r, sizeof err->text - 1, &text, what) < 0)
        return -1;
    int code = ERR_OK + 1;
    while (code < ERR_CODE_COUNT && strcmp(err_name((enum err_code)code), name) != 0)
        code++;
    if (code == ERR_CODE_COUNT)
        return bad(r, what, "is an error that this muster does not know");
    err_set(err, (enum err_code)code, "%s", text);
    err->sys = (int)sys;
    return 0;
}

/* How many items, without more than the rest of the input could hold at least bytes each. */
static int get_count(struct reader *r, uint32_t max, size_t least, size_t *n, const char *what)
{
    uint64_t v;
    if (get_bounded(r, 4, 0, max, &v, what) < 0)
        return -1;
    *n = (size_t)v;
    return v <= r->in.n / least ? 0 : bad(r, what, "is cut off");
}

static int get_layout(struct reader *r, const struct mpi_layout **out, struct wire_message *m,
                      const char *what)
{
    enum { LEAST = 4 + 1 + 4 };
    size_t n;
    uint64_t nranks, world = 0;
    if (get_count(r, LINK_WIRE_LIST_MAX, LEAST, &n, what) < 0)
        return -1;
    struct mpi_node *nodes = m->lists = mem_alloc(n, sizeof *nodes);
    for (size_t i = 0; i < n; i++) {
        if (get_text(r, HOST_MAX, &nodes[i].host, what) < 0
            || get_bounded(r, 4, 0, INT32_MAX - world, &nranks, what) < 0)
            return -1;
        nodes[i].first_rank = (uint32_t)world;
        nodes[i].nranks = (uint32_t)nranks;
        world += nranks;
    }
    m->layout = (struct mpi_layout){nodes, (uint32_t)n, (uint32_t)world};
    *out = n ? &m->layout : NULL;
    return 0;
}

static int get_nodes(struct reader *r, struct gather *g, struct wire_message *m,
                     const char *what)
{
    size_t n;
    uint64_t node, least = 0;
    if (get_count(r, LINK_WIRE_LIST_MAX, 4, &n, what) < 0)
        return -1;
    uint32_t *nodes = m->lists = mem_alloc(n, sizeof *nodes);
    for (size_t i = 0; i < n; i++) {
        if (get_bounded(r, 4, least, UINT32_MAX, &node, what) < 0)
            return -1;
        nodes[i] = (uint32_t)node;
        least = node + 1;
    }
    g->nodes = nodes;
    g->nnodes = (uint32_t)n;
    return 0;
}

static int get_counted(struct reader *r, uint32_t max, struct str *out, const char *what)
{
    size_t n;
    if (get_count(r, max, 1, &n, what) < 0)
        return -1;
    *out = (struct str){r->in.p, n};
    r->in = (struct str){r->in.p + n, r->in.n - n};
    return 0;
}

static int get_field(struct reader *r, const struct field *f, void *base,
                     struct wire_message *m);

static int get_fields(struct reader *r, const struct field *table, size_t n, int type,
                      void *base, struct wire_message *m)
{
    for (size_t i = 0; i < n; i++)
        if (table[i].type == type && get_field(r, &table[i], base, m) < 0)
            return -1;
    return 0;
}

static int get_field(struct reader *r, const struct field *f, void *base,
                     struct wire_message *m)
{
    void *at = (char *)base + f->offset;
    uint64_t v = 0;
    switch (f->kind) {
    case FIELD_U16:
        if (get_number(r, 2, &v, f->name) < 0)
            return -1;
        *(uint16_t *)at = (uint16_t)v;
        return 0;
    case FIELD_U32:
        if (get_number(r, 4, &v, f->name) < 0)
            return -1;
        *(uint32_t *)at = (uint32_t)v;
        return 0;
    case FIELD_U64:
        return get_number(r, 8, at, f->name);
    case FIELD_BOOL:
        if (get_bounded(r, 1, 0, 1, &v, f->name) < 0)
            return -1;
        *(bool *)at = v != 0;
        return 0;
    case FIELD_SIGNAL:
        if (get_bounded(r, 1, 1, SIGNAL_MAX, &v, f->name) < 0)
            return -1;
        *(int *)at = (int)v;
        return 0;
    case FIELD_HANG:
        if (get_bounded(r, 1, 0, HANG_KIND_COUNT - 1, &v, f->name) < 0)
            return -1;
        *(enum hang_kind *)at = (enum hang_kind)v;
        return 0;
    case FIELD_COUNT: {
        struct maybe_u64 *count = at;
        if (get_bounded(r, 1, 0, 1, &v, f->name) < 0)
            return -1;
        count->is_known = v != 0;
        return get_number(r, 8, &count->value, f->name);
    }
    case FIELD_NOTICE: {
        struct notice *notice = at;
        if (get_bounded(r, 1, 0, SIGNAL_MAX, &v, f->name) < 0)
            return -1;
        notice->signo = (int)v;
        return get_number(r, 8, &notice->ms, f->name);
    }
    case FIELD_STATUS:
        if (get_bounded(r, 1, 0, EXIT_MAX, &v, f->name) < 0)
            return -1;
        *(int *)at = (int)v;
        return 0;
    case FIELD_MAYBE:
        if (get_bounded(r, 1, 0, 1, &v, f->name) < 0)
            return -1;
        return v ? get_text(r, f->max, at, f->name) : 0;
    case FIELD_TEXT:
        return get_text(r, f->max, at, f->name);
    case FIELD_END_OF_WORKER:
        return get_end(r, at, f->name);
    case FIELD_ORDER:
        *(const struct order **)at = &m->order;
        return get_fields(r, order_fields, COUNT(order_fields), 0, &m->order, m);
    case FIELD_ERR:
        *(const struct err **)at = &m->err;
        return get_err(r, &m->err, f->name);
    case FIELD_MPI:
        if (get_bounded(r, 1, 0, MPI_MODE_COUNT - 1, &v, f->name) < 0)
            return -1;
        if (v == MPI_MODE_AUTO)
            return bad(r, f->name, "is out of range");
        *(enum mpi_mode *)at = (enum mpi_mode)v;
        return 0;
    case FIELD_LAYOUT:
        return get_layout(r, at, m, f->name);
    case FIELD_NODES:
        return get_nodes(r, at, m, f->name);
    case FIELD_BYTES:
        return get_counted(r, f->max, at, f->name);
    }
    return -1;
}

static int get_frame(struct reader *r, uint64_t number, struct wire_message *m)
{
    struct frame *frame = &m->u.frame;
    uint64_t generation;
    size_t type = 0;
    while (type < COUNT(numbers) && numbers[type] != number)
        type++;
    if (type == COUNT(numbers))
        return bad(r, "its kind", "is unknown");
    m->kind = WIRE_KIND_FRAME;
    frame->type = (enum frame_type)type;
    if (get_number(r, 4, &generation, "generation") < 0)
        return -1;
    frame->generation = (uint32_t)generation;
    return get_fields(r, frame_fields, COUNT(frame_fields), (int)type, frame, m);
}

static int get_output(struct reader *r, struct wire_output *output)
{
    uint64_t rank, stream;
    if (get_number(r, 4, &rank, "rank") < 0 || get_bounded(r, 1, 1, 2, &stream, "stream") < 0)
        return -1;
    if (r->in.n > LINK_WIRE_OUTPUT_MAX)
        return bad(r, "output", "is too long");
    *output = (struct wire_output){(uint32_t)rank, (int)stream, r->in};
    r->in = (struct str){r->in.p + r->in.n, 0};
    return 0;
}

static int get_input(struct reader *r, struct str *input)
{
    if (r->in.n > LINK_WIRE_OUTPUT_MAX)
        return bad(r, "input", "is too long");
    *input = r->in;
    r->in = (struct str){r->in.p + r->in.n, 0};
    return 0;
}

static int get_list(struct reader *r, const char **list, size_t n, bool is_env,
                    const char *what)
{
    for (size_t i = 0; i < n; i++) {
        if (get_text(r, STRING_MAX, &list[i], what) < 0)
            return -1;
        if (is_env && (list[i][0] == '=' || !strchr(list[i], '=')))
            return bad(r, what, "is not NAME=value");
    }
    return 0;
}

/* *list: in a message's one block, after the n strings that are there already. */
static int get_strings(struct reader *r, struct wire_message *m, size_t before, size_t *n,
                       bool is_env, const char *what)
{
    enum { LEAST = 5 }; /* bytes of a string on the wire */
    if (get_count(r, LINK_WIRE_LIST_MAX, LEAST, n, what) < 0)
        return -1;
    size_t total = before + *n + 1;
    m->lists = mem_realloc(m->lists, total, sizeof(char *));
    const char **list = (const char **)m->lists + before;
    list[*n] = NULL;
    return get_list(r, list, *n, is_env, what);
}

static int get_who(struct reader *r, struct wire_who *who)
{
    uint64_t node, task;
    if (get_number(r, 4, &node, "node") < 0 || get_number(r, 4, &task, "task") < 0
        || get_text(r, HOST_MAX, &who->host, "host") < 0)
        return -1;
    who->node = (uint32_t)node;
    who->task = (uint32_t)task;
    return 0;
}

static int get_setup(struct reader *r, struct wire_message *m)
{
    struct wire_setup *s = &m->u.setup;
    uint64_t node;
    if (get_number(r, 4, &node, "node") < 0 || get_text(r, HOST_MAX, &s->host, "host") < 0
        || get_text(r, DIR_MAX, &s->dir, "directory") < 0
        || get_text(r, SLOTS_MAX, &s->slots, "slots") < 0
        || get_text(r, ADDR_MAX, &s->addr, "address") < 0
        || get_text(r, ADDR_MAX, &s->iface, "interface") < 0
        || get_text(r, DIR_MAX, &s->line, "line") < 0
        || get_strings(r, m, 0, &s->nargs, false, "arguments") < 0
        || get_strings(r, m, s->nargs + 1, &s->nenv, true, "environment") < 0)
        return -1;
    s->node = (uint32_t)node;
    s->args = (const char *const *)m->lists;
    s->env = s->args + s->nargs + 1;
    return 0;
}

static int get_message(struct reader *r, struct wire_message *m)
{
    uint64_t version, number;
    if (get_number(r, 1, &version, "version") < 0)
        return -1;
    if (version != LINK_WIRE_VERSION)
        return err_set(
            r->e, ERR_PROTOCOL,
            "a peer's messages have version %u and this muster's version %d; use one "
            "muster on all nodes",
            (unsigned)version, LINK_WIRE_VERSION);
    if (get_number(r, 1, &number, "its kind") < 0)
        return -1;
    switch (number) {
    case NUMBER_SETUP:
        m->kind = WIRE_KIND_SETUP;
        return get_setup(r, m);
    case NUMBER_WHO:
        m->kind = WIRE_KIND_WHO;
        return get_who(r, &m->u.who);
    case NUMBER_OUTPUT:
        m->kind = WIRE_KIND_OUTPUT;
        return get_output(r, &m->u.output);
    case NUMBER_MORE:
        m->kind = WIRE_KIND_MORE;
        return 0;
    case NUMBER_INPUT:
        m->kind = WIRE_KIND_INPUT;
        return get_input(r, &m->u.input);
    default:
        return get_frame(r, number, m);
    }
}

int link_wire_decode(struct str bytes, struct wire_message *m, struct err *e)
{
    struct reader r = {bytes, e};
    memset(m, 0, sizeof *m);
    if (get_message(&r, m) == 0 && (!r.in.n || bad(&r, "its end", "is followed by more") == 0))
        return 0;
    wire_message_fini(m);
    return -1;
}

void wire_message_fini(struct wire_message *m)
{
    free(m->lists);
    m->lists = NULL;
}
