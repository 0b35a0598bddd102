#include "launcher/core/check_svg.h"

#include <math.h>
#include <stdio.h>

#include "launcher/core/junit.h"

enum { TEXT = 12, LEFT = 48, TOP = 14, BOTTOM = 38, RIGHT = 12 };

static void begin(const struct check_canvas *c, int height, const char *label, struct buf *out)
{
    buf_addf(out,
             "<svg class=\"%s\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" "
             "aria-label=\"",
             c->css_class, c->width, height, c->width, height);
    junit_escape(label, out);
    buf_adds(out, "\">\n");
}

/* ---- bandwidth ---- */

struct axes {
    const struct check_canvas *canvas;
    double first, last, top; /* octaves; GB/s */
};

static double least_of(double a, double b)
{
    return b < a ? b : a;
}

static double most_of(double a, double b)
{
    return b > a ? b : a;
}

/* Where a size is on an axis on which every doubling is as long: exact at powers of two,
 * straight between them. Without libm, which every start of muster would pay for. */
static double octave(uint64_t bytes)
{
    int k = 63 - __builtin_clzll(bytes | 1);
    return k + (bytes ? (double)bytes / (double)(1ull << k) - 1 : 0);
}

/* 1, 2 or 5 times a power of ten, not below v, which is above zero. */
static double nice(double v)
{
    double unit = 1;
    while (unit > v)
        unit /= 10;
    while (unit * 10 <= v)
        unit *= 10;
    for (int i = 0; i < 3; i++) {
        static const double steps[] = {1, 2, 5};
        if (v <= 1.0000001 * steps[i] * unit)
            return steps[i] * unit;
    }
    return 10 * unit;
}

static double x_of(const struct axes *a, double at)
{
    double share = a->last > a->first ? (at - a->first) / (a->last - a->first) : 0.5;
    return LEFT + share * (a->canvas->width - LEFT - RIGHT);
}

static double y_of(const struct axes *a, double gbs)
{
    return a->canvas->height - BOTTOM - gbs / a->top * (a->canvas->height - BOTTOM - TOP);
}

static struct axes measure(const struct check_result *r, size_t first, size_t end,
                           const struct check_canvas *canvas)
{
    struct axes a = {canvas, INFINITY, -INFINITY, 0};
    for (size_t i = first; i < end; i++) {
        const struct check_row *row = &r->rows[i];
        double x = octave(row->bytes);
        a.first = least_of(a.first, x);
        a.last = most_of(a.last, x);
        a.top = most_of(a.top, isfinite(row->busbw) ? row->busbw : 0);
        a.top = most_of(a.top, isfinite(row->expected) ? row->expected : 0);
    }
    a.top = a.top > 0 ? 1.05 * a.top : 1;
    return a;
}

static void draw_y_axis(const struct axes *a, struct buf *out)
{
    double step = nice(a->top / 5);
    for (int i = 0; i * step <= a->top; i++) {
        double v = i * step;
        buf_addf(out,
                 "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                 "<text class=\"end\" x=\"%d\" y=\"%.1f\">%g</text>\n",
                 LEFT, a->canvas->width - RIGHT, y_of(a, v), y_of(a, v), LEFT - 6,
                 y_of(a, v) + 4, v);
    }
    buf_addf(out, "<text x=\"2\" y=\"%d\">GB/s</text>\n", TOP - 3);
}

/* As many powers of two as there is room for. */
static void draw_x_axis(const struct axes *a, struct buf *out)
{
    enum { LABEL = 46 };
    int first = (int)a->first, last = (int)a->last;
    int room = (a->canvas->width - LEFT - RIGHT) / LABEL;
    room = room > 1 ? room : 1;
    int step = (last - first + room - 1) / room;
    for (int k = first < a->first ? first + 1 : first; k <= last; k += step > 1 ? step : 1) {
        struct buf size;
        buf_init(&size, 0);
        check_size_format(1ull << (k < 63 ? k : 63), &size);
        buf_addf(out, "<text class=\"mid\" x=\"%.1f\" y=\"%d\">%s</text>\n", x_of(a, k),
                 a->canvas->height - BOTTOM + 16, buf_str(&size));
        buf_fini(&size);
    }
    buf_addf(out, "<text class=\"mid\" x=\"%d\" y=\"%d\">bytes</text>\n",
             (LEFT + a->canvas->width - RIGHT) / 2, a->canvas->height - 5);
}

static void draw_line(const struct check_result *r, size_t first, size_t end, bool is_in_place,
                      const struct axes *a, struct buf *out)
{
    const char *css = is_in_place ? "in" : "out";
    char separator = 'M';
    buf_addf(out, "<path class=\"line %s\" d=\"", css);
    for (size_t i = first; i < end; i++) {
        const struct check_row *row = &r->rows[i];
        if (row->is_in_place != is_in_place || !isfinite(row->busbw))
            continue;
        buf_addf(out, "%c%.1f %.1f", separator, x_of(a, octave(row->bytes)),
                 y_of(a, row->busbw));
        separator = 'L';
    }
    buf_adds(out, "\"/>\n");
    for (size_t i = first; i < end; i++) {
        const struct check_row *row = &r->rows[i];
        if (row->is_in_place != is_in_place || !isfinite(row->busbw))
            continue;
        double x = x_of(a, octave(row->bytes)), y = y_of(a, row->busbw);
        if (is_in_place)
            buf_addf(out,
                     "<rect class=\"dot in\" x=\"%.1f\" y=\"%.1f\" width=\"7\" height=\"7\">",
                     x - 3.5, y - 3.5);
        else
            buf_addf(out, "<circle class=\"dot out\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\">", x, y);
        buf_adds(out, "<title>");
        check_size_format(row->bytes, out);
        buf_addf(out, ": %.2f GB/s</title></%s>\n", row->busbw,
                 is_in_place ? "rect" : "circle");
    }
}

static void draw_expected(const struct check_result *r, size_t first, size_t end,
                          const struct axes *a, struct buf *out)
{
    double expected = NAN;
    for (size_t i = first; i < end; i++)
        if (isfinite(r->rows[i].expected))
            expected = r->rows[i].expected;
    if (!isfinite(expected))
        return;
    buf_addf(out,
             "<line class=\"line expected\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
             "<text x=\"%d\" y=\"%.1f\">expected %.0f</text>\n",
             LEFT, a->canvas->width - RIGHT, y_of(a, expected), y_of(a, expected), LEFT + 6,
             y_of(a, expected) + TEXT + 3, expected);
}

static void draw_legend(const struct axes *a, struct buf *out)
{
    int x = a->canvas->width - RIGHT - 150, y = a->canvas->height - BOTTOM - 10;
    buf_addf(
        out,
        "<circle class=\"dot out\" cx=\"%d\" cy=\"%d\" r=\"4\"/><text x=\"%d\" y=\"%d\">out "
        "of place</text>"
        "<rect class=\"dot in\" x=\"%d\" y=\"%d\" width=\"7\" height=\"7\"/><text x=\"%d\" "
        "y=\"%d\">in place</text>\n",
        x, y - 4, x + 8, y, x + 92, y - 8, x + 103, y);
}

void check_svg_bandwidth(const struct check_result *r, size_t first, size_t end,
                         const struct check_canvas *canvas, struct buf *out)
{
    struct axes a = measure(r, first, end, canvas);
    begin(canvas, canvas->height, "bus bandwidth over size", out);
    draw_y_axis(&a, out);
    draw_x_axis(&a, out);
    draw_expected(r, first, end, &a, out);
    draw_line(r, first, end, false, &a, out);
    draw_line(r, first, end, true, &a, out);
    draw_legend(&a, out);
    buf_adds(out, "</svg>\n");
}

/* ---- pairs ---- */

struct colour {
    double red, green, blue; /* 0 to 255 */
};

/* Cividis at even steps: dark blue to yellow, in order of lightness. */
static const struct colour cividis[] = {{0, 34, 78},     {53, 69, 108},   {102, 105, 112},
                                        {148, 142, 119}, {200, 184, 102}, {254, 232, 56}};
enum { STOPS = sizeof cividis / sizeof cividis[0] };

static struct colour colour_at(double share)
{
    double at = share * (STOPS - 1);
    int i = at >= STOPS - 1 ? STOPS - 2 : (int)at;
    double t = at - i;
    const struct colour *a = &cividis[i], *b = a + 1;
    return (struct colour){a->red + t * (b->red - a->red), a->green + t * (b->green - a->green),
                           a->blue + t * (b->blue - a->blue)};
}

static void number_text(double v, char text[16])
{
    snprintf(text, 16, v >= 100 ? "%.0f" : v >= 10 ? "%.1f" : "%.2f", v);
}

enum { WIDTH = 44, HEIGHT = 24, MARGIN = 64 }; /* of a cell; of the names */

static void draw_cell(double x, double y, double v, double share, struct buf *out)
{
    struct colour c = colour_at(share);
    bool is_light = 0.3 * c.red + 0.59 * c.green + 0.11 * c.blue > 128;
    char text[16];
    number_text(v, text);
    buf_addf(out,
             "<rect x=\"%.0f\" y=\"%.0f\" width=\"%d\" height=\"%d\" fill=\"#%02x%02x%02x\"/>"
             "<text class=\"mid\" x=\"%.0f\" y=\"%.0f\" style=\"fill:#%s\">%s</text>\n",
             x, y, WIDTH - 1, HEIGHT - 1, (unsigned)c.red, (unsigned)c.green, (unsigned)c.blue,
             x + WIDTH / 2.0, y + 16, is_light ? "000" : "fff", text);
}

void check_svg_matrix(const struct check_matrix *m, char *const *labels, const char *unit,
                      bool is_less_better, struct buf *out)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < m->n * m->n; i++)
        if (i / m->n != i % m->n && m->at[i] > 0 && isfinite(m->at[i])) {
            least = least_of(least, m->at[i]);
            most = most_of(most, m->at[i]);
        }
    const struct check_canvas canvas = {"fixed", (int)(MARGIN + m->n * WIDTH + 2), 0};
    begin(&canvas, (int)((m->n + 1) * HEIGHT + 4), unit, out);
    buf_addf(out, "<text x=\"2\" y=\"16\">%s</text>\n", unit);
    for (size_t a = 0; a < m->n; a++) {
        buf_addf(out, "<text class=\"mid\" x=\"%zu\" y=\"16\">",
                 MARGIN + a * WIDTH + WIDTH / 2);
        junit_escape(labels[a], out);
        buf_addf(out, "</text><text class=\"end\" x=\"%d\" y=\"%zu\">", MARGIN - 6,
                 (a + 1) * HEIGHT + 16);
        junit_escape(labels[a], out);
        buf_adds(out, "</text>\n");
        for (size_t b = 0; b < m->n; b++) {
            double v = check_matrix_at(m, a, b);
            double share = is_less_better ? least / v : v / most;
            if (a != b && v > 0)
                draw_cell((double)(MARGIN + b * WIDTH), (double)((a + 1) * HEIGHT), v, share,
                          out);
        }
    }
    buf_adds(out, "</svg>\n");
}

/* ---- the start ---- */

enum { ROW = 20, LABEL = 110 }; /* height of a rank; room for words behind a bar */

static uint64_t earliest(const struct check_result *r, size_t n)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < n; i++)
        for (int p = 0; p < CHECK_PHASE_COUNT; p++)
            if (r->ranks[i].reached_ms[p] && r->ranks[i].reached_ms[p] < least)
                least = r->ranks[i].reached_ms[p];
    return least;
}

static uint64_t latest(const struct check_result *r, size_t n)
{
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++)
        for (int p = 0; p < CHECK_PHASE_COUNT; p++)
            if (r->ranks[i].reached_ms[p] > most)
                most = r->ranks[i].reached_ms[p];
    return most;
}

static void draw_rank(const struct check_rank *k, uint64_t zero, double per_ms, double y,
                      struct buf *out)
{
    uint64_t from = 0;
    int last = -1;
    buf_addf(out, "<text class=\"end\" x=\"%d\" y=\"%.0f\">%u</text>\n", LEFT - 6, y + 14,
             k->rank);
    for (int p = 0; p < CHECK_PHASE_COUNT; p++) {
        uint64_t at = k->reached_ms[p];
        if (!at)
            continue;
        double x = LEFT + (double)(from ? from - zero : at - zero) * per_ms,
               width = from && at > from ? (double)(at - from) * per_ms : 0;
        buf_addf(out,
                 "<rect class=\"phase%d\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\">"
                 "<title>%s at %.3f s</title></rect>\n",
                 p, x, y + 2, width > 2 ? width : 2, ROW - 5,
                 check_phase_name((enum check_phase)p), (double)(at - zero) / 1000);
        from = at > from ? at : from;
        last = p;
    }
    if (last < CHECK_PHASE_init_done)
        buf_addf(out, "<text class=\"lost\" x=\"%.1f\" y=\"%.0f\">%s %s</text>\n",
                 LEFT + (from ? (double)(from - zero) * per_ms : 0) + 8, y + 14,
                 last < 0 ? "never" : "last:",
                 last < 0 ? "seen" : check_phase_name((enum check_phase)last));
}

static void draw_seconds(double per_ms, double span_ms, int y, struct buf *out)
{
    double step = nice(span_ms / 4);
    for (int i = 0; i * step <= span_ms; i++) {
        double at = i * step;
        buf_addf(out,
                 "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%d\"/>"
                 "<text class=\"mid\" x=\"%.1f\" y=\"%d\">%g s</text>\n",
                 LEFT + at * per_ms, LEFT + at * per_ms, y, LEFT + at * per_ms, y + 15,
                 at / 1000);
    }
}

void check_svg_timeline(const struct check_result *r, size_t max,
                        const struct check_canvas *canvas, struct buf *out)
{
    size_t n = r->nranks < max ? r->nranks : max;
    uint64_t zero = earliest(r, n), end = latest(r, n);
    if (!end)
        return;
    double span = end > zero ? (double)(end - zero) : 1;
    double per_ms = (canvas->width - LEFT - LABEL) / span;
    begin(canvas, (int)n * ROW + 22, "when each rank reached each phase", out);
    draw_seconds(per_ms, span, (int)n * ROW, out);
    for (size_t i = 0; i < n; i++)
        draw_rank(&r->ranks[i], zero, per_ms, (double)i * ROW, out);
    buf_adds(out, "</svg>\n");
}
