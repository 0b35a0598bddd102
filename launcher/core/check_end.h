/* check_end.h - how the job of a check ended, in the words of a check. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_CHECK_END_H
#define MUSTER_LAUNCHER_CORE_CHECK_END_H

#include "base/str.h"
#include "launcher/core/check_result.h"
#include "launcher/core/job.h"

/* The last line of muster-worker's own among those of a stderr (NULL = none) that is no
 * warning, without its name; empty if there is none. */
struct str check_end_words(const char *tail);

/* Appends one line: what ended a job that did not end well, in the words of muster-worker where
 * it said why, else with the phase that the rank had reached (r: with its ranks' traces).
 * Nothing for a job that went well. */
void check_end_line(const struct job *job, const struct options *opt,
                    const struct check_result *r, struct buf *line);

/* Adds what else the rank that failed first had to say, a line each, to r->errors. */
void check_end_evidence(const struct job *job, struct check_result *r);

#endif
