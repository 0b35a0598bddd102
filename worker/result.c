#include "worker/result.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "worker/options.h"
#include "worker/size_text.h"
#include "worker/status.h"

static const uint64_t judged_from = 256ull << 20;

void result_init(struct result *r)
{
    *r = (struct result){0};
    buf_init(&r->errors, 64 * 1024);
}

void result_fini(struct result *r)
{
    for (size_t i = 0; i < r->nrows; i++)
        free(r->rows[i].per_rank_us);
    free(r->rows);
    free(r->ranks);
    free(r->isolate.without);
    links_fini(&r->links);
    buf_fini(&r->errors);
}

struct result_row *result_add_row(struct result *r)
{
    array_grow(r->rows, r->nrows, r->rows_cap);
    struct result_row *row = &r->rows[r->nrows++];
    *row = (struct result_row){0};
    row->per_rank_us = mem_alloc(r->world_size, sizeof *row->per_rank_us);
    return row;
}

bool result_is_empty(const struct result *r)
{
    return r->nrows == 0 && r->links.n == 0 && !r->isolate.without;
}

static bool can_fail(enum collective c)
{
    return c == COLLECTIVE_ALLREDUCE || c == COLLECTIVE_ALLGATHER
           || c == COLLECTIVE_REDUCESCATTER;
}

static void judge_speed(struct result *r, struct result_row *row, const struct result_limits *l)
{
    if (l->expect_gbs <= 0 || row->bytes < judged_from || r->world_size < 2)
        return;
    row->expected = l->expect_gbs;
    row->ratio = row->busbw / l->expect_gbs;
    if (row->ratio >= l->warn_below || row->wrong)
        return;
    bool fails =
        row->ratio < l->fail_below && can_fail(row->collective) && l->min_busbw_gbs <= 0;
    char size[24];
    row->verdict = fails ? ROW_SLOW : ROW_WARN;
    buf_addf(&r->errors, "%s of %s %s: busbw %.1f GB/s, %.2f of the %.1f expected\n",
             collective_title(row->collective), size_format(row->bytes, size),
             row->in_place ? "in place" : "out of place", row->busbw, row->ratio,
             row->expected);
}

/* The largest size, out of place, of the first collective tested. */
static struct result_row *largest(const struct result *r)
{
    struct result_row *found = NULL;
    for (size_t i = 0; i < r->nrows; i++) {
        struct result_row *row = &r->rows[i];
        if (!row->in_place && row->collective == r->rows[0].collective
            && (!found || row->bytes > found->bytes))
            found = row;
    }
    return found;
}

static void note_unjudged(struct result *r, const struct result_limits *l)
{
    bool is_judged = l->expect_gbs <= 0 || r->world_size < 2;
    for (size_t i = 0; i < r->nrows; i++)
        is_judged |= r->rows[i].expected > 0;
    char size[24];
    if (!is_judged)
        buf_addf(&r->errors, "the speed was not judged: no size from %s on was tested\n",
                 size_format(judged_from, size));
    if (l->min_busbw_gbs > 0 && r->world_size > 1 && !r->nrows)
        buf_adds(&r->errors,
                 "--min-busbw was held against nothing: no collective was tested\n");
}

void result_judge(struct result *r, const struct result_limits *limits)
{
    bool is_slow = false;
    for (size_t i = 0; i < r->nrows; i++) {
        struct result_row *row = &r->rows[i];
        row->verdict = row->wrong ? ROW_WRONG : row->is_checked ? ROW_OK : ROW_UNCHECKED;
        judge_speed(r, row, limits);
    }
    struct result_row *row = largest(r);
    if (limits->min_busbw_gbs > 0 && r->world_size > 1 && row
        && row->busbw < limits->min_busbw_gbs)
        row->verdict = row->wrong ? ROW_WRONG : ROW_SLOW;
    for (size_t i = 0; i < r->nrows; i++) {
        is_slow |= r->rows[i].verdict == ROW_SLOW;
        r->is_warned |= r->rows[i].verdict == ROW_WARN;
    }
    note_unjudged(r, limits);
    r->status = r->wrong ? STATUS_WRONG : is_slow ? STATUS_SLOW : STATUS_PASS;
}

static const struct result_row *peak(const struct result *r)
{
    const struct result_row *best = NULL;
    for (size_t i = 0; i < r->nrows; i++)
        if (!best || r->rows[i].busbw > best->busbw)
            best = &r->rows[i];
    return best;
}

static void say_verified(const struct result *r, struct buf *out)
{
    if (r->wrong)
        buf_addf(out, "WRONG DATA: %llu wrong elements", (unsigned long long)r->wrong);
    else if (r->compared_bytes)
        buf_addf(out, "verified: 0 wrong of %llu bytes compared",
                 (unsigned long long)r->compared_bytes);
    else
        buf_adds(out, "not verified: timed only");
}

void result_verdict(const struct result *r, struct buf *out)
{
    const struct result_row *best = peak(r);
    if (result_is_empty(r)) {
        buf_adds(out, "nothing was tested");
        return;
    }
    say_verified(r, out);
    if (r->world_size == 1)
        buf_adds(out, "; busbw not applicable: one rank has no peer");
    else if (best)
        buf_addf(out, "; peak busbw %.2f GB/s", best->busbw);
    if (r->links.n)
        buf_addf(out, "; %zu slow links or ranks of %u", r->links.noutliers,
                 r->links.n * (r->links.n - 1) / 2);
    if (r->status == STATUS_SLOW)
        buf_adds(out, "; slower than demanded");
    else if (r->is_warned)
        buf_adds(out, "; slower than expected");
}

bool result_env_is_allowed(const char *name, size_t n)
{
    static const char *const prefixes[] = {"NCCL_", "CUDA_", "MUSTER_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (str_starts((struct str){name, n}, prefixes[i]))
            return true;
    return false;
}

bool result_env_is_secret(const char *name, size_t n)
{
    static const char *const words[] = {"TOKEN", "KEY", "SECRET", "PASS"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(name, n, words[i], strlen(words[i])))
            return true;
    return false;
}
