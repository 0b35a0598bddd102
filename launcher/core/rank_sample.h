/* rank_sample.h - what one rank's processes and its GPU are doing at one moment, and as text.
 * Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_RANK_SAMPLE_H
#define MUSTER_LAUNCHER_CORE_RANK_SAMPLE_H

#include "base/str.h"
#include "launcher/core/gpu_sample.h"

/* Times are of the monotonic clock of the rank's node: only those of one rank compare. */
struct rank_sample {
    struct maybe_u64 asked_ms; /* when its node was asked, of which its step is; not known = the
                                  node has not answered */
    struct maybe_u64 at_ms;    /* when what its processes use was measured */
    struct maybe_u64 cpu_ms;   /* processor time of the worker's processes so far */
    struct maybe_u64 rss;      /* bytes of memory of these */
    struct gpu_sample gpu;     /* nothing is known where it has no GPU, or it did not tell */
};

/* Adds what is known in from. */
void rank_sample_add(struct rank_sample *to, const struct rank_sample *from);

/* Appends each number with the separator before it, in the order of the structs; - is not
 * known. */
void rank_sample_format(const struct rank_sample *s, char separator, struct buf *out);

/* Takes as many numbers off the front of *rest. False: these are none. */
bool rank_sample_parse(struct str *rest, char separator, struct rank_sample *out);

#endif
