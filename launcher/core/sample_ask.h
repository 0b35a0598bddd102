/* sample_ask.h - what a node asks its helper (io/sampler.h) to measure: one line. Pure.
 *
 *   LOCAL,PID,UUID;LOCAL,PID,UUID;...\n      UUID - = no GPU
 */
#ifndef MUSTER_LAUNCHER_CORE_SAMPLE_ASK_H
#define MUSTER_LAUNCHER_CORE_SAMPLE_ASK_H

#include "base/buf.h"
#include "base/str.h"

struct sample_subject {
    uint32_t local_rank, pid; /* of a worker */
    struct str uuid;          /* p NULL = no GPU */
};

/* Appends one; the end of the line is the caller's. */
void sample_ask_format(const struct sample_subject *subject, struct buf *out);

/* Takes the next off the front of *rest. 1, 0 at the end, or -1: this is none. */
int sample_ask_next(struct str *rest, struct sample_subject *subject);

#endif
