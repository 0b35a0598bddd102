/* line.h - a stream of bytes into pieces that end where a line ends, with a limit.
 *
 * A piece ends after "\n" or, for progress bars, after "\r". A line longer than the limit is
 * passed on in parts. Bytes are never changed. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_LINE_H
#define MUSTER_LAUNCHER_CORE_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

struct line {
    struct buf part; /* what has come of the unfinished line */
};

/* The caller's memory. What has come of an unfinished line is lost with fini: line_flush first.
 */
void line_init(struct line *l);
void line_fini(struct line *l);

/* Called with whole lines, or with a part of an overlong one. The bytes are valid during the
 * call. */
typedef void line_emit(void *ctx, const char *p, size_t n);

/* Feeds n bytes. is_single: every line is emitted by itself. limit: bytes of one line kept
 * before they are passed on as they are. */
void line_feed(struct line *l, const char *p, size_t n, bool is_single, size_t limit,
               line_emit *emit, void *ctx);

/* The stream has ended: emits what is left of an unfinished line. */
void line_flush(struct line *l, line_emit *emit, void *ctx);

/* Appends what line_emit got, with the prefix before each of its lines; without it before the
 * first where is_begun: its beginning stands there already. out has no limit. */
void line_add_prefixed(struct buf *out, struct str prefix, bool is_begun, const char *p,
                       size_t n);

#endif
