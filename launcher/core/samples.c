#include "launcher/core/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/node_sample.h"

void samples_fini(struct samples *s)
{
    for (uint32_t i = 0; s->ranks && i < s->nranks; i++) {
        free(s->ranks[i].gpu_index);
        free(s->ranks[i].gpu_uuid);
    }
    free(s->ranks);
    free(s->is_asked);
    free(s->is_awaited);
    free(s->sample_why);
    *s = (struct samples){.deadline_ms = UINT64_MAX};
}

void samples_reset(struct samples *s, uint32_t nnodes, uint32_t nranks)
{
    samples_fini(s);
    s->nnodes = nnodes;
    s->nranks = nranks;
}

bool samples_is_due(const struct samples *s, uint64_t now_ms)
{
    return !s->is_running && (!s->ranks || now_ms - s->began_ms >= SAMPLES_GAP_MS);
}

/* Made when it is needed first: nobody looks at most jobs. */
void samples_begin(struct samples *s, uint64_t now_ms)
{
    if (!s->ranks) {
        s->ranks = mem_alloc(s->nranks, sizeof *s->ranks);
        s->is_asked = mem_alloc(s->nnodes, sizeof *s->is_asked);
        s->is_awaited = mem_alloc(s->nnodes, sizeof *s->is_awaited);
    }
    for (uint32_t i = 0; i < s->nnodes; i++)
        s->is_awaited[i] = false;
    free(s->sample_why);
    s->sample_why = NULL;
    s->nawaited = 0;
    s->is_running = true;
    s->began_ms = now_ms;
    s->deadline_ms = now_ms + SAMPLES_LIMIT_MS;
}

bool samples_await(struct samples *s, uint32_t node)
{
    bool must_ask = !s->is_asked[node];
    s->is_asked[node] = s->is_awaited[node] = true;
    s->nawaited++;
    return must_ask;
}

void samples_left(struct samples *s, uint32_t node)
{
    if (!s->ranks || node >= s->nnodes)
        return;
    s->nawaited -= s->is_awaited[node];
    s->is_asked[node] = s->is_awaited[node] = false;
}

static void set_text(char **to, struct str text)
{
    free(*to);
    *to = text.p ? mem_printf("%.*s", STR_ARG(text)) : NULL;
}

static void take_item(struct samples *s, const char *host, uint32_t first,
                      const struct node_sample_item *item)
{
    struct sampled *rank = &s->ranks[first + item->local_rank];
    switch (item->kind) {
    case NODE_SAMPLE_RANK:
        set_text(&rank->gpu_index, item->index);
        set_text(&rank->gpu_uuid, item->uuid);
        rank->step = item->step;
        rank->quiet_ms = item->quiet_ms;
        rank_sample_add(&rank->figures, &item->figures);
        return;
    case NODE_SAMPLE_FIGURES:
        rank_sample_add(&rank->figures, &item->figures);
        return;
    case NODE_SAMPLE_WHY:
        if (!s->sample_why)
            s->sample_why = mem_printf("%s: %.*s", host, STR_ARG(item->why));
        return;
    }
}

void samples_take(struct samples *s, uint32_t node, const char *host, uint32_t first,
                  uint32_t n, struct str text)
{
    struct node_sample_item item;
    int rc = 0;
    if (!s->ranks || node >= s->nnodes || !s->is_asked[node])
        return;
    samples_left(s, node);
    samples_forget(s, first, n);
    while ((rc = node_sample_next(&text, &item)) > 0)
        if (item.kind == NODE_SAMPLE_WHY || item.local_rank < n)
            take_item(s, host, first, &item);
    if (rc < 0)
        samples_forget(s, first, n);
}

bool samples_is_over(struct samples *s, uint64_t now_ms)
{
    if (!s->is_running || (s->nawaited && now_ms < s->deadline_ms))
        return false;
    s->is_running = false;
    s->deadline_ms = UINT64_MAX;
    return true;
}

bool samples_is_late(const struct samples *s, uint32_t node)
{
    return node < s->nnodes && s->is_awaited[node];
}

void samples_forget(struct samples *s, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++) {
        s->ranks[i].step = s->ranks[i].quiet_ms = (struct maybe_u64){0};
        s->ranks[i].figures = (struct rank_sample){0};
    }
}
