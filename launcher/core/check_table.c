#include "launcher/core/check_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum { RANKS_SHOWN = 16, PAIRS_SHOWN = 16, FIELD = 24 };

static const char *or_dash(const char *text)
{
    return text && *text ? text : "-";
}

/* Text of the worker: no control character reaches the terminal. */
static void add_plain(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_addc(out, (unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text);
}

/* ---- ranks ---- */

static void add_job(const struct check_result *r, struct buf *out)
{
    buf_addf(out, "muster check: %u rank%s on %u node%s, backend ", r->world_size,
             r->world_size == 1 ? "" : "s", r->nodes, r->nodes == 1 ? "" : "s");
    add_plain(out, or_dash(r->backend));
    if (r->nccl_version) {
        buf_adds(out, ", NCCL ");
        add_plain(out, r->nccl_version);
        buf_adds(out, " from ");
        add_plain(out, or_dash(r->nccl_path));
    }
    buf_addc(out, '\n');
}

static void add_rank(const struct check_rank *k, struct buf *out)
{
    buf_addf(out, "  rank %3u  ", k->rank);
    add_plain(out, or_dash(k->host));
    buf_addf(out, "  pid %u", k->pid);
    if (k->device >= 0) {
        buf_addf(out, "  cuda:%d  ", k->device);
        add_plain(out, or_dash(k->name));
        buf_adds(out, "  ");
        add_plain(out, or_dash(k->pci));
        buf_adds(out, "  ");
        add_plain(out, or_dash(k->gpu_uuid));
    }
    if (k->init_s >= 0)
        buf_addf(out, "  init %.2f s", k->init_s);
    else if (check_rank_last_phase(k) >= 0)
        buf_addf(out, "  last phase %s",
                 check_phase_name((enum check_phase)check_rank_last_phase(k)));
    buf_addc(out, '\n');
}

static void add_ranks(const struct check_result *r, struct buf *out)
{
    for (size_t i = 0; i < r->nranks && i < RANKS_SHOWN; i++)
        add_rank(&r->ranks[i], out);
    if (r->nranks > RANKS_SHOWN)
        buf_addf(out, "  and %zu more ranks\n", r->nranks - RANKS_SHOWN);
}

/* ---- sizes ---- */

static void number(double v, int digits, char text[FIELD])
{
    if (isfinite(v))
        snprintf(text, FIELD, "%.*f", digits, v);
    else
        strcpy(text, "n/a");
}

static void wrong(const struct check_row *row, char text[FIELD])
{
    if (row->is_checked)
        snprintf(text, FIELD, "%llu", (unsigned long long)row->wrong);
    else
        strcpy(text, "n/a");
}

static void add_row(const struct check_row *row, struct buf *out)
{
    char us[FIELD], algbw[FIELD], busbw[FIELD], bad[FIELD];
    struct buf size;
    buf_init(&size, 0);
    check_size_format(row->bytes, &size);
    number(row->mean_us, row->mean_us < 1000 ? 2 : 1, us);
    number(row->algbw, 2, algbw);
    number(row->busbw, 2, busbw);
    wrong(row, bad);
    buf_addf(out, "  %-13.16s %-8.12s %-4.6s %6s  %-3s %11s %9s %9s %6s",
             or_dash(row->collective), or_dash(row->dtype), or_dash(row->op), buf_str(&size),
             row->is_in_place ? "in" : "out", us, algbw, busbw, bad);
    if (isfinite(row->ratio))
        buf_addf(out, "  %4.0f %%", 100 * row->ratio);
    if (row->verdict == CHECK_WARN || row->verdict == CHECK_FAIL)
        buf_addf(out, "  %s", check_verdict_word(row->verdict));
    buf_addc(out, '\n');
    buf_fini(&size);
}

static bool has_ratio(const struct check_result *r)
{
    for (size_t i = 0; i < r->nrows; i++)
        if (isfinite(r->rows[i].ratio))
            return true;
    return false;
}

static void add_rows(const struct check_result *r, struct buf *out)
{
    if (!r->nrows)
        return;
    buf_addf(out, "  %-13s %-8s %-4s %6s  %-3s %11s %9s %9s %6s%s\n", "collective", "type",
             "op", "size", "", "time", "algbw", "busbw", "wrong",
             has_ratio(r) ? "  of what" : "");
    buf_addf(out, "  %-13s %-8s %-4s %6s  %-3s %11s %9s %9s%s\n", "", "", "", "", "", "(us)",
             "(GB/s)", "(GB/s)", has_ratio(r) ? "         is expected" : "");
    for (size_t i = 0; i < r->nrows; i++)
        add_row(&r->rows[i], out);
}

/* ---- pairs ---- */

static void add_matrix(const struct check_matrix *m, const char *title, struct buf *out)
{
    if (!m->at || m->n > PAIRS_SHOWN)
        return;
    buf_addf(out, "  %s\n       ", title);
    for (size_t b = 0; b < m->n; b++)
        buf_addf(out, " %7zu", b);
    buf_addc(out, '\n');
    for (size_t a = 0; a < m->n; a++) {
        buf_addf(out, "  %5zu", a);
        for (size_t b = 0; b < m->n; b++) {
            char text[FIELD];
            number(check_matrix_at(m, a, b), 1, text);
            buf_addf(out, " %7s", a == b ? "-" : text);
        }
        buf_addc(out, '\n');
    }
}

static void add_isolate(const struct check_isolate *s, struct buf *out)
{
    for (size_t i = 0; s->without && i < s->n; i++)
        buf_addf(out, "  without rank %zu: %.2f GB/s, with all: %.2f\n", i, s->without[i],
                 s->with_all);
}

/* ---- the rest ---- */

/* But what the verdict says anyway. */
static void add_list(const struct check_text *list, const char *verdict, struct buf *out)
{
    for (size_t i = 0; i < list->n; i++) {
        if (verdict && strstr(verdict, list->items[i]))
            continue;
        buf_adds(out, "  ");
        add_plain(out, list->items[i]);
        buf_addc(out, '\n');
    }
}

static void add_expected(const struct check_result *r, struct buf *out)
{
    if (!r->expected_why)
        return;
    buf_adds(out, "  expected: ");
    if (r->expected_gbs > 0)
        buf_addf(out, "%.0f GB/s at 256M and more: ", r->expected_gbs);
    add_plain(out, r->expected_why);
    buf_addc(out, '\n');
}

static void add_verdict(const struct check_result *r, bool has_colour, struct buf *out)
{
    static const struct {
        const char *word;
        unsigned sgr; /* ECMA-48: the colour, here in bold */
    } heads[] = {[CHECK_NONE] = {"NOT TESTED", 33},
                 [CHECK_PASS] = {"PASS", 32},
                 [CHECK_WARN] = {"WARN", 33},
                 [CHECK_FAIL] = {"FAIL", 31}};
    if (has_colour)
        buf_addf(out, "\033[1;%um%s\033[0m: ", heads[r->verdict].sgr, heads[r->verdict].word);
    else
        buf_addf(out, "%s: ", heads[r->verdict].word);
    add_plain(out, or_dash(r->verdict_text));
    buf_addc(out, '\n');
}

void check_table_verdict(const struct check_result *r, struct buf *out)
{
    add_verdict(r, false, out);
}

void check_table(const struct check_result *r, struct buf *out)
{
    if (r->is_tested)
        add_job(r, out);
    add_ranks(r, out);
    for (size_t i = 0; i < r->preflight.n; i++)
        if (check_result_shows(r, &r->preflight.items[i]))
            finding_format(&r->preflight.items[i], out);
    add_rows(r, out);
    add_matrix(&r->pairs.uni, "one way from row to column, GB/s", out);
    add_matrix(&r->pairs.latency, "latency, us", out);
    add_isolate(&r->isolate, out);
    add_expected(r, out);
    add_list(&r->notes, r->verdict_text, out);
    add_list(&r->errors, r->verdict_text, out);
    add_verdict(r, r->has_colour, out);
}

/* ---- nccl-tests ---- */

static const struct check_row *partner(const struct check_result *r, size_t i)
{
    const struct check_row *a = &r->rows[i], *b = i + 1 < r->nrows ? a + 1 : NULL;
    return b && b->is_in_place && b->bytes == a->bytes && b->collective && a->collective
                   && strcmp(a->collective, b->collective) == 0
               ? b
               : NULL;
}

static void add_half(const struct check_row *row, struct buf *out)
{
    char us[FIELD] = "N/A", algbw[FIELD] = "N/A", busbw[FIELD] = "N/A", bad[FIELD] = "N/A";
    if (row) {
        number(row->mean_us, 2, us);
        number(row->algbw, 2, algbw);
        number(row->busbw, 2, busbw);
        if (row->is_checked)
            wrong(row, bad);
    }
    buf_addf(out, "  %7s  %6s  %6s  %5s", us, algbw, busbw, bad);
}

void check_nccl_tests(const struct check_result *r, struct buf *out)
{
    const struct check_row *peak = check_result_peak(r);
    buf_adds(
        out,
        "#                                                              out-of-place         "
        "              in-place          \n"
        "#       size         count      type   redop    root     time   algbw   busbw  "
        "#wrong     time   algbw   busbw  #wrong \n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)         "
        "   (us)  (GB/s)  (GB/s)         \n");
    for (size_t i = 0; i < r->nrows; i++) {
        const struct check_row *row = &r->rows[i], *in = partner(r, i);
        buf_addf(out, "%12llu  %12llu  %8.12s  %6.6s  %6s", (unsigned long long)row->bytes,
                 (unsigned long long)row->count, or_dash(row->dtype), or_dash(row->op), "-1");
        add_half(row->is_in_place ? NULL : row, out);
        add_half(row->is_in_place ? row : in, out);
        buf_addc(out, '\n');
        i += in != NULL;
    }
    if (peak)
        buf_addf(out, "# Peak bus bandwidth    : %g\n", peak->busbw);
    buf_adds(out, "# ");
    check_table_verdict(r, out);
}

/* ---- CSV ---- */

/* Quoted where it must be. */
static void csv_text(const char *text, struct buf *out)
{
    if (!text)
        return;
    if (!text[strcspn(text, ",\"\r\n")]) {
        buf_adds(out, text);
        return;
    }
    buf_addc(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            buf_addc(out, '"');
        buf_addc(out, *text);
    }
    buf_addc(out, '"');
}

static void csv_number(double v, struct buf *out)
{
    buf_addc(out, ',');
    if (isfinite(v))
        buf_addf(out, "%.6g", v);
}

void check_csv(const struct check_result *r, struct buf *out)
{
    buf_adds(out,
             "collective,type,op,bytes,count,placement,iters,time_us,time_min_us,time_max_us,"
             "algbw_gbs,busbw_gbs,expected_gbs,ratio,wrong,verdict\n");
    for (size_t i = 0; i < r->nrows; i++) {
        const struct check_row *row = &r->rows[i];
        csv_text(row->collective, out);
        buf_addc(out, ',');
        csv_text(row->dtype, out);
        buf_addc(out, ',');
        csv_text(row->op, out);
        buf_addf(out, ",%llu,%llu,%s,%u", (unsigned long long)row->bytes,
                 (unsigned long long)row->count, row->is_in_place ? "in-place" : "out-of-place",
                 row->iters);
        csv_number(row->mean_us, out);
        csv_number(row->min_us, out);
        csv_number(row->max_us, out);
        csv_number(row->algbw, out);
        csv_number(row->busbw, out);
        csv_number(row->expected, out);
        csv_number(row->ratio, out);
        buf_addc(out, ',');
        if (row->is_checked)
            buf_addf(out, "%llu", (unsigned long long)row->wrong);
        buf_addf(out, ",%s\n", check_verdict_word(row->verdict));
    }
}
