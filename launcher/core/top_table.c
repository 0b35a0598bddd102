#include "launcher/core/top_view.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "launcher/core/jobs_table.h"

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

/* How a line stands out, where there is colour. Red is readable on black and on white. */
static const char plain[] = "", heading[] = "\033[1m", warning[] = "\033[1;31m";

/* One line, cut to the width, without blanks at its end. */
static void add_line(const struct top_view *v, const char *style, const char *text, size_t n,
                     unsigned width, struct buf *out)
{
    bool is_styled = v->has_colour && *style && n;
    if (width && n > width)
        for (n = width; n && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n--; /* not within a character */
    while (n && text[n - 1] == ' ')
        n--;
    buf_adds(out, is_styled ? style : "");
    buf_add(out, text, n);
    buf_adds(out, is_styled ? "\033[0m\n" : "\n");
}

/* A rank, or the names of the columns (row NULL). */
static void add_row(const struct top_view *v, const struct top_row *row, size_t i,
                    const size_t widths[TOP_COLUMN_COUNT], unsigned width, struct buf *out)
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
    const char *style = !row ? heading : row->is_odd ? warning : plain;
    add_line(v, style, buf_str(&line), line.len, width, out);
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
    add_line(v, plain, buf_str(&line), line.len, width, out);
    add_line(v, warning, buf_str(&v->odd), v->odd.len, width, out);
    if (v->note.len)
        add_line(v, plain, buf_str(&v->note), v->note.len, width, out);
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
    add_row(v, NULL, 0, widths, width, out);
    if (height && n > room)
        n = room - 1;
    for (size_t i = 0; i < n; i++)
        add_row(v, &v->rows[i], i, widths, width, out);
    if (n < v->nrows) {
        snprintf(more, sizeof more, "and %zu more ranks", v->nrows - n);
        add_line(v, plain, more, strlen(more), width, out);
    }
}
