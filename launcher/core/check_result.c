#include "launcher/core/check_result.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

static const char *const words[] = {
#define X(id, word) [CHECK_##id] = word,
    CHECK_VERDICTS(X)
#undef X
};
static_assert(sizeof words / sizeof words[0] == CHECK_VERDICT_COUNT, "one word a verdict");

static const char *const phases[] = {
#define X(name) [CHECK_PHASE_##name] = #name,
    CHECK_PHASES(X)
#undef X
};
static_assert(sizeof phases / sizeof phases[0] == CHECK_PHASE_COUNT, "one name a phase");

const char *check_verdict_word(enum check_verdict v)
{
    return words[v];
}

const char *check_phase_name(enum check_phase phase)
{
    return phases[phase];
}

void check_text_add(struct check_text *list, const char *text)
{
    array_grow(list->items, list->n, list->cap);
    list->items[list->n++] = mem_strdup(text);
}

static void text_fini(struct check_text *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i]);
    free(list->items);
}

void check_result_init(struct check_result *r)
{
    *r = (struct check_result){0};
}

void check_result_set_ranks(struct check_result *r, size_t n)
{
    r->ranks = mem_alloc(n, sizeof *r->ranks);
    r->nranks = n;
    for (size_t i = 0; i < n; i++)
        r->ranks[i] = (struct check_rank){.rank = (uint32_t)i, .device = -1, .init_s = -1};
}

int check_rank_last_phase(const struct check_rank *rank)
{
    int last = CHECK_PHASE_COUNT - 1;
    while (last >= 0 && !rank->reached_ms[last])
        last--;
    return last;
}

struct check_row *check_result_add_row(struct check_result *r, size_t *cap)
{
    array_grow(r->rows, r->nrows, *cap);
    struct check_row *row = &r->rows[r->nrows++];
    *row = (struct check_row){.mean_us = NAN,
                              .min_us = NAN,
                              .max_us = NAN,
                              .algbw = NAN,
                              .busbw = NAN,
                              .expected = NAN,
                              .ratio = NAN};
    return row;
}

bool check_result_shows(const struct check_result *r, const struct finding *f)
{
    return r->is_verbose || f->level == FINDING_ERROR || f->level == FINDING_WARNING;
}

void check_matrix_set(struct check_matrix *m, size_t n)
{
    m->at = mem_alloc(n * n, sizeof *m->at);
    m->n = n;
    for (size_t i = 0; i < n * n; i++)
        m->at[i] = NAN;
}

double check_matrix_at(const struct check_matrix *m, size_t row, size_t column)
{
    return m->at[row * m->n + column];
}

static void ranks_fini(struct check_result *r)
{
    for (size_t i = 0; i < r->nranks; i++) {
        free(r->ranks[i].host);
        free(r->ranks[i].gpu_uuid);
        free(r->ranks[i].pci);
        free(r->ranks[i].name);
    }
    free(r->ranks);
}

static void rows_fini(struct check_result *r)
{
    for (size_t i = 0; i < r->nrows; i++) {
        free(r->rows[i].collective);
        free(r->rows[i].dtype);
        free(r->rows[i].op);
        free(r->rows[i].per_rank_us);
    }
    free(r->rows);
}

static void pairs_fini(struct check_pairs *p)
{
    for (size_t i = 0; i < p->noutliers; i++)
        free(p->outliers[i].kind);
    free(p->outliers);
    free(p->uni.at);
    free(p->bidi.at);
    free(p->latency.at);
}

void check_result_fini(struct check_result *r)
{
    ranks_fini(r);
    rows_fini(r);
    pairs_fini(&r->pairs);
    free(r->isolate.without);
    text_fini(&r->errors);
    text_fini(&r->notes);
    finding_list_fini(&r->preflight);
    free(r->job_id);
    free(r->backend);
    free(r->nccl_version);
    free(r->nccl_path);
    free(r->expected_why);
    free(r->verdict_text);
    *r = (struct check_result){0};
}

const struct check_row *check_result_peak(const struct check_result *r)
{
    const struct check_row *best = NULL;
    for (size_t i = 0; i < r->nrows; i++)
        if (isfinite(r->rows[i].busbw) && (!best || r->rows[i].busbw > best->busbw))
            best = &r->rows[i];
    return best;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double mean_of(const struct check_row *row)
{
    double sum = 0;
    for (size_t i = 0; i < row->nper_rank; i++)
        sum += row->per_rank_us[i];
    return sum / (double)row->nper_rank;
}

/* NAN if there is no row of all ranks. */
static double lag(const struct check_result *r, size_t rank, double *room)
{
    size_t n = 0;
    for (size_t i = 0; i < r->nrows; i++) {
        const struct check_row *row = &r->rows[i];
        if (row->nper_rank == r->nranks && mean_of(row) > 0)
            room[n++] = row->per_rank_us[rank] / mean_of(row);
    }
    qsort(room, n, sizeof *room, compare);
    return n ? room[n / 2] : (double)NAN;
}

int check_result_slowest(const struct check_result *r, double *ratio)
{
    int slowest = -1;
    double *room = mem_alloc(r->nrows, sizeof *room);
    for (size_t i = 0; i < r->nranks && r->nranks > 1; i++) {
        double x = lag(r, i, room);
        if (isfinite(x) && (slowest < 0 || x > *ratio)) {
            slowest = (int)i;
            *ratio = x;
        }
    }
    free(room);
    return slowest;
}

void check_size_format(uint64_t bytes, struct buf *out)
{
    static const char units[] = " KMGT";
    unsigned unit = 0;
    while (unit < 4 && bytes && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    buf_addf(out, "%llu", (unsigned long long)bytes);
    if (unit)
        buf_addc(out, units[unit]);
}
