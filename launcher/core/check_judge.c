#include "launcher/core/check_judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

/* What a good group reaches of the bandwidth that its links should give. Only all_reduce has
 * figures from many machines (docs/check.md), so only it can fail; all_gather and
 * reduce_scatter, measured on two H200, reach 0.69 of it at 256 MiB and 0.86 at 8 GiB, with
 * nccl-tests just as here. */
struct reach {
    double share;
    bool can_fail;
};

static struct reach reach_of(const char *collective)
{
    static const struct {
        const char *name;
        struct reach reach;
    } known[] = {
        {"allreduce", {1, true}},        {"all_reduce", {1, true}},
        {"allgather", {0.75, false}},    {"all_gather", {0.75, false}},
        {"reducescatter", {0.7, false}}, {"reduce_scatter", {0.7, false}},
    };
    for (size_t i = 0; collective && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(collective, known[i].name) == 0)
            return known[i].reach;
    return (struct reach){1, false};
}

static bool is_host(const struct check_result *r)
{
    return r->backend && strcmp(r->backend, "host") == 0;
}

/* ---- a row ---- */

/* The small sizes of a collective never reach a bandwidth. */
static bool is_largest(const struct check_row *row, const struct check_result *r)
{
    for (size_t i = 0; i < r->nrows; i++) {
        const struct check_row *other = &r->rows[i];
        bool is_same = row->collective && other->collective
                       && strcmp(row->collective, other->collective) == 0;
        if (is_same && other->bytes > row->bytes)
            return false;
    }
    return true;
}

static enum check_verdict by_ratio(const struct check_row *row, const struct check_limits *l)
{
    bool can_fail = l->expected.is_firm && reach_of(row->collective).can_fail;
    if (row->ratio < l->fail_below)
        return can_fail ? CHECK_FAIL : CHECK_WARN;
    return row->ratio < l->warn_below && row->bytes >= CHECK_WARNED_BYTES ? CHECK_WARN
                                                                          : CHECK_PASS;
}

static void judge_row(struct check_row *row, const struct check_result *r,
                      const struct check_limits *l)
{
    bool is_measured = isfinite(row->busbw) && r->world_size > 1;
    bool is_large = row->bytes >= CHECK_JUDGED_BYTES;
    if (is_measured && is_large && l->expected.gbs > 0 && !is_host(r)) {
        row->expected = l->expected.gbs * reach_of(row->collective).share;
        row->ratio = row->busbw / row->expected;
    }
    if (row->is_checked && row->wrong)
        row->verdict = CHECK_FAIL;
    else if (is_measured && l->min_busbw > 0 && is_largest(row, r))
        row->verdict = row->busbw < l->min_busbw ? CHECK_FAIL : CHECK_PASS;
    else if (isfinite(row->ratio))
        row->verdict = by_ratio(row, l);
    else
        row->verdict = row->is_checked ? CHECK_PASS : CHECK_NONE;
}

/* ---- the whole ---- */

static uint64_t wrong_elements(const struct check_result *r)
{
    uint64_t n = 0;
    for (size_t i = 0; i < r->nrows; i++)
        n += r->rows[i].is_checked ? r->rows[i].wrong : 0;
    return n;
}

static const struct check_row *worst(const struct check_result *r, enum check_verdict verdict)
{
    const struct check_row *row = NULL;
    for (size_t i = 0; i < r->nrows; i++)
        if (r->rows[i].verdict == verdict && isfinite(r->rows[i].busbw)
            && (!row || r->rows[i].busbw < row->busbw))
            row = &r->rows[i];
    return row;
}

static void add_speed(const struct check_row *row, const struct check_limits *l,
                      struct buf *text)
{
    buf_addf(text, "%s of ", row->collective ? row->collective : "a collective");
    check_size_format(row->bytes, text);
    buf_addf(text, " %s: busbw %.*f GB/s", row->is_in_place ? "in place" : "out of place",
             row->busbw < 10 ? 2 : 1, row->busbw);
    if (isfinite(row->ratio))
        buf_addf(text, ", %.0f %% of the expected %.0f", 100 * row->ratio, row->expected);
    if (l->min_busbw > 0 && row->busbw < l->min_busbw)
        buf_addf(text, ", below the %g demanded", l->min_busbw);
}

static void add_outlier(const struct check_outlier *o, struct buf *text)
{
    if (o->b >= 0)
        buf_addf(text, "link %d-%d is slow: %.2f of the median", o->a, o->b, o->ratio);
    else
        buf_addf(text, "rank %d is slow to all: %.2f of the median", o->a, o->ratio);
}

static bool is_checked(const struct check_result *r)
{
    for (size_t i = 0; i < r->nrows; i++)
        if (r->rows[i].is_checked)
            return true;
    return false;
}

static void say_peak(const struct check_result *r, struct buf *text)
{
    const struct check_row *peak = check_result_peak(r);
    if (!peak)
        return;
    buf_addf(text, "; peak busbw %.*f GB/s", peak->busbw < 10 ? 2 : 1, peak->busbw);
    if (isfinite(peak->ratio))
        buf_addf(text, ", %.0f %% of the expected %.0f", 100 * peak->ratio, peak->expected);
}

static void conclude(struct check_result *r, enum check_verdict verdict, int status,
                     struct buf *text)
{
    r->verdict = verdict;
    r->status = status;
    free(r->verdict_text);
    r->verdict_text = mem_strdup(buf_str(text));
}

/* The worker's first finding says where. */
static void add_wrong(const struct check_result *r, struct buf *text)
{
    if (r->errors.n)
        buf_addf(text, "WRONG DATA: %s", r->errors.items[0]);
    else
        buf_addf(text, "WRONG DATA: %llu wrong element%s",
                 (unsigned long long)wrong_elements(r), wrong_elements(r) == 1 ? "" : "s");
}

/* The job ended badly: that is the verdict, whatever was measured before. */
static void judge_end(struct check_result *r, const struct check_end *end, struct buf *text)
{
    const struct finding_list *list = &r->preflight;
    if (end->status == err_exit_status(ERR_PREFLIGHT)
        && finding_list_count(list, FINDING_ERROR)) {
        size_t i = 0;
        while (list->items[i].level != FINDING_ERROR)
            i++;
        buf_addf(text, "the preflight found an error: %s", list->items[i].seen);
    } else if (wrong_elements(r)) {
        add_wrong(r, text);
    } else {
        buf_adds(text, end->text ? end->text : "the test did not end well");
    }
    conclude(r, CHECK_FAIL, end->status, text);
}

/* The worker says that there was nothing to test, in its result or with its last words. */
static void judge_nothing(struct check_result *r, const struct check_end *end, struct buf *text)
{
    const char *why = r->is_tested && r->errors.n ? r->errors.items[0] : end->text;
    buf_addf(text, "nothing was tested: %s", why ? why : "the worker left no figures");
    conclude(r, CHECK_NONE, end->status, text);
}

static void judge_good_end(struct check_result *r, const struct check_limits *l,
                           struct buf *text)
{
    const struct check_row *failed = worst(r, CHECK_FAIL), *warned = worst(r, CHECK_WARN);
    if (wrong_elements(r)) {
        add_wrong(r, text);
        conclude(r, CHECK_FAIL, CHECK_STATUS_WRONG, text);
        return;
    }
    if (failed) {
        buf_adds(text, "too slow: ");
        add_speed(failed, l, text);
        conclude(r, CHECK_FAIL, CHECK_STATUS_SLOW, text);
        return;
    }
    bool is_missing_gpus = is_host(r) && l->has_gpus && !l->is_host_wanted;
    bool is_unjudged = l->min_busbw > 0 && !check_result_peak(r);
    if (warned) {
        buf_adds(text, "slower than it should be: ");
        add_speed(warned, l, text);
    } else if (r->errors.n) {
        buf_adds(text, r->errors.items[0]);
    } else if (is_unjudged) {
        buf_adds(text, "--min-busbw was held against nothing: no collective was tested");
    } else if (is_missing_gpus) {
        buf_adds(text, "the GPUs that are there were not tested: muster-worker has used its "
                       "host backend");
    } else if (r->pairs.noutliers) {
        add_outlier(&r->pairs.outliers[0], text);
    } else {
        buf_adds(text, !r->nrows       ? "measured, nothing stands out"
                       : is_checked(r) ? "every byte right"
                                       : "timed only, not verified");
        say_peak(r, text);
    }
    if (finding_list_count(&r->preflight, FINDING_WARNING))
        buf_adds(text, "; the preflight warns");
    bool has_warning = warned || r->errors.n || is_unjudged || is_missing_gpus
                       || r->pairs.noutliers
                       || finding_list_count(&r->preflight, FINDING_WARNING);
    conclude(r, has_warning ? CHECK_WARN : CHECK_PASS, 0, text);
}

static void note_outliers(struct check_result *r)
{
    for (size_t i = 0; i < r->pairs.noutliers; i++) {
        struct buf text;
        buf_init(&text, 0);
        add_outlier(&r->pairs.outliers[i], &text);
        check_text_add(&r->notes, buf_str(&text));
        buf_fini(&text);
    }
}

/* A rank without which the others are so much faster held them up. */
static void note_isolated(struct check_result *r)
{
    static const double gain = 1.25;
    const struct check_isolate *s = &r->isolate;
    for (size_t i = 0; s->without && i < s->n; i++) {
        if (s->without[i] < gain * s->with_all)
            continue;
        char *text = mem_printf("without rank %zu: %.2f GB/s, with it: %.2f", i, s->without[i],
                                s->with_all);
        check_text_add(&r->notes, text);
        free(text);
    }
}

static void note_slowest(struct check_result *r)
{
    enum { REMARKABLE_PERCENT = 5 };
    double ratio = 1;
    int slowest = check_result_slowest(r, &ratio);
    if (slowest < 0 || ratio < 1 + REMARKABLE_PERCENT / 100.0)
        return;
    char *text = mem_printf("slowest rank %d (%s): its operations take %.0f %% longer than "
                            "the mean of all",
                            slowest, r->ranks[slowest].host ? r->ranks[slowest].host : "?",
                            100 * (ratio - 1));
    check_text_add(&r->notes, text);
    free(text);
}

static void note_host(struct check_result *r)
{
    if (is_host(r) && r->is_tested)
        check_text_add(&r->notes, "host backend: memory of the host, whose bandwidth says "
                                  "nothing about GPUs");
}

/* Whether the worker's result holds any figure at all. */
static bool has_figures(const struct check_result *r)
{
    for (size_t i = 0; i < r->nrows; i++)
        if (isfinite(r->rows[i].mean_us) || isfinite(r->rows[i].busbw))
            return true;
    return r->pairs.uni.at || r->pairs.latency.at || r->isolate.without;
}

void check_judge(struct check_result *r, const struct check_limits *limits,
                 const struct check_end *end)
{
    struct buf text;
    buf_init(&text, 0);
    for (size_t i = 0; i < r->nrows; i++)
        judge_row(&r->rows[i], r, limits);
    note_host(r);
    if (!is_host(r)) { /* whose ranks share cores */
        note_slowest(r);
        note_isolated(r);
    }
    note_outliers(r);
    if (end->status == CHECK_STATUS_UNTESTED) {
        judge_nothing(r, end, &text);
    } else if (end->status && !(end->status == CHECK_STATUS_SLOW && r->is_tested)) {
        judge_end(r, end, &text);
    } else if (!r->is_tested || !has_figures(r)) {
        buf_adds(&text, "nothing was tested: the worker left no figures");
        conclude(r, CHECK_NONE, CHECK_STATUS_UNTESTED, &text);
    } else if (r->world_size < 2 && !wrong_elements(r)) {
        buf_adds(&text, "nothing was tested between GPUs: one rank has no peer");
        conclude(r, CHECK_NONE, CHECK_STATUS_UNTESTED, &text);
    } else {
        judge_good_end(r, limits, &text);
    }
    if (end->status && !r->status) { /* the worker has a stricter limit */
        buf_reset(&text);
        judge_end(r, end, &text);
    }
    buf_fini(&text);
}
