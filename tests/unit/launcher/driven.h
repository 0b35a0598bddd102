/* driven.h - for tests of reports: a head machine that events in text form have driven to its
 * end. Effects are dropped; tests/trace has the tests of those.
 */
#ifndef MUSTER_TESTS_UNIT_LAUNCHER_DRIVEN_H
#define MUSTER_TESTS_UNIT_LAUNCHER_DRIVEN_H

#include "launcher/core/job.h"

/* A job of one node after these events (as in tests/trace; NULL-terminated). Ends the test
 * program if one cannot be read or the job is not done. opt is borrowed; free with job_free. */
struct job *driven_job(const struct options *opt, const char *const *lines);

/* One more event for a job that is on its way. */
void driven_step(struct job *job, const char *line);

/* The same, and what it saw and asked for is handed on. */
void driven_watch(struct job *job, const char *line,
                  void (*fn)(void *ctx, const struct job *job, const struct event *seen,
                             const struct effects *effects),
                  void *ctx);

#endif
