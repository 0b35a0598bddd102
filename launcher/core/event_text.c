#include "launcher/core/event_text.h"

#include <string.h>

#include "base/str.h"
#include "launcher/core/event_fields.h"
#include "launcher/core/note.h"
#include "launcher/core/notice.h"
#include "launcher/core/signal_names.h"

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

static bool is_left_out(const struct event_field *f, const void *at)
{
    return (f->kind == FIELD_MAYBE && !*(const char *const *)at)
           || (f->kind == FIELD_MPI && *(const enum mpi_mode *)at == MPI_MODE_NONE)
           || (f->kind == FIELD_LAYOUT && !*(const struct mpi_layout *const *)at)
           || (f->kind == FIELD_FLAG && !*(const bool *)at)
           || (f->kind == FIELD_RANK && *(const uint32_t *)at == NODE_RANK_ANY)
           || (f->kind == FIELD_COUNT && !((const struct maybe_u64 *)at)->is_known)
           || (f->kind == FIELD_NOTICE && !((const struct notice *)at)->ms);
}

static void field_format(const struct event_field *f, const void *base, struct buf *out)
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
        buf_addf(out, "%s:%d%s", event_end_names[end->kind], end->code,
                 end->core ? ":core" : "");
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
        event_fields_lower(out, note_name((enum note_id) * (const int *)at));
        return;
    case FIELD_COUNT:
        buf_addf(out, "%llu", (unsigned long long)((const struct maybe_u64 *)at)->value);
        return;
    case FIELD_HANG:
        buf_adds(out, event_hang_names[*(const enum hang_kind *)at]);
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

static void fields_format(const struct event_table *table, int type, const void *base,
                          struct buf *out)
{
    for (size_t i = 0; i < table->nfields; i++)
        if (table->fields[i].type == type)
            field_format(&table->fields[i], base, out);
}

static void frame_format(const struct frame *frame, struct buf *out)
{
    buf_addc(out, ' ');
    event_fields_lower(out, event_table_frames.names[frame->type]);
    buf_addf(out, " gen=%u", frame->generation);
    fields_format(&event_table_frames, (int)frame->type, frame, out);
}

void event_format(const struct event *ev, struct buf *out)
{
    buf_addf(out, "%llu ", (unsigned long long)ev->now_ms);
    event_fields_lower(out, event_table_events.names[ev->type]);
    fields_format(&event_table_events, (int)ev->type, ev, out);
    if (ev->type == EV_FRAME)
        frame_format(&ev->u.frame.frame, out);
}

void effect_format(const struct effect *fx, struct buf *out)
{
    event_fields_lower(out, event_table_effects.names[fx->type]);
    fields_format(&event_table_effects, (int)fx->type, fx, out);
    if (fx->type == FX_SEND)
        frame_format(&fx->u.send.frame, out);
}
