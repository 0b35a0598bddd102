/* junit.h - how a job ended, as a JUnit XML file: one test case a rank, so that a CI shows
 * which one failed. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_JUNIT_H
#define MUSTER_LAUNCHER_CORE_JUNIT_H

#include "base/buf.h"
#include "launcher/core/job.h"

/* Appends the file. A rank that failed is a failure, one that muster stopped is skipped, one
 * whose end is unknown an error. What ended the job and was no rank's failure is a test case
 * "job" of its own. job may be NULL: then err says why there was none. */
void junit_format(const struct job *job, const struct err *err, const struct options *opt,
                  uint64_t duration_ms, struct buf *out);

/* Appends text for XML 1.0, in an attribute or between tags: what XML cannot hold, and what is
 * not UTF-8, becomes '?'. */
void junit_escape(const char *text, struct buf *out);

#endif
