#include "launcher/core/survey.h"

#include <stdlib.h>

#include "base/mem.h"

/* A node looks for ten seconds at most, and waits three for those that it ends (stacks.h). */
enum { LOOK_LIMIT_MS = 15000, ABORT_LIMIT_MS = 8000 };

void survey_fini(struct survey *s)
{
    for (uint32_t i = 0; s->ranks && i < s->nranks; i++)
        seen_fini(&s->ranks[i]);
    free(s->ranks);
    free(s->is_awaited);
    free(s->file);
    *s = (struct survey){.deadline_ms = UINT64_MAX};
}

void survey_reset(struct survey *s, uint32_t nnodes, uint32_t nranks)
{
    survey_fini(s);
    s->nnodes = nnodes;
    s->nranks = nranks;
}

/* Made when it is needed first: most jobs never need it. */
void survey_begin(struct survey *s, bool may_abort, uint64_t now_ms)
{
    if (!s->is_awaited) {
        s->is_awaited = mem_alloc(s->nnodes, sizeof *s->is_awaited);
        s->ranks = mem_alloc(s->nranks, sizeof *s->ranks);
    }
    for (uint32_t i = 0; i < s->nnodes; i++)
        s->is_awaited[i] = false;
    for (uint32_t i = 0; i < s->nranks && !may_abort; i++)
        seen_fini(&s->ranks[i]);
    s->nawaited = 0;
    s->is_running = true;
    s->may_abort = may_abort;
    s->deadline_ms = now_ms + (may_abort ? ABORT_LIMIT_MS : LOOK_LIMIT_MS);
}

void survey_await(struct survey *s, uint32_t node)
{
    s->is_awaited[node] = true;
    s->nawaited++;
}

void survey_take(struct survey *s, uint32_t rank, const struct rank_facts *facts)
{
    if (s->is_running && rank < s->nranks)
        seen_take(&s->ranks[rank], facts);
}

void survey_told(struct survey *s, uint32_t node, const char *file)
{
    if (!s->is_running || !s->is_awaited[node])
        return;
    s->is_awaited[node] = false;
    s->nawaited--;
    if (file && !s->file)
        s->file = mem_strdup(file);
}

bool survey_is_over(struct survey *s, uint64_t now_ms)
{
    if (!s->is_running || (s->nawaited && now_ms < s->deadline_ms))
        return false;
    s->is_running = false;
    s->deadline_ms = UINT64_MAX;
    return true;
}
