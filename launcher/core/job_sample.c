#include "launcher/core/job_sample.h"

#include <string.h>

#include "base/mem.h"

static void forget(struct job *j, const struct member *n)
{
    samples_forget(&j->samples, n->order.first_rank, n->order.nworkers);
}

void job_sample_check(struct job *j, uint64_t now_ms)
{
    if (!samples_is_over(&j->samples, now_ms))
        return;
    for (uint32_t i = 0; i < j->nodes.n; i++)
        if (samples_is_late(&j->samples, i))
            forget(j, &j->nodes.list[i]);
}

void job_sample_ask(struct job *j, uint64_t now_ms, struct effects *fx)
{
    if (!j->nranks || !samples_is_due(&j->samples, now_ms))
        return;
    samples_begin(&j->samples, now_ms);
    for (uint32_t i = 0; i < j->nodes.n; i++) {
        const struct member *n = &j->nodes.list[i];
        if (n->status != MEMBER_RUNNING)
            forget(j, n);
        else if (samples_await(&j->samples, i))
            job_send(j, fx, n, FRAME_SAMPLE);
    }
    job_sample_check(j, now_ms);
}

void job_sample_take(struct job *j, const struct member *n, struct str text, uint64_t now_ms)
{
    samples_take(&j->samples, members_rank(&j->nodes, n), n->host, n->order.first_rank,
                 n->order.nworkers, text);
    job_sample_check(j, now_ms);
}

void job_sample_left(struct job *j, const struct member *n, uint64_t now_ms)
{
    samples_left(&j->samples, members_rank(&j->nodes, n));
    job_sample_check(j, now_ms);
}

void job_sample_started(struct job *j, uint32_t rank)
{
    if (rank >= j->nstarts) {
        uint32_t n = j->nranks > rank ? j->nranks : rank + 1;
        j->starts = mem_realloc(j->starts, n, sizeof *j->starts);
        memset(j->starts + j->nstarts, 0, (n - j->nstarts) * sizeof *j->starts);
        j->nstarts = n;
    }
    j->starts[rank]++;
}
