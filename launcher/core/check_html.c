#include "launcher/core/check_html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/core/check_places.h"
#include "launcher/core/check_svg.h"
#include "launcher/core/junit.h"

enum { MATRIX_SHOWN = 64, RANKS_SHOWN = 64, CHARTS_SHOWN = 12 };

/* The palette is Okabe and Ito's: eight colours that differ for every kind of sight. */
static const char style[] =
    ":root{color-scheme:light dark;--back:#fff;--card:#f6f7f9;--text:#1b1f24;--dim:#57606a;"
    "--rule:#d0d7de;--out:#0072b2;--in:#b84a00;--expect:#57606a;--pass:#00714f;--warn:#8a5a00;"
    "--fail:#b3261e}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#14171a;--card:#1d2126;--text:#e6e9ec;"
    "--dim:#a2abb5;--rule:#3a424b;--out:#56b4e9;--in:#e69f00;--expect:#a2abb5;--pass:#4cc38a;"
    "--warn:#f0b429;--fail:#ff8a80}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:1100px;padding:16px;background:var(--back);color:var(--text);"
    "font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
    "h1{font-size:1.3rem;margin:0 0 4px}h2{font-size:1.1rem;margin:28px 0 8px}"
    "h3{font-size:1rem;margin:16px 0 4px}p{margin:4px 0}.dim{color:var(--dim)}\n"
    ".verdict{border-left:6px solid;padding:10px 14px;background:var(--card);margin:0 0 12px}\n"
    ".verdict b{font-size:1.15rem}.pass{color:var(--pass)}.warn{color:var(--warn)}"
    ".fail,.not_tested{color:var(--fail)}.verdict span{color:var(--text)}\n"
    ".scroll{overflow-x:auto;max-width:100%}\n"
    "table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums}"
    "th,td{padding:3px 10px 3px 0;text-align:right;white-space:nowrap;"
    "border-bottom:1px solid var(--rule)}"
    "th.text,td.text{text-align:left}th{color:var(--dim);font-weight:600}\n"
    "svg{display:block;height:auto;max-width:100%}svg.fixed{max-width:none}\n"
    "svg text{fill:var(--text);font:12px system-ui,sans-serif}svg .mid{text-anchor:middle}"
    "svg .end{text-anchor:end}svg .lost{fill:var(--fail);font-weight:600}\n"
    ".grid{stroke:var(--rule)}.line{fill:none;stroke-width:2}.line.out{stroke:var(--out)}"
    ".line.in{stroke:var(--in)}.dot.out{fill:var(--out)}.dot.in{fill:var(--in)}"
    ".line.expected{stroke:var(--expect);stroke-dasharray:7 5}\n"
    ".phase0{fill:#999}.phase1{fill:#56b4e9}.phase2{fill:#009e73}.phase3{fill:#f0e442}"
    ".phase4{fill:#0072b2}.phase5{fill:#d55e00}.phase6{fill:#cc79a7}\n"
    ".key{display:flex;flex-wrap:wrap;gap:4px 14px;margin:6px 0;font-size:14px}"
    ".key svg{display:inline-block;width:12px;height:12px;margin-right:5px}\n"
    ".narrow{display:none}@media(max-width:720px){.wide{display:none}.narrow{display:block}}\n"
    "ul{margin:4px 0;padding-left:20px}code{font-size:14px}\n";

static const struct check_canvas wide = {"wide", 1040, 320}, narrow = {"narrow", 328, 260};

static void add_text(const char *text, struct buf *out)
{
    junit_escape(text ? text : "-", out);
}

static void open_scroll(const char *label, struct buf *out)
{
    buf_addf(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n",
             label);
}

/* ---- head ---- */

static void add_verdict(const struct check_result *r, struct buf *out)
{
    static const char *const heads[] = {[CHECK_NONE] = "NOT TESTED",
                                        [CHECK_PASS] = "PASS",
                                        [CHECK_WARN] = "WARN",
                                        [CHECK_FAIL] = "FAIL"};
    buf_addf(out, "<div class=\"verdict %s\"><b>%s</b> <span>", check_verdict_word(r->verdict),
             heads[r->verdict]);
    add_text(r->verdict_text, out);
    buf_addf(out, "</span><br><span class=\"dim\">exit status %d</span></div>\n", r->status);
}

static void add_job(const struct check_result *r, struct buf *out)
{
    buf_addf(out, "<p class=\"dim\">%u rank%s on %u node%s", r->world_size,
             r->world_size == 1 ? "" : "s", r->nodes, r->nodes == 1 ? "" : "s");
    if (r->backend) {
        buf_adds(out, ", backend ");
        add_text(r->backend, out);
    }
    if (r->nccl_version) {
        buf_adds(out, ", NCCL ");
        add_text(r->nccl_version, out);
        buf_adds(out, " from <code>");
        add_text(r->nccl_path, out);
        buf_adds(out, "</code>");
    }
    buf_addf(out, ", %.1f s, job <code>", r->duration_s);
    add_text(r->job_id, out);
    buf_adds(out, "</code></p>\n");
}

static void add_list(const char *title, const struct check_text *list, struct buf *out)
{
    if (!list->n)
        return;
    buf_addf(out, "<h2>%s</h2>\n<ul>\n", title);
    for (size_t i = 0; i < list->n; i++) {
        buf_adds(out, "<li>");
        add_text(list->items[i], out);
        buf_adds(out, "</li>\n");
    }
    buf_adds(out, "</ul>\n");
}

/* ---- findings ---- */

static void add_finding(const struct finding *f, struct buf *out)
{
    struct buf who;
    buf_init(&who, 0);
    finding_format_who(f, &who);
    buf_addf(out, "<li><b>%c <code>", finding_level_letter(f->level));
    add_text(f->rule, out);
    buf_adds(out, "</code></b> ");
    add_text(buf_str(&who), out);
    buf_adds(out, who.len ? ": " : "");
    add_text(f->seen, out);
    if (f->symptom) {
        buf_adds(out, "<br><span class=\"dim\">leads to: ");
        add_text(f->symptom, out);
        buf_adds(out, "</span>");
    }
    if (f->fix) {
        buf_adds(out, "<br>fix: <code>");
        add_text(f->fix, out);
        buf_adds(out, "</code>");
    }
    buf_adds(out, "</li>\n");
    buf_fini(&who);
}

static void add_findings(const struct check_result *r, struct buf *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < r->preflight.n; i++) {
        if (!check_result_shows(r, &r->preflight.items[i]))
            continue;
        buf_adds(out, shown++ ? "" : "<h2>Preflight</h2>\n<ul>\n");
        add_finding(&r->preflight.items[i], out);
    }
    buf_adds(out, shown ? "</ul>\n" : "");
}

/* ---- bandwidth ---- */

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static size_t end_of_group(const struct check_result *r, size_t first)
{
    const struct check_row *a = &r->rows[first];
    size_t end = first;
    while (end < r->nrows && is_same_text(a->collective, r->rows[end].collective)
           && is_same_text(a->dtype, r->rows[end].dtype)
           && is_same_text(a->op, r->rows[end].op))
        end++;
    return end;
}

static bool has_bandwidth(const struct check_result *r, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (isfinite(r->rows[i].busbw))
            return true;
    return false;
}

static void add_charts(const struct check_result *r, struct buf *out)
{
    size_t end, shown = 0;
    for (size_t first = 0; first < r->nrows && shown < CHARTS_SHOWN; first = end) {
        end = end_of_group(r, first);
        if (!has_bandwidth(r, first, end))
            continue;
        buf_adds(out, "<h3>");
        add_text(r->rows[first].collective, out);
        buf_addc(out, ' ');
        add_text(r->rows[first].dtype, out);
        buf_addc(out, ' ');
        add_text(r->rows[first].op, out);
        buf_adds(out, "</h3>\n");
        check_svg_bandwidth(r, first, end, &wide, out);
        check_svg_bandwidth(r, first, end, &narrow, out);
        shown++;
    }
}

static void add_number(double v, int digits, struct buf *out)
{
    if (isfinite(v))
        buf_addf(out, "<td>%.*f</td>", digits, v);
    else
        buf_adds(out, "<td>n/a</td>");
}

static void add_row(const struct check_row *row, struct buf *out)
{
    buf_adds(out, "<tr><td class=\"text\">");
    add_text(row->collective, out);
    buf_adds(out, "</td><td class=\"text\">");
    add_text(row->dtype, out);
    buf_addc(out, ' ');
    add_text(row->op, out);
    buf_adds(out, "</td><td>");
    check_size_format(row->bytes, out);
    buf_addf(out, "</td><td class=\"text\">%s</td>", row->is_in_place ? "in" : "out");
    add_number(row->mean_us, 1, out);
    add_number(row->algbw, 2, out);
    add_number(row->busbw, 2, out);
    add_number(100 * row->ratio, 0, out);
    if (row->is_checked)
        buf_addf(out, "<td>%llu</td>", (unsigned long long)row->wrong);
    else
        buf_adds(out, "<td>n/a</td>");
    buf_addf(out, "<td class=\"text %s\">%s</td></tr>\n", check_verdict_word(row->verdict),
             row->verdict == CHECK_NONE ? "-" : check_verdict_word(row->verdict));
}

static void add_rows(const struct check_result *r, struct buf *out)
{
    if (!r->nrows)
        return;
    buf_adds(out, "<h2>Bandwidth</h2>\n");
    if (r->expected_why) {
        buf_adds(out, "<p class=\"dim\">expected: ");
        if (r->expected_gbs > 0)
            buf_addf(out, "%.0f GB/s at 256M and more: ", r->expected_gbs);
        add_text(r->expected_why, out);
        buf_adds(out, "</p>\n");
    }
    add_charts(r, out);
    buf_adds(out, "<h3>Sizes</h3>\n");
    open_scroll("sizes", out);
    buf_adds(out, "<table><thead><tr><th class=\"text\">collective</th><th "
                  "class=\"text\">type</th><th>size</th><th class=\"text\">place</th>"
                  "<th>time, us</th><th>algbw, GB/s</th><th>busbw, GB/s</th><th>% of "
                  "expected</th><th>wrong</th><th class=\"text\">verdict</th></tr></thead>\n");
    for (size_t i = 0; i < r->nrows; i++)
        add_row(&r->rows[i], out);
    buf_adds(out, "</table></div>\n");
}

/* ---- pairs ---- */

static void add_matrix(const struct check_result *r, const struct check_matrix *m,
                       const char *title, const char *unit, bool is_less_better,
                       struct buf *out)
{
    struct check_places p;
    struct check_matrix grouped;
    if (!m->at)
        return;
    buf_addf(out, "<h3>%s</h3>\n", title);
    check_places_find(r, m->n, MATRIX_SHOWN, &p);
    if (p.n > MATRIX_SHOWN) {
        buf_addf(out, "<p>%zu hosts: too many for a picture; the JSON has all numbers.</p>\n",
                 p.n);
    } else {
        if (p.n < m->n)
            buf_addf(out, "<p class=\"dim\">means of hosts, since there are %zu ranks</p>\n",
                     m->n);
        check_places_mean(m, &p, &grouped);
        open_scroll(title, out);
        check_svg_matrix(&grouped, p.names, unit, is_less_better, out);
        buf_adds(out, "</div>\n");
        free(grouped.at);
    }
    check_places_fini(&p);
}

static void add_pairs(const struct check_result *r, struct buf *out)
{
    const struct check_pairs *p = &r->pairs;
    if (!p->uni.at && !p->bidi.at && !p->latency.at)
        return;
    buf_adds(out, "<h2>Pairs</h2>\n<p class=\"dim\">from row to column");
    if (p->bytes) {
        buf_adds(out, ", messages of ");
        check_size_format(p->bytes, out);
    }
    buf_adds(out, "</p>\n");
    add_matrix(r, &p->uni, "One way, GB/s", "GB/s", false, out);
    add_matrix(r, &p->bidi, "Both ways at once, GB/s", "GB/s", false, out);
    add_matrix(r, &p->latency, "Latency, us", "us", true, out);
}

static void add_isolate(const struct check_isolate *s, struct buf *out)
{
    if (!s->without)
        return;
    buf_addf(out,
             "<h2>Without one rank</h2>\n<p class=\"dim\">the same all_reduce with all: "
             "%.2f GB/s</p>\n<ul>\n",
             s->with_all);
    for (size_t i = 0; i < s->n; i++)
        buf_addf(out, "<li>without rank %zu: %.2f GB/s</li>\n", i, s->without[i]);
    buf_adds(out, "</ul>\n");
}

/* ---- ranks ---- */

static bool has_times(const struct check_result *r)
{
    for (size_t i = 0; i < r->nranks; i++)
        if (r->ranks[i].reached_ms[CHECK_PHASE_started])
            return true;
    return false;
}

static void add_timeline(const struct check_result *r, struct buf *out)
{
    if (!has_times(r))
        return;
    buf_adds(out, "<h3>The way to the start</h3>\n<div class=\"key\">");
    for (int i = 0; i < CHECK_PHASE_COUNT; i++)
        buf_addf(
            out,
            "<span><svg viewBox=\"0 0 12 12\" aria-hidden=\"true\"><rect class=\"phase%d\" "
            "width=\"12\" height=\"12\"/></svg>%s</span>",
            i, check_phase_name((enum check_phase)i));
    buf_adds(out, "</div>\n");
    if (r->nranks > RANKS_SHOWN)
        buf_addf(out, "<p class=\"dim\">the first %d of %zu ranks</p>\n", RANKS_SHOWN,
                 r->nranks);
    check_svg_timeline(r, RANKS_SHOWN, &wide, out);
    check_svg_timeline(r, RANKS_SHOWN, &narrow, out);
}

static void add_rank(const struct check_rank *k, struct buf *out)
{
    buf_addf(out, "<tr><td>%u</td><td class=\"text\">", k->rank);
    add_text(k->host, out);
    buf_addf(out, "</td><td>%u</td><td>%u</td><td class=\"text\">", k->local_rank, k->pid);
    if (k->device >= 0)
        buf_addf(out, "cuda:%d ", k->device);
    add_text(k->name, out);
    buf_adds(out, "</td><td class=\"text\"><code>");
    add_text(k->pci, out);
    buf_adds(out, "</code></td><td class=\"text\"><code>");
    add_text(k->gpu_uuid, out);
    buf_adds(out, "</code></td>");
    add_number(k->init_s >= 0 ? k->init_s : (double)NAN, 2, out);
    buf_adds(out, "</tr>\n");
}

static void add_ranks(const struct check_result *r, struct buf *out)
{
    if (!r->nranks)
        return;
    buf_adds(out, "<h2>Ranks</h2>\n");
    add_timeline(r, out);
    open_scroll("ranks", out);
    buf_adds(out, "<table><thead><tr><th>rank</th><th class=\"text\">host</th><th>local</th>"
                  "<th>pid</th><th class=\"text\">device</th><th class=\"text\">PCI</th>"
                  "<th class=\"text\">UUID</th><th>init, s</th></tr></thead>\n");
    for (size_t i = 0; i < r->nranks; i++)
        add_rank(&r->ranks[i], out);
    buf_adds(out, "</table></div>\n");
}

void check_html(const struct check_result *r, struct buf *out)
{
    buf_adds(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'\">\n<title>muster check: ");
    add_text(check_verdict_word(r->verdict), out);
    buf_addf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>muster check</h1>\n",
             style);
    add_verdict(r, out);
    add_job(r, out);
    add_list("What went wrong", &r->errors, out);
    add_list("Worth knowing", &r->notes, out);
    add_findings(r, out);
    add_rows(r, out);
    add_pairs(r, out);
    add_isolate(&r->isolate, out);
    add_ranks(r, out);
    buf_addf(out, "<p class=\"dim\">muster %s</p>\n</body>\n</html>\n", MUSTER_VERSION);
}
