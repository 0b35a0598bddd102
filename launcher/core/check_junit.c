#include "launcher/core/check_junit.h"

#include <math.h>

#include "launcher/core/junit.h"

struct counts {
    unsigned tests, failures, skipped;
};

static void escaped(const char *text, struct buf *out)
{
    junit_escape(text ? text : "-", out);
}

static void open_case(const char *class_name, double seconds, struct buf *out)
{
    buf_addf(out, "\" classname=\"%s\" time=\"%.6f\">", class_name, seconds);
}

static void add_finding(const struct finding *f, struct counts *n, struct buf *out)
{
    bool is_error = f->level == FINDING_ERROR;
    n->tests++;
    n->failures += is_error;
    buf_adds(out, "  <testcase name=\"");
    escaped(f->rule, out);
    open_case("muster.preflight", 0, out);
    buf_adds(out, is_error ? "<failure message=\"" : "<system-out>");
    escaped(f->seen, out);
    if (is_error)
        buf_adds(out, "\">");
    buf_adds(out, "\n");
    escaped(f->fix, out);
    buf_adds(out, is_error ? "</failure></testcase>\n" : "</system-out></testcase>\n");
}

static void add_figures(const struct check_row *row, struct buf *out)
{
    if (row->is_checked && row->wrong)
        buf_addf(out, "%llu wrong elements; ", (unsigned long long)row->wrong);
    if (!isfinite(row->busbw)) {
        buf_adds(out, "busbw not applicable");
        return;
    }
    buf_addf(out, "busbw %.2f GB/s", row->busbw);
    if (isfinite(row->ratio))
        buf_addf(out, ", %.0f %% of the expected %.0f", 100 * row->ratio, row->expected);
}

static void add_row(const struct check_row *row, struct counts *n, struct buf *out)
{
    n->tests++;
    n->failures += row->verdict == CHECK_FAIL;
    n->skipped += row->verdict == CHECK_NONE;
    buf_adds(out, "  <testcase name=\"");
    escaped(row->collective, out);
    buf_addc(out, ' ');
    check_size_format(row->bytes, out);
    buf_addc(out, ' ');
    escaped(row->dtype, out);
    buf_addc(out, ' ');
    escaped(row->op, out);
    buf_adds(out, row->is_in_place ? " in-place" : " out-of-place");
    open_case("muster.check", isfinite(row->mean_us) ? row->mean_us / 1e6 : 0, out);
    switch (row->verdict) {
    case CHECK_FAIL:
        buf_adds(out, "<failure message=\"");
        add_figures(row, out);
        buf_adds(out, "\"/>");
        break;
    case CHECK_NONE:
        buf_adds(out, "<skipped message=\"timed only\"/>");
        break;
    case CHECK_PASS:
    case CHECK_WARN:
        buf_addf(out, "<system-out>%s", row->verdict == CHECK_WARN ? "warning: " : "");
        add_figures(row, out);
        buf_adds(out, "</system-out>");
        break;
    case CHECK_VERDICT_COUNT:
        break;
    }
    buf_adds(out, "</testcase>\n");
}

static void add_texts(const struct check_text *list, struct buf *out)
{
    for (size_t i = 0; i < list->n; i++) {
        buf_addc(out, '\n');
        escaped(list->items[i], out);
    }
}

/* What was not tested has neither failed nor passed. */
static void add_verdict(const struct check_result *r, struct counts *n, struct buf *out)
{
    static const char *const tags[] = {[CHECK_NONE] = "skipped",
                                       [CHECK_PASS] = "system-out",
                                       [CHECK_WARN] = "system-out",
                                       [CHECK_FAIL] = "failure"};
    const char *tag = tags[r->verdict];
    bool has_message = r->verdict == CHECK_FAIL || r->verdict == CHECK_NONE;
    n->tests++;
    n->failures += r->verdict == CHECK_FAIL;
    n->skipped += r->verdict == CHECK_NONE;
    buf_adds(out, "  <testcase name=\"verdict");
    open_case("muster.check", r->duration_s, out);
    buf_addf(out, has_message ? "<%s message=\"" : "<%s>", tag);
    escaped(r->verdict_text, out);
    buf_adds(out, has_message ? "\">" : "");
    add_texts(&r->errors, out);
    add_texts(&r->notes, out);
    buf_addf(out, "</%s></testcase>\n", tag);
}

void check_junit(const struct check_result *r, struct buf *out)
{
    struct counts n = {0};
    struct buf cases;
    buf_init(&cases, 0);
    for (size_t i = 0; i < r->preflight.n; i++)
        if (r->preflight.items[i].level <= FINDING_WARNING)
            add_finding(&r->preflight.items[i], &n, &cases);
    for (size_t i = 0; i < r->nrows; i++)
        add_row(&r->rows[i], &n, &cases);
    add_verdict(r, &n, &cases);
    buf_addf(out,
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"muster check\" "
             "tests=\"%u\" failures=\"%u\" errors=\"0\" skipped=\"%u\" time=\"%.3f\">\n",
             n.tests, n.failures, n.skipped, r->duration_s);
    buf_add(out, cases.data, cases.len);
    buf_adds(out, "</testsuite>\n");
    buf_fini(&cases);
}
