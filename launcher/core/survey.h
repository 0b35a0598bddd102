/* survey.h - one look of the head at all ranks: whom it asked, what it heard, until when it
 * waits. Pure; decides nothing about the job.
 *
 * A survey has one or two rounds: the first only looks; in the second, at the end of a job,
 * Python workers may be made to print their stacks. What the first round has heard stays unless
 * the second knows better.
 */
#ifndef MUSTER_LAUNCHER_CORE_SURVEY_H
#define MUSTER_LAUNCHER_CORE_SURVEY_H

#include "launcher/core/stack_compare.h"

struct survey {
    bool is_running, may_abort;
    uint32_t nnodes, nawaited;
    bool *is_awaited; /* by node */
    uint32_t nranks;
    struct seen *ranks;
    char *file;           /* where the stacks of the first node stand; NULL = nowhere */
    uint64_t deadline_ms; /* UINT64_MAX when none is running */
};

/* Forgets what was heard. The next survey is of so many nodes and ranks. */
void survey_reset(struct survey *s, uint32_t nnodes, uint32_t nranks);
void survey_fini(struct survey *s);

/* A round begins; nodes are then named one by one. */
void survey_begin(struct survey *s, bool may_abort, uint64_t now_ms);
void survey_await(struct survey *s, uint32_t node);

void survey_take(struct survey *s, uint32_t rank, const struct rank_facts *facts);
/* This node has told all, or will not tell any more. file may be NULL. */
void survey_told(struct survey *s, uint32_t node, const char *file);

/* Whether the round that is running has heard everybody or has waited long enough; it then runs
 * no more. */
bool survey_is_over(struct survey *s, uint64_t now_ms);

#endif
