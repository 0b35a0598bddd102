/* report.h - the last screen: verdict and evidence as text.
 *
 * Owns the words and their order. Who is to blame is verdict.h's. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_REPORT_H
#define MUSTER_LAUNCHER_CORE_REPORT_H

#include "base/buf.h"
#include "launcher/core/job.h"
#include "launcher/core/symptom.h"

/* Appends what to say at the end, each line with its newline; nothing for a job that went well.
 * The first line names the cause. */
void report_format(const struct job *job, const struct options *opt, struct buf *out);

/* What is known about how the first worker failed: by its words, else by its exit code; NULL if
 * nothing is. */
const struct symptom *report_symptom(const struct verdict *v, const struct options *opt);

/* "0-4, 6, 7": appends the ranks for which member says yes, of n. */
void report_ranks(const struct job_rank *ranks, uint32_t n,
                  bool (*is_member)(const struct job_rank *rank), struct buf *out);

#endif
