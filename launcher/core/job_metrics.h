/* job_metrics.h - what figures of a job say beside its status (control.h): its nodes, how ranks
 * have ended, when its generation began. Reads the state of the head machine and changes
 * nothing.
 */
#ifndef MUSTER_LAUNCHER_CORE_JOB_METRICS_H
#define MUSTER_LAUNCHER_CORE_JOB_METRICS_H

#include "launcher/core/job.h"

/* One place of the job. */
struct node_metrics {
    const char *host;  /* NULL = nobody has taken it yet */
    const char *state; /* a constant word */
    bool is_up;        /* it has joined and is not lost */
    struct maybe_u64
        quiet_ms; /* since it was heard last; not known of the head's own process */
};

/* Borrowed from the job, until its next step; but for the arrays, which are owned. */
struct job_metrics {
    const char *program;               /* its first word */
    struct maybe_u64 generation_at_ms; /* when its workers were started, as events count time */
    struct node_metrics *nodes;        /* by node rank, once all have joined */
    size_t nnodes;
    struct maybe_u64 *statuses; /* by rank: exit status as a shell counts it (128+N for a
                                   signal, 126 and 127 for a program that does not start); not
                                   known of one that has not ended, or was lost with its node */
    size_t nranks;
};

/* End with job_metrics_fini. */
void job_metrics_look(const struct job *j, uint64_t now_ms, struct job_metrics *out);
void job_metrics_fini(struct job_metrics *m);

#endif
