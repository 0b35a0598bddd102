#include "worker/links.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

static const double slow_below = 0.8;

void links_init(struct links *l, uint32_t n)
{
    size_t square = (size_t)n * n;
    *l = (struct links){.n = n};
    l->uni = mem_alloc(square, sizeof *l->uni);
    l->bidi = mem_alloc(square, sizeof *l->bidi);
    l->latency_us = mem_alloc(square, sizeof *l->latency_us);
}

void links_fini(struct links *l)
{
    free(l->uni);
    free(l->bidi);
    free(l->latency_us);
    free(l->outliers);
    *l = (struct links){0};
}

static double link_of(const struct links *l, uint32_t a, uint32_t b)
{
    double there = l->uni[(size_t)a * l->n + b], back = l->uni[(size_t)b * l->n + a];
    return there < back ? there : back;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* 0 of nothing. */
static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return n ? values[n / 2] : 0;
}

static void add(struct links *l, struct links_outlier found)
{
    l->outliers[l->noutliers++] = found;
}

static bool is_slower(const struct links *l, double gbs, double others, double slack_us)
{
    if (!(gbs < slow_below * others))
        return false;
    double more_us = (double)l->bytes / 1e3 * (1 / gbs - 1 / others);
    return gbs <= 0 || more_us > slack_us;
}

static void judge_rank(struct links *l, uint32_t rank, double slack_us, double *values,
                       bool *is_slow)
{
    size_t n = 0;
    double best = 0;
    for (uint32_t a = 0; a < l->n; a++)
        for (uint32_t b = a + 1; b < l->n; b++) {
            double gbs = link_of(l, a, b);
            if (a != rank && b != rank)
                values[n++] = gbs;
            else if (gbs > best)
                best = gbs;
        }
    double others = median(values, n);
    is_slow[rank] = is_slower(l, best, others, slack_us);
    if (is_slow[rank])
        add(l, (struct links_outlier){LINKS_RANK, rank, rank, best, others});
}

static void judge_link(struct links *l, uint32_t a, uint32_t b, double slack_us, double *values,
                       const bool *is_slow)
{
    size_t n = 0;
    if (is_slow[a] || is_slow[b])
        return;
    for (uint32_t c = 0; c < l->n; c++) {
        if (c == a || c == b || is_slow[c])
            continue;
        values[n++] = link_of(l, a, c);
        values[n++] = link_of(l, b, c);
    }
    double gbs = link_of(l, a, b), others = median(values, n);
    if (is_slower(l, gbs, others, slack_us))
        add(l, (struct links_outlier){LINKS_LINK, a, b, gbs, others});
}

void links_judge(struct links *l, double slack_us)
{
    size_t pairs = (size_t)l->n * (l->n - 1) / 2;
    if (l->n < 3)
        return;
    double *values = mem_alloc(pairs + 2 * (size_t)l->n, sizeof *values);
    bool *is_slow = mem_alloc(l->n, sizeof *is_slow);
    l->outliers = mem_alloc(pairs + l->n, sizeof *l->outliers);
    for (uint32_t r = 0; r < l->n; r++)
        judge_rank(l, r, slack_us, values, is_slow);
    for (uint32_t a = 0; a < l->n; a++)
        for (uint32_t b = a + 1; b < l->n; b++)
            judge_link(l, a, b, slack_us, values, is_slow);
    free(values);
    free(is_slow);
}
