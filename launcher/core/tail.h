/* tail.h - the last lines of a stream: what a worker said before it died.
 *
 * Bounded whatever comes. Pure: bytes in, text out.
 */
#ifndef MUSTER_LAUNCHER_CORE_TAIL_H
#define MUSTER_LAUNCHER_CORE_TAIL_H

#include "base/buf.h"

enum { TAIL_LINES = 10, TAIL_BYTES = 2048 };

struct tail {
    struct buf bytes; /* at least what tail_text gives */
};

/* The caller's memory; nothing was said so far. */
void tail_init(struct tail *t);
void tail_fini(struct tail *t);

/* NUL bytes become "?": the tail is text. */
void tail_add(struct tail *t, const char *p, size_t n);

/* The last lines, at most TAIL_LINES and TAIL_BYTES, in bytes as they came; "" if none. Owned
 * by t, valid until the next tail_add. */
const char *tail_text(const struct tail *t);

#endif
