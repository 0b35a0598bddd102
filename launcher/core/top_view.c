#include "launcher/core/top_view.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/jobs_table.h"
#include "launcher/core/top_odd.h"

/* How much more it is than it was, in units per 1000 s; not known unless both are. */
static struct maybe_u64 rate(struct maybe_u64 was, struct maybe_u64 is, uint64_t ms)
{
    if (!was.is_known || !is.is_known || is.value < was.value || !ms)
        return (struct maybe_u64){0};
    return (struct maybe_u64){true, (is.value - was.value) * 1000000 / ms};
}

static struct maybe_u64 bytes_per_s(struct maybe_u64 was, struct maybe_u64 is, uint64_t ms)
{
    struct maybe_u64 n = rate(was, is, ms);
    n.value /= 1000;
    return n;
}

/* 0 = not known. */
static uint64_t between(struct maybe_u64 was, struct maybe_u64 is)
{
    return was.is_known && is.is_known && is.value > was.value ? is.value - was.value : 0;
}

static void fill_rates(const struct control_rank *was, const struct control_rank *is,
                       struct top_row *row)
{
    const struct rank_sample *a = &was->sample, *b = &is->sample;
    uint64_t gpu_ms = between(a->gpu.at_ms, b->gpu.at_ms);
    row->steps_per_ks = rate(was->step, is->step, between(a->asked_ms, b->asked_ms));
    row->cpu = rate(a->cpu_ms, b->cpu_ms, between(a->at_ms, b->at_ms));
    row->cpu.value /= 10000; /* ms a ks: 10000 are one percent */
    row->nvlink.tx = bytes_per_s(a->gpu.nvlink_tx, b->gpu.nvlink_tx, gpu_ms);
    row->nvlink.rx = bytes_per_s(a->gpu.nvlink_rx, b->gpu.nvlink_rx, gpu_ms);
}

static void fill(const struct control_status *before, const struct control_status *now,
                 size_t i, struct top_row *row)
{
    const struct control_rank *rank = &now->ranks[i];
    bool is_same = before->generation == now->generation && i < before->nranks
                   && before->ranks[i].pid == rank->pid;
    *row = (struct top_row){
        .rank = rank,
        .pcie = {rank->sample.gpu.pcie_tx_rate, rank->sample.gpu.pcie_rx_rate},
        .is_unknown = rank->state == RANK_RUNNING && !rank->sample.asked_ms.is_known,
    };
    if (is_same)
        fill_rates(&before->ranks[i], rank, row);
}

/* The nodes that have not answered; ranks stand by node. */
static void add_silent(struct top_view *v)
{
    const struct control_rank *last = NULL;
    unsigned nnodes = 0;
    for (size_t i = 0; i < v->nrows; i++) {
        const struct control_rank *rank = v->rows[i].rank;
        if (!v->rows[i].is_unknown || (last && last->node == rank->node))
            continue;
        if (!nnodes++)
            buf_addf(&v->note, "node %s", rank->host);
        last = rank;
    }
    if (nnodes > 1)
        buf_addf(&v->note, " and %u more", nnodes - 1);
    if (nnodes)
        buf_adds(&v->note, ": no answer in time, what the ranks do there is not known");
}

void top_view_init(struct top_view *v, const struct control_status *before,
                   const struct control_status *now)
{
    *v = (struct top_view){.status = now, .nrows = now->nranks};
    v->rows = mem_alloc(v->nrows, sizeof *v->rows);
    buf_init(&v->odd, 0);
    buf_init(&v->note, 0);
    for (size_t i = 0; i < v->nrows; i++)
        fill(before, now, i, &v->rows[i]);
    top_odd(v->rows, v->nrows, &v->odd);
    add_silent(v);
    if (now->sample_why)
        buf_addf(&v->note, "%sfigures are missing: %s", v->note.len ? "; " : "",
                 now->sample_why);
}

void top_view_fini(struct top_view *v)
{
    free(v->rows);
    buf_fini(&v->odd);
    buf_fini(&v->note);
}

/* ---- text ---- */

/* X(name, head, cells are to the right, importance: 1 is left out last), in their order */
#define TOP_COLUMNS(X)                                                                         \
    X(RANK, "RANK", true, 1)                                                                   \
    X(STATE, "STATE", false, 3)                                                                \
    X(HOST, "HOST", false, 10)                                                                 \
    X(PID, "PID", true, 13)                                                                    \
    X(GPU, "GPU", true, 4)                                                                     \
    X(UUID, "UUID", false, 14)                                                                 \
    X(UTIL, "UTIL", true, 6)                                                                   \
    X(POWER, "POWER", true, 2)                                                                 \
    X(MEMORY, "MEM", true, 7)                                                                  \
    X(TEMP, "TEMP", true, 9)                                                                   \
    X(CPU, "CPU", true, 8)                                                                     \
    X(RSS, "RSS", true, 11)                                                                    \
    X(STEP, "STEP", true, 12)                                                                  \
    X(RATE, "STEP/S", true, 5)                                                                 \
    X(NVLINK, "NVLINK", true, 15)                                                              \
    X(PCIE, "PCIE", true, 16)                                                                  \
    X(RESTARTS, "RESTARTS", true, 8)                                                           \
    X(THROTTLE, "THROTTLE", false, 6)

enum top_column {
#define X(name, ...) TOP_##name,
    TOP_COLUMNS(X)
#undef X
        TOP_COLUMN_COUNT
};

static const struct {
    const char *head;
    bool is_right;
    int importance;
} columns[] = {
#define X(name, head, is_right, importance) [TOP_##name] = {head, is_right, importance},
    TOP_COLUMNS(X)
#undef X
};
static_assert(sizeof columns / sizeof columns[0] == TOP_COLUMN_COUNT, "one row a column");

enum { IMPORTANCES = 17, UUID_SHOWN = 12 };

static const char unknown_cell[] = "?";

static void add_known(struct maybe_u64 n, uint64_t unit, const char *suffix, struct buf *out)
{
    if (n.is_known)
        buf_addf(out, "%llu%s", (unsigned long long)(n.value / unit), suffix);
}

static void add_size(struct maybe_u64 n, struct buf *out)
{
    const uint64_t mib = 1 << 20;
    if (n.is_known && n.value >= 10240 * mib)
        buf_addf(out, "%llu GiB", (unsigned long long)(n.value / 1024 / mib));
    else
        add_known(n, mib, " MiB", out);
}

static void add_rate(struct maybe_u64 per_ks, struct buf *out)
{
    if (per_ks.is_known)
        buf_addf(out, "%llu.%02llu", (unsigned long long)(per_ks.value / 1000),
                 (unsigned long long)(per_ks.value % 1000 / 10));
}

static void add_gpu_cell(const struct gpu_sample *gpu, enum top_column column, struct buf *out)
{
    if (column == TOP_UTIL)
        add_known(gpu->util, 1, " %", out);
    else if (column == TOP_POWER)
        add_known(gpu->power_mw, 1000, " W", out);
    else if (column == TOP_MEMORY)
        add_size(gpu->used, out);
    else if (column == TOP_TEMP)
        add_known(gpu->temp_c, 1, " C", out);
    else if (gpu->clock_events.is_known)
        gpu_throttle_format(gpu->clock_events.value, out);
}

/* Both ways together. */
static void add_traffic(const struct top_traffic *t, struct buf *out)
{
    const uint64_t tenth = 100 * 1000 * 1000;
    uint64_t n = (t->tx.value + t->rx.value) / tenth;
    if (t->tx.is_known && t->rx.is_known)
        buf_addf(out, "%llu.%llu GB/s", (unsigned long long)(n / 10),
                 (unsigned long long)(n % 10));
}

static bool is_of_sample(enum top_column column)
{
    switch (column) {
    case TOP_UTIL:
    case TOP_POWER:
    case TOP_MEMORY:
    case TOP_TEMP:
    case TOP_CPU:
    case TOP_RSS:
    case TOP_STEP:
    case TOP_RATE:
    case TOP_NVLINK:
    case TOP_PCIE:
        return true;
    case TOP_RANK:
    case TOP_STATE:
    case TOP_HOST:
    case TOP_PID:
    case TOP_GPU:
    case TOP_UUID:
    case TOP_RESTARTS:
    case TOP_THROTTLE:
    case TOP_COLUMN_COUNT:
        break;
    }
    return false;
}

static void add_cell(const struct top_row *row, size_t i, enum top_column column,
                     struct buf *out)
{
    if (row->is_unknown && is_of_sample(column)) {
        buf_adds(out, unknown_cell);
        return;
    }
    switch (column) {
    case TOP_RANK:
        buf_addf(out, "%s%zu", row->is_odd ? "*" : "", i);
        return;
    case TOP_STATE:
        buf_adds(out, rank_state_word(row->rank->state));
        return;
    case TOP_HOST:
        buf_adds(out, row->rank->host);
        return;
    case TOP_PID:
        buf_addf(out, "%u", (unsigned)row->rank->pid);
        return;
    case TOP_GPU:
        buf_adds(out, row->rank->gpu_index ? row->rank->gpu_index : "");
        return;
    case TOP_UUID:
        buf_addf(out, "%.*s", UUID_SHOWN, row->rank->gpu_uuid ? row->rank->gpu_uuid : "");
        return;
    case TOP_CPU:
        add_known(row->cpu, 1, " %", out);
        return;
    case TOP_RSS:
        add_size(row->rank->sample.rss, out);
        return;
    case TOP_STEP:
        add_known(row->rank->step, 1, "", out);
        return;
    case TOP_RATE:
        add_rate(row->steps_per_ks, out);
        return;
    case TOP_NVLINK:
        add_traffic(&row->nvlink, out);
        return;
    case TOP_PCIE:
        add_traffic(&row->pcie, out);
        return;
    case TOP_RESTARTS:
        if (row->rank->starts > 1)
            buf_addf(out, "%u", (unsigned)row->rank->starts - 1);
        return;
    case TOP_UTIL:
    case TOP_POWER:
    case TOP_MEMORY:
    case TOP_TEMP:
    case TOP_THROTTLE:
        add_gpu_cell(&row->rank->sample.gpu, column, out);
        return;
    case TOP_COLUMN_COUNT:
        return;
    }
}

/* Widths of the columns; 0 = left out: known of nobody, or without room. */
static void measure(const struct top_view *v, unsigned width, size_t widths[TOP_COLUMN_COUNT])
{
    size_t left = width ? width : SIZE_MAX;
    struct buf cell;
    buf_init(&cell, 0);
    memset(widths, 0, TOP_COLUMN_COUNT * sizeof *widths);
    for (int importance = 1; importance < IMPORTANCES; importance++)
        for (unsigned c = 0; c < TOP_COLUMN_COUNT; c++) {
            size_t widest = 0;
            bool is_told = false;
            for (size_t i = 0; columns[c].importance == importance && i < v->nrows; i++) {
                buf_reset(&cell);
                add_cell(&v->rows[i], i, (enum top_column)c, &cell);
                widest = cell.len > widest ? cell.len : widest;
                is_told = is_told || (cell.len && strcmp(cell.data, unknown_cell) != 0);
            }
            size_t head = strlen(columns[c].head);
            size_t needed = (widest > head ? widest : head) + 2;
            if (!is_told || needed - 2 > left)
                continue;
            widths[c] = needed - 2;
            left -= needed < left ? needed : left;
        }
    buf_fini(&cell);
}

/* One line, cut to the width, without blanks at its end. */
static void add_line(const char *text, size_t n, unsigned width, struct buf *out)
{
    if (width && n > width)
        for (n = width; n && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n--; /* not within a character */
    while (n && text[n - 1] == ' ')
        n--;
    buf_add(out, text, n);
    buf_addc(out, '\n');
}

/* A rank, or the names of the columns (row NULL). */
static void add_row(const struct top_row *row, size_t i, const size_t widths[TOP_COLUMN_COUNT],
                    unsigned width, struct buf *out)
{
    struct buf line, cell;
    buf_init(&line, 0);
    buf_init(&cell, 0);
    for (unsigned c = 0; c < TOP_COLUMN_COUNT; c++) {
        if (!widths[c])
            continue;
        buf_reset(&cell);
        if (row)
            add_cell(row, i, (enum top_column)c, &cell);
        else
            buf_adds(&cell, columns[c].head);
        buf_addf(&line, columns[c].is_right ? "%*s  " : "%-*s  ", (int)widths[c],
                 buf_str(&cell));
    }
    add_line(buf_str(&line), line.len, width, out);
    buf_fini(&line);
    buf_fini(&cell);
}

static void add_title(const struct top_view *v, unsigned width, struct buf *out)
{
    const struct control_status *s = v->status;
    struct buf line;
    buf_init(&line, 0);
    buf_addf(&line, "job %s  %s  %u/%zu ranks  %u restart%s  ", s->job_id, s->state,
             (unsigned)control_running(s), s->nranks, (unsigned)s->generation,
             s->generation == 1 ? "" : "s");
    uptime_format(s->uptime_ms, &line);
    buf_addf(&line, "  pid %u", (unsigned)s->pid);
    add_line(buf_str(&line), line.len, width, out);
    add_line(buf_str(&v->odd), v->odd.len, width, out);
    if (v->note.len)
        add_line(buf_str(&v->note), v->note.len, width, out);
    buf_fini(&line);
}

enum { HEAD_LINES = 3 }; /* without a note */

void top_view_format(const struct top_view *v, unsigned width, unsigned height, struct buf *out)
{
    size_t widths[TOP_COLUMN_COUNT], n = v->nrows;
    size_t head = HEAD_LINES + (v->note.len > 0), room = height > head ? height - head : 1;
    char more[64];
    measure(v, width, widths);
    add_title(v, width, out);
    add_row(NULL, 0, widths, width, out);
    if (height && n > room)
        n = room - 1;
    for (size_t i = 0; i < n; i++)
        add_row(&v->rows[i], i, widths, width, out);
    if (n < v->nrows) {
        snprintf(more, sizeof more, "and %zu more ranks", v->nrows - n);
        add_line(more, strlen(more), width, out);
    }
}

/* ---- JSON ---- */

static void add_key(const char *key, struct buf *out)
{
    buf_addf(out, ", \"%s\": ", key);
}

static void add_string(const char *key, const char *text, struct buf *out)
{
    add_key(key, out);
    if (text)
        buf_add_json(out, text, strlen(text));
    else
        buf_adds(out, "null");
}

static void add_number(const char *key, struct maybe_u64 n, struct buf *out)
{
    add_key(key, out);
    if (n.is_known)
        buf_addf(out, "%llu", (unsigned long long)n.value);
    else
        buf_adds(out, "null");
}

static void add_gpu(const struct gpu_sample *gpu, struct buf *out)
{
    struct buf words;
    add_number("gpu_util_percent", gpu->util, out);
    add_number("gpu_power_mw", gpu->power_mw, out);
    add_number("gpu_memory_used_bytes", gpu->used, out);
    add_number("gpu_memory_bytes", gpu->total, out);
    add_number("gpu_temperature_c", gpu->temp_c, out);
    buf_init(&words, 0);
    gpu_throttle_format(gpu->clock_events.value, &words);
    add_string("gpu_throttle", gpu->clock_events.is_known ? buf_str(&words) : NULL, out);
    buf_fini(&words);
}

static void add_rank(const struct top_row *row, size_t i, struct buf *out)
{
    const struct control_rank *rank = row->rank;
    buf_addf(out, "%s\n    {\"rank\": %zu", i ? "," : "", i);
    add_string("state", rank_state_word(rank->state), out);
    add_string("host", rank->host, out);
    add_number("local_rank", (struct maybe_u64){true, rank->local_rank}, out);
    add_number("pid", (struct maybe_u64){true, rank->pid}, out);
    add_string("gpu_index", rank->gpu_index, out);
    add_string("gpu_uuid", rank->gpu_uuid, out);
    add_number("starts", (struct maybe_u64){true, rank->starts}, out);
    add_gpu(&rank->sample.gpu, out);
    add_number("nvlink_tx_bytes_per_s", row->nvlink.tx, out);
    add_number("nvlink_rx_bytes_per_s", row->nvlink.rx, out);
    add_number("pcie_tx_bytes_per_s", row->pcie.tx, out);
    add_number("pcie_rx_bytes_per_s", row->pcie.rx, out);
    add_number("cpu_percent", row->cpu, out);
    add_number("rss_bytes", rank->sample.rss, out);
    add_number("step", rank->step, out);
    add_key("steps_per_s", out);
    if (row->steps_per_ks.is_known)
        buf_addf(out, "%llu.%03llu", (unsigned long long)(row->steps_per_ks.value / 1000),
                 (unsigned long long)(row->steps_per_ks.value % 1000));
    else
        buf_adds(out, "null");
    buf_addf(out, ", \"is_known\": %s, \"differs\": %s}", row->is_unknown ? "false" : "true",
             row->is_odd ? "true" : "false");
}

void top_view_json(const struct top_view *v, struct buf *out)
{
    const struct control_status *s = v->status;
    buf_adds(out, "{\"schema\": \"muster.top/1\"");
    add_string("id", s->job_id, out);
    add_string("program", s->program, out);
    add_string("state", s->state, out);
    add_number("pid", (struct maybe_u64){true, s->pid}, out);
    add_number("restarts", (struct maybe_u64){true, s->generation}, out);
    add_number("uptime_ms", (struct maybe_u64){true, s->uptime_ms}, out);
    add_string("differs", v->odd.len ? buf_str(&v->odd) : NULL, out);
    add_string("note", v->note.len ? buf_str(&v->note) : NULL, out);
    buf_adds(out, ", \"ranks\": [");
    for (size_t i = 0; i < v->nrows; i++)
        add_rank(&v->rows[i], i, out);
    buf_adds(out, v->nrows ? "\n]}\n" : "]}\n");
}
