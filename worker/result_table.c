#include "worker/result_table.h"

#include <stdio.h>

#include "worker/size_text.h"

enum { RANKS_SHOWN = 32, SQUARE_SHOWN = 16 };
/* A rank without which the rest is that much faster is no comment but a finding. */
static const double isolate_gain = 1.25;

void result_table_head(const struct result *r, struct buf *out)
{
    buf_addf(out, "# muster-worker: %u rank%s on %u node%s, backend %s (%s)\n", r->world_size,
             r->world_size == 1 ? "" : "s", r->nodes, r->nodes == 1 ? "" : "s", r->backend,
             r->why);
    if (*r->nccl_version)
        buf_addf(out, "# NCCL %s from %s, CUDA driver %d, runtime %d\n", r->nccl_version,
                 r->nccl_path, r->cuda_driver, r->cuda_runtime);
    for (uint32_t i = 0; i < r->world_size && i < RANKS_SHOWN; i++) {
        const struct result_rank *k = &r->ranks[i];
        buf_addf(out, "#  rank %3u  %s  pid %-7s", k->rank, k->host, k->pid);
        if (k->device >= 0)
            buf_addf(out, " cuda:%d  %s  %s  %s\n", k->device, k->name, k->pci, k->gpu_uuid);
        else
            buf_adds(out, " no GPU, memory of the host\n");
    }
    if (r->world_size > RANKS_SHOWN)
        buf_addf(out, "#  and %u more ranks\n", r->world_size - RANKS_SHOWN);
}

void result_table_columns(enum collective c, enum output_format format, struct buf *out)
{
    if (format == FORMAT_NCCL_TESTS) {
        buf_addf(out,
                 "# %s\n%-63s out-of-place                       in-place          \n"
                 "#       size         count      type   redop    root     time   algbw   "
                 "busbw  #wrong     time   algbw   busbw  #wrong \n"
                 "#        (B)    (elements)                               (us)  (GB/s)  "
                 "(GB/s)             (us)  (GB/s)  (GB/s)         \n",
                 collective_title(c), "#");
        return;
    }
    buf_addf(out,
             "# %-14s                              out-of-place"
             "                       in-place\n"
             "#     size       count      type   op      time   algbw   busbw  wrong"
             "      time   algbw   busbw  wrong\n"
             "#      (B)  (elements)                     (us)  (GB/s)  (GB/s)       "
             "      (us)  (GB/s)  (GB/s)\n",
             collective_title(c));
}

static void placement(const struct result *r, const struct result_row *row, struct buf *out)
{
    char busbw[16] = "n/a", wrong[24] = "n/a";
    if (!row) {
        buf_addf(out, "%10s %7s %7s %6s", "-", "-", "-", "-");
        return;
    }
    if (r->world_size > 1)
        snprintf(busbw, sizeof busbw, "%.2f", row->busbw);
    if (row->is_checked)
        snprintf(wrong, sizeof wrong, "%llu", (unsigned long long)row->wrong);
    buf_addf(out, "%10.*f %7.2f %7s %6s", row->mean_us < 1000 ? 2 : 1, row->mean_us, row->algbw,
             busbw, wrong);
}

static void nccl_tests_placement(const struct result_row *row, struct buf *out)
{
    char wrong[24] = "N/A";
    if (!row) {
        buf_addf(out, "  %7s  %6s  %6s  %6s", "-", "-", "-", "N/A");
        return;
    }
    if (row->is_checked)
        snprintf(wrong, sizeof wrong, "%llu", (unsigned long long)row->wrong);
    int digits = row->mean_us < 100 ? 2 : row->mean_us < 1000 ? 1 : 0;
    buf_addf(out, "  %7.*f  %6.2f  %6.2f  %6s", digits, row->mean_us, row->algbw, row->busbw,
             wrong);
}

void result_table_line(const struct result *r, enum output_format format,
                       const struct result_row *out_of_place, const struct result_row *in_place,
                       struct buf *out)
{
    const struct result_row *w = out_of_place;
    const char *op = collective_reduces(w->collective) ? op_name(w->op) : NULL;
    if (format == FORMAT_NCCL_TESTS) {
        int root = collective_is_rooted(w->collective) ? (int)w->root : -1;
        buf_addf(out, "%12llu  %12llu  %8s  %6s  %6d", (unsigned long long)w->bytes,
                 (unsigned long long)w->count, type_name(w->type), op ? op : "none", root);
        nccl_tests_placement(w, out);
        nccl_tests_placement(in_place, out);
    } else {
        buf_addf(out, "%10llu %11llu %9s %4s", (unsigned long long)w->bytes,
                 (unsigned long long)w->count, type_name(w->type), op ? op : "-");
        placement(r, w, out);
        placement(r, in_place, out);
    }
    buf_addc(out, '\n');
}

static void square(const struct links *l, const char *title, const double *values,
                   struct buf *out)
{
    double sum = 0;
    size_t n = l->n;
    for (size_t i = 0; i < n * n; i++)
        sum += values[i];
    if (!(sum > 0) || n > SQUARE_SHOWN)
        return;
    buf_addf(out, "# %s\n# from\\to", title);
    for (size_t b = 0; b < n; b++)
        buf_addf(out, " %7zu", b);
    for (size_t a = 0; a < n; a++) {
        buf_addf(out, "\n# %7zu", a);
        for (size_t b = 0; b < n; b++)
            if (values[a * n + b] > 0)
                buf_addf(out, " %7.2f", values[a * n + b]);
            else
                buf_addf(out, " %7s", "-");
    }
    buf_addc(out, '\n');
}

static void outlier(const struct result *r, const struct links_outlier *o, struct buf *out)
{
    bool has_gpu = r->ranks[o->a].device >= 0;
    if (o->kind == LINKS_LINK)
        buf_addf(out, "link %u-%u is slow", o->a, o->b);
    else
        buf_addf(out, "%s %u is slow to all", has_gpu ? "GPU" : "rank", o->a);
    buf_addf(out, ": %.2f GB/s, the median beside it %.2f\n", o->gbs, o->median);
}

static void isolated(const struct result *r, struct buf *out)
{
    const struct result_isolate *s = &r->isolate;
    char size[24];
    if (!s->without)
        return;
    buf_addf(out, "# all_reduce of %s with all ranks: busbw %.2f GB/s\n",
             size_format(s->bytes, size), s->with_all);
    for (uint32_t i = 0; i < r->world_size; i++)
        buf_addf(out, "%swithout %s %u: %.2f GB/s, with it: %.2f\n",
                 s->without[i] > isolate_gain * s->with_all ? "" : "# ",
                 r->ranks[i].device >= 0 ? "GPU" : "rank", i, s->without[i], s->with_all);
}

void result_table_links(const struct result *r, struct buf *out)
{
    const struct links *l = &r->links;
    char size[24], title[80];
    size_format(l->bytes, size);
    snprintf(title, sizeof title, "one way, %s, GB/s", size);
    square(l, title, l->uni, out);
    snprintf(title, sizeof title, "both ways together, %s, GB/s", size);
    square(l, title, l->bidi, out);
    square(l, "latency, 8 bytes, us", l->latency_us, out);
    for (size_t i = 0; i < l->noutliers; i++)
        outlier(r, &l->outliers[i], out);
    isolated(r, out);
}

static double mean_busbw(const struct result *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->nrows; i++)
        sum += r->rows[i].busbw;
    return r->nrows ? sum / (double)r->nrows : 0;
}

void result_table_end(const struct result *r, enum output_format format, struct buf *out)
{
    buf_add(out, r->errors.data, r->errors.len);
    if (format == FORMAT_NCCL_TESTS && r->nrows)
        buf_addf(out, "# Out of bounds values : %llu %s\n# Avg bus bandwidth    : %g \n#\n",
                 (unsigned long long)r->wrong, r->wrong ? "FAILED" : "OK", mean_busbw(r));
    buf_adds(out, "# ");
    result_verdict(r, out);
    buf_addc(out, '\n');
}
