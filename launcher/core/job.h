/* job.h - decides what a job does next. Sees only events, answers only with effects.
 *
 * The head machine: membership, ranks, generation, start, stop, restart, verdict. It speaks to
 * its nodes in frames only, also where the one node lives in the same process. Random bytes and
 * time come from outside.
 */
#ifndef MUSTER_LAUNCHER_CORE_JOB_H
#define MUSTER_LAUNCHER_CORE_JOB_H

#include "launcher/core/event.h"
#include "launcher/core/options.h"
#include "launcher/core/stack_compare.h"
#include "launcher/core/verdict.h"

struct job;

/* What the head knows of one rank; for reports. */
struct job_rank {
    uint32_t pid; /* 0 = never started in this generation */
    bool has_ended;
    bool was_stopped; /* it ended after the stop of the group had begun */
    bool is_lost;     /* its node was lost while it ran; what became of it nobody here knows */
    struct worker_end end;
    uint64_t after_ms; /* from the start of the generation to its end */
    uint32_t node, local_rank;
    char *host; /* owned: its node may have gone */
};

/* Keeps a reference to opt. nnodes: how many nodes may join, of which opt->nnodes_min must.
 * beat_ms: how often a node says that it is alive, 0 = nodes cannot get lost silently (same
 * process); opt->beats_missed missing beats mean a lost node, unless the head itself did not
 * run meanwhile. A node that has not joined opt->join_timeout_ms after EV_BOOT, or
 * after another one was lost, ends the job. */
struct job *job_new(const struct options *opt, uint32_t nnodes, uint64_t beat_ms);
void job_free(struct job *j);

/* Appends to out. The first event is EV_BOOT with the store's address. */
void job_step(struct job *j, const struct event *ev, struct effects *out);

/* When the next EV_TICK is due; UINT64_MAX = none. */
uint64_t job_deadline(const struct job *j);

/* Whether it is over: FX_DONE was given, and every further event is ignored. */
bool job_done(const struct job *j);

/* Valid once done; owned by the job. */
const struct verdict *job_verdict(const struct job *j);

/* What was seen of each rank of the last generation when its stacks were taken last, by rank;
 * NULL if they never were. */
const struct seen *job_seen(const struct job *j);

/* Of the last generation, for reports: ranks[0..n), owned by the job, valid until its next
 * step; and its number, from 0. */
const struct job_rank *job_ranks(const struct job *j, uint32_t *n);

/* The same of one worker of the node behind a link; *rank: its number. NULL if that node has no
 * such worker, *rank is left then. */
const struct job_rank *job_rank_behind(const struct job *j, uint32_t link, uint32_t local_rank,
                                       uint32_t *rank);
uint32_t job_generation(const struct job *j);

/* Whether a node that has joined is to be reached under this numeric address, as it says. */
bool job_has_node_at(const struct job *j, const char *host);

/* The signal that muster sent to stop the others and how long until all were gone; 0 = none was
 * sent. */
int job_stop_signal(const struct job *j, uint64_t *gone_after_ms);

#endif
