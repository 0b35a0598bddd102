/* usage.h - what the processes of workers have used, by /proc: a worker's session, or what the
 * owner of the terminal has below it (proc_workers.h).
 */
#ifndef MUSTER_LAUNCHER_IO_USAGE_H
#define MUSTER_LAUNCHER_IO_USAGE_H

#include "launcher/core/rank_sample.h"

/* Sets cpu_ms and rss of each of out[0..n) for the sessions[0..n), which are process ids of
 * workers; 0 = none, of which nothing is known, as of one that has no process. One pass over
 * /proc. */
void usage_of_sessions(const uint32_t *sessions, size_t n, struct rank_sample *out);

#endif
