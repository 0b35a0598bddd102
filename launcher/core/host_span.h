/* host_span.h - names of hosts one after the other, neighbours written together: "n2-n9, n12".
 *
 * Neighbours differ in one number only, which goes up by one and is written with as many
 * digits.
 */
#ifndef MUSTER_LAUNCHER_CORE_HOST_SPAN_H
#define MUSTER_LAUNCHER_CORE_HOST_SPAN_H

#include <stddef.h>

#include "base/buf.h"

/* Zero-initialised; names stay valid until host_span_end. */
struct host_span {
    const char *first, *last; /* NULL = none yet */
    size_t n;                 /* of them */
};

/* Appends what is complete. */
void host_span_add(struct host_span *span, const char *name, struct buf *out);
void host_span_end(struct host_span *span, struct buf *out);

#endif
