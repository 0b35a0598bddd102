#include "launcher/core/event_text.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "launcher/core/note.h"
#include "launcher/core/notice.h"
#include "launcher/core/signal_names.h"

enum field_kind {
    FIELD_U16,
    FIELD_U32,
    FIELD_U64,
    FIELD_I64,
    FIELD_BOOL,
    FIELD_SIGNAL,
    FIELD_TEXT,
    FIELD_MAYBE, /* a text that is left out where there is none */
    FIELD_END_OF_WORKER,
    FIELD_ORDER,
    FIELD_ERR,
    FIELD_NOTE_ID,
    FIELD_RANK, /* a node rank, left out where the head may choose */
    FIELD_INT,
    FIELD_FLAG,   /* left out where it is not set */
    FIELD_COUNT,  /* a number that is left out where it is not known */
    FIELD_HANG,   /* which limit */
    FIELD_NOTICE, /* SIGUSR1:20000ms; left out where there is none */
    FIELD_MPI,    /* left out for none */
    FIELD_LAYOUT, /* a:2,b:4 are hosts and their ranks; left out where there is no MPI */
    FIELD_NODES,  /* 0,1,3: of struct gather */
    FIELD_BYTES,  /* as text; only its length where it is long */
};

struct field {
    int type; /* event, frame or effect type */
    const char *name;
    enum field_kind kind;
    size_t offset;
};

#define FRAME_FIELD(type, name, kind, member)                                                  \
    {                                                                                          \
        FRAME_##type, name, FIELD_##kind, offsetof(struct frame, u.member)                     \
    }
static const struct field frame_fields[] = {
    FRAME_FIELD(HELLO, "host", TEXT, hello.host),
    FRAME_FIELD(HELLO, "slots", U32, hello.slots),
    FRAME_FIELD(HELLO, "rank", RANK, hello.node_rank),
    FRAME_FIELD(HELLO, "nnodes", U32, hello.nnodes),
    FRAME_FIELD(HELLO, "pid", U32, hello.pid),
    FRAME_FIELD(HELLO, "via", MAYBE, hello.via),
    FRAME_FIELD(HELLO, "reach", MAYBE, hello.reach),
    FRAME_FIELD(PLAN, "order", ORDER, plan.order),
    FRAME_FIELD(REFUSED, "err", ERR, refused.err),
    FRAME_FIELD(REFUSED, "host", MAYBE, refused.host),
    FRAME_FIELD(REFUSED, "rank", RANK, refused.node_rank),
    FRAME_FIELD(STARTED, "local_rank", U32, started.local_rank),
    FRAME_FIELD(STARTED, "pid", U32, started.pid),
    FRAME_FIELD(SIGNAL, "signo", SIGNAL, signal.signo),
    FRAME_FIELD(INTERRUPT, "signo", SIGNAL, signal.signo),
    FRAME_FIELD(BEAT, "last", FLAG, beat.is_last),
    FRAME_FIELD(BYE, "status", INT, bye.status),
    FRAME_FIELD(BYE, "text", MAYBE, bye.text),
    FRAME_FIELD(STOP, "signo", SIGNAL, stop.signo),
    FRAME_FIELD(STOP, "grace_ms", U64, stop.grace_ms),
    FRAME_FIELD(STOP, "final", BOOL, stop.is_final),
    FRAME_FIELD(EXITED, "local_rank", U32, exited.local_rank),
    FRAME_FIELD(EXITED, "pid", U32, exited.pid),
    FRAME_FIELD(EXITED, "end", END_OF_WORKER, exited.end),
    FRAME_FIELD(EXITED, "gpu", TEXT, exited.gpu),
    FRAME_FIELD(EXITED, "tail", TEXT, exited.evidence.tail),
    FRAME_FIELD(EXITED, "error", MAYBE, exited.evidence.error),
    FRAME_FIELD(EXITED, "cause", MAYBE, exited.evidence.cause),
    FRAME_FIELD(STOP, "notice", NOTICE, stop.notice),
    FRAME_FIELD(HUNG, "what", HANG, hung.kind),
    FRAME_FIELD(HUNG, "local_rank", U32, hung.local_rank),
    FRAME_FIELD(HUNG, "quiet_ms", U64, hung.quiet_ms),
    FRAME_FIELD(STACKS, "may_abort", BOOL, stacks.may_abort),
    FRAME_FIELD(STACK, "local_rank", U32, stack.local_rank),
    FRAME_FIELD(STACK, "where", TEXT, stack.facts.where),
    FRAME_FIELD(STACK, "step", COUNT, stack.facts.step),
    FRAME_FIELD(STACK, "quiet_ms", COUNT, stack.facts.quiet_ms),
    FRAME_FIELD(STACK, "section", MAYBE, stack.facts.section),
    FRAME_FIELD(STACK, "status", MAYBE, stack.facts.status),
    FRAME_FIELD(STACKED, "file", MAYBE, stacked.file),
    FRAME_FIELD(READY, "mpi", MPI, ready.mpi),
    FRAME_FIELD(START, "layout", LAYOUT, start.layout),
    FRAME_FIELD(GATHER, "operation", TEXT, gather.operation),
    FRAME_FIELD(GATHER, "nodes", NODES, gather),
    FRAME_FIELD(GATHER, "wanted", COUNT, gather.wanted),
    FRAME_FIELD(GATHER, "data", BYTES, gather.data),
    FRAME_FIELD(WANTED, "operation", TEXT, gather.operation),
    FRAME_FIELD(WANTED, "nodes", NODES, gather),
    FRAME_FIELD(WANTED, "wanted", COUNT, gather.wanted),
    FRAME_FIELD(GATHERED, "operation", TEXT, gathered.operation),
    FRAME_FIELD(GATHERED, "lost", FLAG, gathered.is_lost),
    FRAME_FIELD(GATHERED, "data", BYTES, gathered.data),
};

#define EVENT_FIELD(type, name, kind, member)                                                  \
    {                                                                                          \
        EV_##type, name, FIELD_##kind, offsetof(struct event, u.member)                        \
    }
static const struct field event_fields[] = {
    EVENT_FIELD(BOOT, "addr", TEXT, boot.addr),
    EVENT_FIELD(BOOT, "port", U16, boot.port),
    EVENT_FIELD(FRAME, "node", U32, frame.node),
    EVENT_FIELD(SIGNAL, "signo", SIGNAL, signal.signo),
    EVENT_FIELD(SIGNAL, "at_once", FLAG, signal.is_at_once),
    EVENT_FIELD(STORE_READY, "generation", U32, store_ready.generation),
    EVENT_FIELD(NODE_LOST, "node", U32, node_lost.node),
    EVENT_FIELD(NODE_LOST, "err", ERR, node_lost.err),
    EVENT_FIELD(NODE_FAILED, "node", U32, node_failed.node),
    EVENT_FIELD(NODE_FAILED, "err", ERR, node_failed.err),
    EVENT_FIELD(NODE_STATE, "node", U32, node_state.node),
    EVENT_FIELD(NODE_STATE, "host", TEXT, node_state.host),
    EVENT_FIELD(NODE_STATE, "state", TEXT, node_state.state),
    EVENT_FIELD(PREPARED, "mpi", MPI, prepared.mpi),
    EVENT_FIELD(PREPARE_FAILED, "err", ERR, prepare_failed.err),
    EVENT_FIELD(SPAWNED, "local_rank", U32, spawned.local_rank),
    EVENT_FIELD(SPAWNED, "pid", U32, spawned.pid),
    EVENT_FIELD(SPAWN_FAILED, "local_rank", U32, spawn_failed.local_rank),
    EVENT_FIELD(SPAWN_FAILED, "sys", INT, spawn_failed.sys),
    EVENT_FIELD(EXITED, "local_rank", U32, exited.local_rank),
    EVENT_FIELD(EXITED, "end", END_OF_WORKER, exited.end),
    EVENT_FIELD(EXITED, "tail", TEXT, exited.evidence.tail),
    EVENT_FIELD(EXITED, "error", MAYBE, exited.evidence.error),
    EVENT_FIELD(EXITED, "cause", MAYBE, exited.evidence.cause),
    EVENT_FIELD(STREAMS_ENDED, "local_rank", U32, streams_ended.local_rank),
    EVENT_FIELD(SWEPT, "left", U32, swept.left),
    EVENT_FIELD(NOTIFY, "local_rank", U32, notify.local_rank),
    EVENT_FIELD(NOTIFY, "alive", BOOL, notify.sign.is_alive),
    EVENT_FIELD(NOTIFY, "step", COUNT, notify.sign.step),
    EVENT_FIELD(NOTIFY, "section", MAYBE, notify.sign.section),
    EVENT_FIELD(NOTIFY, "section_ms", U64, notify.sign.section_ms),
    EVENT_FIELD(NOTIFY, "status", MAYBE, notify.sign.status),
    EVENT_FIELD(LOOKED, "output_at_ms", U64, looked.output_at_ms),
    EVENT_FIELD(STACK, "local_rank", U32, stack.local_rank),
    EVENT_FIELD(STACK, "where", TEXT, stack.where),
    EVENT_FIELD(STACKED, "file", MAYBE, stacked.file),
    EVENT_FIELD(ABORTED, "local_rank", U32, aborted.local_rank),
    EVENT_FIELD(GATHER, "operation", TEXT, gather.operation),
    EVENT_FIELD(GATHER, "nodes", NODES, gather),
    EVENT_FIELD(GATHER, "wanted", COUNT, gather.wanted),
    EVENT_FIELD(GATHER, "data", BYTES, gather.data),
};

#define EFFECT_FIELD(type, name, kind, member)                                                 \
    {                                                                                          \
        FX_##type, name, FIELD_##kind, offsetof(struct effect, u.member)                       \
    }
static const struct field effect_fields[] = {
    EFFECT_FIELD(SEND, "node", U32, send.node),
    EFFECT_FIELD(DROP_NODE, "node", U32, drop_node.node),
    EFFECT_FIELD(NOTE, "id", NOTE_ID, note.id),
    EFFECT_FIELD(NOTE, "rank", U32, note.rank),
    EFFECT_FIELD(NOTE, "node", U32, note.node),
    EFFECT_FIELD(NOTE, "number", I64, note.number),
    EFFECT_FIELD(NOTE, "text", TEXT, note.text),
    EFFECT_FIELD(STORE_RESET, "generation", U32, store_reset.generation),
    EFFECT_FIELD(SPAWN, "local_rank", U32, spawn.local_rank),
    EFFECT_FIELD(KILL, "local_rank", U32, kill.local_rank),
    EFFECT_FIELD(KILL, "signo", SIGNAL, kill.signo),
    EFFECT_FIELD(SWEEP, "signo", SIGNAL, sweep.signo),
    EFFECT_FIELD(CLOSE_STREAMS, "local_rank", U32, spawn.local_rank),
    EFFECT_FIELD(STACKS, "may_abort", BOOL, stacks.may_abort),
    EFFECT_FIELD(WORLD, "layout", LAYOUT, world.layout),
    EFFECT_FIELD(WANTED, "operation", TEXT, wanted.operation),
    EFFECT_FIELD(WANTED, "nodes", NODES, wanted),
    EFFECT_FIELD(WANTED, "wanted", COUNT, wanted.wanted),
    EFFECT_FIELD(GATHERED, "operation", TEXT, gathered.operation),
    EFFECT_FIELD(GATHERED, "lost", FLAG, gathered.is_lost),
    EFFECT_FIELD(GATHERED, "data", BYTES, gathered.data),
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *const frame_names[] = {
#define X(name, direction) [FRAME_##name] = #name,
    FRAME_TYPES(X)
#undef X
};
static const char *const event_names[] = {
#define X(name, who) [EV_##name] = #name,
    EVENT_TYPES(X)
#undef X
};
static const char *const effect_names[] = {
#define X(name, whose) [FX_##name] = #name,
    EFFECT_TYPES(X)
#undef X
};
static_assert(COUNT(frame_names) == FRAME_TYPE_COUNT, "one name a frame");
static_assert(COUNT(event_names) == EVENT_TYPE_COUNT, "one name an event");
static_assert(COUNT(effect_names) == EFFECT_TYPE_COUNT, "one name an effect");

static const char *const end_names[] = {[END_EXIT] = "exit",
                                        [END_SIGNAL] = "signal",
                                        [END_EXEC] = "exec",
                                        [END_UNKNOWN] = "unknown"};

static const char *const hang_names[] = {
    [HANG_NONE] = "none", [HANG_HEARTBEAT] = "heartbeat", [HANG_SILENCE] = "silence"};
static_assert(COUNT(hang_names) == HANG_KIND_COUNT, "one name a kind");

static void lower(struct buf *out, const char *name)
{
    for (; *name; name++)
        buf_addc(out, (char)(*name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name));
}

/* Text in a trace: blanks and control bytes as '_', so that a line stays a list of words. */
static void word(struct buf *out, const char *s)
{
    for (; *s; s++)
        buf_addc(out, *s > ' ' && *s < 0x7f ? *s : '_');
}

static void order_format(const struct order *o, struct buf *out)
{
    buf_addf(out, "%s,gen=%u/%u,node=%u/%u,first=%u,n=%u,world=%u,%s:%u", o->job_id,
             o->generation, o->max_restarts, o->node_rank, o->nnodes, o->first_rank,
             o->nworkers, o->world_size, o->master_addr, o->master_port);
}

static void layout_format(const struct mpi_layout *layout, struct buf *out)
{
    for (uint32_t i = 0; i < layout->nnodes; i++) {
        buf_adds(out, i ? "," : "");
        word(out, layout->nodes[i].host);
        buf_addf(out, ":%u", layout->nodes[i].nranks);
    }
}

static void bytes_format(struct str bytes, struct buf *out)
{
    enum { SHOWN_MAX = 64 };
    if (bytes.n > SHOWN_MAX)
        buf_addf(out, "(%zu_bytes)", bytes.n);
    for (size_t i = 0; i < bytes.n && bytes.n <= SHOWN_MAX; i++) {
        char text[2] = {bytes.p[i] ? bytes.p[i] : '_', '\0'};
        word(out, text);
    }
}

static bool is_left_out(const struct field *f, const void *at)
{
    return (f->kind == FIELD_MAYBE && !*(const char *const *)at)
           || (f->kind == FIELD_MPI && *(const enum mpi_mode *)at == MPI_MODE_NONE)
           || (f->kind == FIELD_LAYOUT && !*(const struct mpi_layout *const *)at)
           || (f->kind == FIELD_FLAG && !*(const bool *)at)
           || (f->kind == FIELD_RANK && *(const uint32_t *)at == NODE_RANK_ANY)
           || (f->kind == FIELD_COUNT && !((const struct maybe_u64 *)at)->is_known)
           || (f->kind == FIELD_NOTICE && !((const struct notice *)at)->ms);
}

static void field_format(const struct field *f, const void *base, struct buf *out)
{
    const void *at = (const char *)base + f->offset;
    if (is_left_out(f, at))
        return;
    buf_addf(out, " %s=", f->name);
    switch (f->kind) {
    case FIELD_U16:
        buf_addf(out, "%u", *(const uint16_t *)at);
        return;
    case FIELD_U32:
    case FIELD_RANK:
        buf_addf(out, "%u", *(const uint32_t *)at);
        return;
    case FIELD_U64:
        buf_addf(out, "%llu", (unsigned long long)*(const uint64_t *)at);
        return;
    case FIELD_I64:
        buf_addf(out, "%lld", (long long)*(const int64_t *)at);
        return;
    case FIELD_BOOL:
    case FIELD_FLAG:
        buf_adds(out, *(const bool *)at ? "yes" : "no");
        return;
    case FIELD_SIGNAL:
        buf_adds(out, signal_name(*(const int *)at));
        return;
    case FIELD_INT:
        buf_addf(out, "%d", *(const int *)at);
        return;
    case FIELD_TEXT:
    case FIELD_MAYBE: {
        const char *s = *(const char *const *)at;
        word(out, s ? s : "-");
        return;
    }
    case FIELD_END_OF_WORKER: {
        const struct worker_end *end = at;
        buf_addf(out, "%s:%d%s", end_names[end->kind], end->code, end->core ? ":core" : "");
        return;
    }
    case FIELD_ORDER: {
        const struct order *o = *(const struct order *const *)at;
        if (o)
            order_format(o, out);
        return;
    }
    case FIELD_ERR: {
        const struct err *err = *(const struct err *const *)at;
        if (err) {
            buf_addf(out, "%s:", err_name(err->code));
            word(out, err->text);
        }
        return;
    }
    case FIELD_NOTE_ID:
        lower(out, note_name((enum note_id) * (const int *)at));
        return;
    case FIELD_COUNT:
        buf_addf(out, "%llu", (unsigned long long)((const struct maybe_u64 *)at)->value);
        return;
    case FIELD_HANG:
        buf_adds(out, hang_names[*(const enum hang_kind *)at]);
        return;
    case FIELD_NOTICE: {
        const struct notice *notice = at;
        buf_addf(out, "%s:%llums", signal_name(notice->signo), (unsigned long long)notice->ms);
        return;
    }
    case FIELD_MPI:
        buf_adds(out, mpi_mode_name(*(const enum mpi_mode *)at));
        return;
    case FIELD_LAYOUT:
        layout_format(*(const struct mpi_layout *const *)at, out);
        return;
    case FIELD_NODES: {
        const struct gather *gather = at;
        for (uint32_t i = 0; i < gather->nnodes; i++)
            buf_addf(out, "%s%u", i ? "," : "", gather->nodes[i]);
        return;
    }
    case FIELD_BYTES:
        bytes_format(*(const struct str *)at, out);
        return;
    }
}

static void fields_format(const struct field *table, size_t n, int type, const void *base,
                          struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        if (table[i].type == type)
            field_format(&table[i], base, out);
}

static void frame_format(const struct frame *frame, struct buf *out)
{
    buf_addc(out, ' ');
    lower(out, frame_names[frame->type]);
    buf_addf(out, " gen=%u", frame->generation);
    fields_format(frame_fields, COUNT(frame_fields), (int)frame->type, frame, out);
}

void event_format(const struct event *ev, struct buf *out)
{
    buf_addf(out, "%llu ", (unsigned long long)ev->now_ms);
    lower(out, event_names[ev->type]);
    fields_format(event_fields, COUNT(event_fields), (int)ev->type, ev, out);
    if (ev->type == EV_FRAME)
        frame_format(&ev->u.frame.frame, out);
}

void effect_format(const struct effect *fx, struct buf *out)
{
    lower(out, effect_names[fx->type]);
    fields_format(effect_fields, COUNT(effect_fields), (int)fx->type, fx, out);
    if (fx->type == FX_SEND)
        frame_format(&fx->u.send.frame, out);
}

/* ---- parsing, for traces ---- */

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
        lower(&name, names[i]);
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
    while (kind < COUNT(end_names) && !str_eq(part, end_names[kind]))
        kind++;
    if (kind == COUNT(end_names) || !str_split(&rest, ':', &part)
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
    for (size_t i = 0; i < COUNT(hang_names); i++) {
        if (strcmp(hang_names[i], text) == 0) {
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

static int field_parse(const struct field *f, void *base, char *text, struct event_parts *parts)
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

static int fields_parse(const struct field *table, size_t n, int type, void *base, char **rest,
                        struct event_parts *parts, struct err *e)
{
    char *token;
    while ((token = next_word(rest)) != NULL) {
        char *value = strchr(token, '=');
        if (!value)
            return err_set(e, ERR_USAGE, "'%s' is not KEY=VALUE", token);
        *value++ = '\0';
        const struct field *f = NULL;
        for (size_t i = 0; i < n && !f; i++)
            if (table[i].type == type && strcmp(table[i].name, token) == 0)
                f = &table[i];
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
    int type = token ? find_name(event_names, COUNT(event_names), token) : -1;
    if (type < 0)
        return err_set(e, ERR_USAGE, "no event is called '%s'", token ? token : "");
    ev->type = (enum event_type)type;
    if (ev->type != EV_FRAME)
        return fields_parse(event_fields, COUNT(event_fields), type, ev, &rest, parts, e);
    /* frame NODE NAME GENERATION KEY=VALUE... */
    uint64_t node, generation;
    char *node_text = next_word(&rest), *name = next_word(&rest), *gen = next_word(&rest);
    int frame = name ? find_name(frame_names, COUNT(frame_names), name) : -1;
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
    return fields_parse(frame_fields, COUNT(frame_fields), frame, &ev->u.frame.frame, &rest,
                        parts, e);
}
