/* check_svg.h - the drawings of a check's page, as inline SVG: bandwidth over size, pairs, the
 * ranks' way to the start.
 *
 * Colours are classes and variables of the page's style (check_html.c) where they have to
 * follow light and dark. All text is escaped. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_CHECK_SVG_H
#define MUSTER_LAUNCHER_CORE_CHECK_SVG_H

#include "launcher/core/check_result.h"

/* Room in pixels. A page holds a drawing for a desk and one for a telephone: text scales with a
 * drawing, and has to stay readable. */
struct check_canvas {
    const char *css_class;
    int width, height;
};

/* Rows [first, end) of one collective, type and op: busbw over log2(bytes) out of place and in
 * place, what is expected dashed. */
void check_svg_bandwidth(const struct check_result *r, size_t first, size_t end,
                         const struct check_canvas *canvas, struct buf *out);

/* A square of numbers, each in its cell, on a scale that every eye can tell apart (cividis):
 * the best is brightest, half as good lies in the middle, so that small differences look small.
 * labels: a name a row; unit: "GB/s"; is_less_better: of latencies. */
void check_svg_matrix(const struct check_matrix *m, char *const *labels, const char *unit,
                      bool is_less_better, struct buf *out);

/* A bar a rank, from the first rank's start: when each phase was reached. Up to max ranks. */
void check_svg_timeline(const struct check_result *r, size_t max,
                        const struct check_canvas *canvas, struct buf *out);

#endif
