/* link_reader.h - takes numbers, texts and lists off the front of a message of a link, with
 * every bound checked.
 *
 * The layout is link_wire.h's. Each function returns 0, or -1 with ERR_PROTOCOL in r->e, which
 * names the field (what). Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_LINK_READER_H
#define MUSTER_LAUNCHER_CORE_LINK_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct link_reader {
    struct str in; /* what has not been read */
    struct err *e;
};

/* That is wrong with a field; -1. */
int link_reader_bad(struct link_reader *r, const char *what, const char *why);

/* A little-endian number of so many bytes, at most 8; within min and max, both included. */
int link_reader_number(struct link_reader *r, unsigned size, uint64_t *out, const char *what);
int link_reader_bounded(struct link_reader *r, unsigned size, uint64_t min, uint64_t max,
                        uint64_t *out, const char *what);

/* A text of at most max bytes, which lies in the input. */
int link_reader_text(struct link_reader *r, uint32_t max, const char **out, const char *what);

/* How many items, without more than the rest of the input could hold at least `least` bytes
 * each. */
int link_reader_count(struct link_reader *r, uint32_t max, size_t least, size_t *n,
                      const char *what);

/* At most max bytes of any kind, which lie in the input. */
int link_reader_bytes(struct link_reader *r, uint32_t max, struct str *out, const char *what);

#endif
