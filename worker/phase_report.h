/* phase_report.h - says which ranks a phase waits for, at a deadline and on the way to it.
 *
 * Runs in the watchdog thread of phase.c with a store connection made for the purpose. Owns the
 * wording of these messages and the keys they are read from.
 */
#ifndef MUSTER_WORKER_PHASE_REPORT_H
#define MUSTER_WORKER_PHASE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "worker/env.h"

enum { PHASE_POINT_MAX = 32, PHASE_KEY_MAX = 64, PHASE_HISTORY_MAX = 64 };

/* What this rank waits for. */
struct phase_wait {
    char point[PHASE_POINT_MAX]; /* what has to be reached by all */
    char enter[PHASE_POINT_MAX]; /* what shows that a rank entered the collective */
    char what[128];              /* for people; "" if the point's name says it */
    bool can_hang;               /* the point is behind a collective */
    char history[PHASE_HISTORY_MAX][PHASE_POINT_MAX]; /* points begun, in order */
    unsigned history_len;
    void (*on_hang)(void *ctx); /* may be NULL */
    void *on_hang_ctx;
};

/* "mw/0/<point>/<rank>" */
void phase_key(char key[PHASE_KEY_MAX], const char *point, uint32_t rank);

/* How far the ranks were when somebody asked. */
struct phase_count {
    uint32_t nranks;
    uint64_t nabsent;  /* have not entered the collective; of one that can hang */
    uint64_t nmissing; /* have not reached the point */
};

/* Appends, without newline, what is said of a phase that takes long; nothing if all are through
 * by now. Ranks that are all at work wait for nobody, and nobody is named then. who: the first
 * that is not as far as others. */
void phase_report_words(const struct phase_wait *w, const struct phase_count *n,
                        uint64_t waited_ms, const char *who, struct buf *out);

/* One line that says who is awaited; one rank of the job prints it. */
void phase_report_notice(const struct env *env, const struct phase_wait *w, uint64_t waited_ms);

/* Prints who is missing, or waits while another rank does; STATUS_PHASE or STATUS_STUCK, with
 * which the process ends. */
int phase_report_deadline(const struct env *env, const struct phase_wait *w,
                          uint64_t waited_ms);

#endif
