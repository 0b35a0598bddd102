/* check_trace.h - what muster-worker's ranks left in the store on their way: who they are and
 * when they reached which phase (worker/phase.h). Also there when no result is. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_CHECK_TRACE_H
#define MUSTER_LAUNCHER_CORE_CHECK_TRACE_H

#include "launcher/core/check_result.h"

/* Appends the store's key of a rank's record, or of its reaching a phase; of warming up, which
 * each collective begins with, the first time. */
void check_trace_record_key(uint32_t rank, struct buf *out);
void check_trace_phase_key(uint32_t rank, enum check_phase phase, struct buf *out);

/* The key of the worker's result. */
#define CHECK_TRACE_RESULT "mw/result"

/* Takes the "key=value" lines of a record where the rank does not know better. */
void check_trace_record(const char *text, struct check_rank *rank);

/* Takes the time from the value of a phase's key: its first line, wall clock in ms. */
void check_trace_phase(const char *text, enum check_phase phase, struct check_rank *rank);

/* Appends who holds the others up: the ranks that have not reached the last phase that some
 * rank has, as in "rank 1 (host b, local rank 1, pid 4711) has not reached cuda_ok; last phase
 * started". How many there are; 0, and nothing, if all have come as far. */
size_t check_trace_missing(const struct check_result *r, struct buf *out);

#endif
