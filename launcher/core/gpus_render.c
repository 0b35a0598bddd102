#include "launcher/core/gpus_render.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* X(id, title) */
#define COLUMNS(X)                                                                             \
    X(INDEX, "GPU")                                                                            \
    X(CUDA, "CUDA now")                                                                        \
    X(RANK, "rank")                                                                            \
    X(UUID, "UUID")                                                                            \
    X(PCI, "PCI bus id")                                                                       \
    X(MINOR, "minor")                                                                          \
    X(NAME, "name")                                                                            \
    X(MEMORY, "MiB used / total")                                                              \
    X(USE, "used by")

enum column {
#define X(id, title) COLUMN_##id,
    COLUMNS(X)
#undef X
        COLUMN_COUNT
};

static const char *const titles[] = {
#define X(id, title) [COLUMN_##id] = title,
    COLUMNS(X)
#undef X
};
static_assert(sizeof titles / sizeof titles[0] == COLUMN_COUNT, "one title a column");

enum { INDENT = 7, GAP = 2, VISIBLE_USE_MIB = 1024 };

/* ---- cells ---- */

static uint64_t mib(uint64_t bytes)
{
    return bytes >> 20;
}

static void add_use(const struct device *d, struct buf *out)
{
    if (d->lost) {
        buf_adds(out, "LOST: it has fallen off the bus");
        return;
    }
    if (d->nprocs > 0) {
        buf_addf(out, "%d process%s", d->nprocs, d->nprocs == 1 ? "" : "es");
        for (int i = 0; i < d->npids; i++)
            buf_addf(out, "%s%u", i ? "," : ": pid ", d->pids[i]);
        if (d->npids < d->nprocs && d->npids)
            buf_adds(out, ",...");
    } else if (d->nprocs < 0) {
        buf_adds(out, "?");
    } else if (d->mem_total && mib(d->mem_total - d->mem_free) >= VISIBLE_USE_MIB) {
        buf_adds(out, "nobody to be seen from here");
    } else {
        buf_adds(out, "nobody");
    }
    if (d->util > 0)
        buf_addf(out, ", %d %%", d->util);
    if (d->mode == COMPUTE_PROHIBITED)
        buf_adds(out, ", compute mode PROHIBITED");
    if (d->mode == COMPUTE_EXCLUSIVE_PROCESS)
        buf_adds(out, ", compute mode EXCLUSIVE_PROCESS");
}

static void add_memory(const struct device *d, const struct mig *m, struct buf *out)
{
    if (m && m->mem_total)
        buf_addf(out, "%llu", (unsigned long long)mib(m->mem_total));
    else if (!m && d->mem_total)
        buf_addf(out, "%llu / %llu", (unsigned long long)mib(d->mem_total - d->mem_free),
                 (unsigned long long)mib(d->mem_total));
}

/* CUDA names a MIG instance only through its GPU. */
static void add_cuda(const struct gpus_view *v, const struct gpus_row *row, struct buf *out)
{
    if (row->position >= 0)
        buf_addf(out, "cuda:%d", row->position);
    else if (row->unit.mig < 0)
        buf_adds(out, v->has_seen                           ? "hidden"
                      : v->fault.class == GPU_E_AMBIENT_BAD ? "error"
                                                            : "?");
}

static void add_cell(const struct gpus_view *v, const struct gpus_row *row, enum column column,
                     struct buf *out)
{
    const struct device *d = &v->inv->devices[row->unit.device];
    const struct mig *m = row->unit.mig < 0 ? NULL : &d->mig[row->unit.mig];
    switch (column) {
    case COLUMN_INDEX:
        gpu_unit_format(v->inv, row->unit, out);
        return;
    case COLUMN_CUDA:
        add_cuda(v, row, out);
        return;
    case COLUMN_RANK:
        buf_adds(out, row->ranks ? row->ranks : "");
        return;
    case COLUMN_UUID:
        buf_adds(out, gpu_unit_uuid(v->inv, row->unit));
        return;
    case COLUMN_PCI:
        buf_adds(out, m ? "" : d->pci);
        return;
    case COLUMN_MINOR:
        if (!m && d->minor >= 0)
            buf_addf(out, "%d", d->minor);
        return;
    case COLUMN_NAME:
        buf_adds(out, m ? "MIG instance" : d->name);
        if (!m && d->mig_enabled)
            buf_addf(out, " (MIG on, %d instance%s)", d->nmig, d->nmig == 1 ? "" : "s");
        return;
    case COLUMN_MEMORY:
        add_memory(d, m, out);
        return;
    case COLUMN_USE:
        if (!m)
            add_use(d, out);
        return;
    case COLUMN_COUNT:
        return;
    }
}

/* ---- the table ---- */

struct table {
    char *(*cells)[COLUMN_COUNT]; /* titles first, then a row each */
    int nrows;
    size_t widths[COLUMN_COUNT];
    int nfirst; /* columns of the first line */
};

static void table_init(struct table *t, const struct gpus_view *v)
{
    *t = (struct table){.nrows = v->nrows + 1};
    t->cells = mem_alloc((size_t)t->nrows, sizeof *t->cells);
    for (int c = 0; c < COLUMN_COUNT; c++) {
        for (int r = 0; r < t->nrows; r++) {
            struct buf cell;
            buf_init(&cell, 0);
            if (r == 0)
                buf_adds(&cell, titles[c]);
            else
                add_cell(v, &v->rows[r - 1], (enum column)c, &cell);
            if (!cell.len)
                buf_adds(&cell, "-");
            if (cell.len > t->widths[c])
                t->widths[c] = cell.len;
            t->cells[r][c] = buf_steal(&cell);
        }
    }
}

static void table_fini(struct table *t)
{
    for (int r = 0; r < t->nrows; r++)
        for (int c = 0; c < COLUMN_COUNT; c++)
            free(t->cells[r][c]);
    free(t->cells);
}

/* As many columns as fit, but always those up to the UUID. */
static void table_fit(struct table *t, unsigned width)
{
    size_t used = 0;
    for (t->nfirst = 0; t->nfirst < COLUMN_COUNT; t->nfirst++) {
        used += t->widths[t->nfirst] + (t->nfirst ? GAP : 0);
        if (used > width && t->nfirst > COLUMN_UUID)
            return;
    }
}

static void add_line(const struct table *t, int row, int from, int to, struct buf *out)
{
    for (int c = from; c < to; c++) {
        bool is_number = c == COLUMN_INDEX || c == COLUMN_MINOR;
        int width = c + 1 == to && !is_number ? 0 : (int)t->widths[c];
        buf_addf(out, "%s%*s", c > from ? "  " : "", is_number ? width : -width,
                 t->cells[row][c]);
    }
    buf_addc(out, '\n');
}

static void add_table(const struct gpus_view *v, unsigned width, struct buf *out)
{
    struct table t;
    table_init(&t, v);
    table_fit(&t, width);
    for (int r = 0; r < t.nrows; r++) {
        add_line(&t, r, 0, t.nfirst, out);
        if (t.nfirst == COLUMN_COUNT)
            continue;
        buf_addf(out, "%*s", INDENT - GAP, "");
        add_line(&t, r, t.nfirst, COLUMN_COUNT, out);
    }
    table_fini(&t);
}

/* A sentence, broken at blanks. */
static void add_words(const char *sentence, unsigned width, struct buf *out)
{
    struct str rest = str_from(sentence), word;
    size_t column = 0;
    while (str_split(&rest, ' ', &word)) {
        if (column && column + 1 + word.n > width) {
            buf_adds(out, "\n ");
            column = 1;
        }
        if (column)
            buf_addc(out, ' ');
        buf_add(out, word.p, word.n);
        column += word.n + (column ? 1 : 0);
    }
    buf_addc(out, '\n');
}

void gpus_render(const struct gpus_view *v, unsigned width, struct buf *out)
{
    if (v->nrows) {
        add_table(v, width, out);
        buf_addc(out, '\n');
    }
    for (size_t i = 0; i < v->nwords; i++)
        add_words(v->words[i], width, out);
}
