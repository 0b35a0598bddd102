/* dial.h - decides which of several addresses is dialled when, and which failure is told.
 *
 * Owns the order, the pauses and the limit; opens no socket and reads no clock: the caller
 * dials what dial_next says, tells what became of it, and asks again at dial_deadline. Pure.
 */
#ifndef MUSTER_RENDEZVOUS_DIAL_H
#define MUSTER_RENDEZVOUS_DIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    DIAL_STAGGER_MS = 250,    /* between the first tries of two candidates (RFC 8305) */
    DIAL_RETRY_MIN_MS = 50,   /* after a candidate's first failure, doubled with each */
    DIAL_RETRY_MAX_MS = 1000, /* up to this */
};

/* How far a try got. The furthest one is what is told in the end. */
enum dial_failure {
    DIAL_UNREACHED, /* refused, no route, nobody answered: may answer later */
    DIAL_STRANGER,  /* connected, but not to a head that speaks with us: may change */
    DIAL_REFUSED,   /* a head that will not have us: never tried again */
};

struct dial;

/* n candidates (n > 0), numbered in the order of preference. Tries go on until until_ms. Free
 * with dial_free. */
struct dial *dial_new(size_t n, uint64_t now_ms, uint64_t until_ms);
void dial_free(struct dial *d);

/* True with *candidate to be dialled now, which then counts as being tried; false if none is
 * due. A candidate fails at once: the next one need not wait for its turn. */
bool dial_next(struct dial *d, uint64_t now_ms, size_t *candidate);

/* What became of a try. why is copied. */
void dial_failed(struct dial *d, size_t candidate, enum dial_failure how, const struct err *why,
                 uint64_t now_ms);

/* When dial_next or dial_is_over may next answer otherwise; UINT64_MAX = not by time. */
uint64_t dial_deadline(const struct dial *d);

/* Whether no candidate will be tried again: all refused us, or the time is over. Tries that
 * still run then are the caller's to end. */
bool dial_is_over(const struct dial *d, uint64_t now_ms);

/* The failure to tell, of the candidate that got furthest, the preferred one among equals; NULL
 * if none has failed. Valid until the next dial_failed. */
const struct err *dial_reason(const struct dial *d);

#endif
