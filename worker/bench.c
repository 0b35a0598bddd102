#include "worker/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "worker/measure.h"
#include "worker/pairs.h"
#include "worker/result_table.h"
#include "worker/sweep.h"

static const double host_slack_us = 5000, nccl_slack_us = 200;

static double chosen(enum average how, const struct result_row *row)
{
    switch (how) {
    case AVERAGE_RANK0:
        return row->per_rank_us[0];
    case AVERAGE_MEAN:
        return row->mean_us;
    case AVERAGE_MIN:
        return row->min_us;
    case AVERAGE_MAX:
        return row->max_us;
    }
    return row->mean_us;
}

static void add_row(struct bench *b, const struct measure *m, const struct report *all,
                    int place)
{
    uint32_t n = b->env->world_size;
    struct result_row *row = result_add_row(b->result);
    row->collective = m->op.collective;
    row->type = m->op.type;
    row->op = m->op.op;
    row->root = m->op.root;
    row->bytes = collective_bytes(row->collective, m->op.count, type_bytes(row->type), n);
    row->count = m->op.count;
    row->in_place = place == IN_PLACE;
    row->is_checked = b->options->check > 0;
    row->iters = b->options->iters;
    row->min_us = all[0].us[place];
    for (uint32_t r = 0; r < n; r++) {
        double us = all[r].us[place];
        row->per_rank_us[r] = us;
        row->mean_us += us / n;
        row->min_us = us < row->min_us ? us : row->min_us;
        row->max_us = us > row->max_us ? us : row->max_us;
        row->wrong += all[r].wrong[place];
    }
    row->algbw = sweep_algbw(row->bytes, chosen(b->options->average, row));
    row->busbw = row->algbw * collective_factor(row->collective, n);
    b->result->wrong += row->wrong;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The rank that kept the others waiting: busy several times as long as the middle of them, for
 * a good part of the operation, and longer than the processor may be away. */
static void note_slow(struct bench *b, const struct measure *m, const struct report *all)
{
    uint32_t n = b->env->world_size, slowest = 0;
    if (n < 2)
        return;
    double *busy = mem_alloc(n, sizeof *busy), most = 0, mean = 0;
    for (uint32_t r = 0; r < n; r++) {
        busy[r] = all[r].busy_us[OUT_OF_PLACE];
        mean += all[r].us[OUT_OF_PLACE] / n;
        if (busy[r] > most) {
            most = busy[r];
            slowest = r;
        }
    }
    qsort(busy, n, sizeof *busy, by_value);
    double middle = busy[(n - 1) / 2];
    char what[96];
    double slack = b->is_host ? host_slack_us : nccl_slack_us;
    if (most > 4 * middle + slack && most > 0.5 * mean)
        buf_addf(&b->result->errors,
                 "rank %u is slow: it kept the %s waiting, busy %.0f us of %.0f us an "
                 "operation; the median rank %.0f us\n",
                 slowest, measure_describe(m, what), most, mean, middle);
    free(busy);
}

/* A result that is right everywhere is also the same everywhere; this finds what the checks of
 * the ranks cannot see, such as a tolerance used differently. */
static void note_hashes(struct bench *b, const struct measure *m, const struct report *all)
{
    if (b->options->check == 0 || !collective_is_same_everywhere(m->op.collective))
        return;
    for (int place = 0; place < PLACEMENTS; place++)
        for (uint32_t r = 1; r < b->env->world_size; r++) {
            if (all[r].hash[place] == all[0].hash[place])
                continue;
            char what[96];
            buf_addf(&b->result->errors, "ranks 0 and %u hold different results of the %s\n", r,
                     measure_describe(m, what));
            if (b->result->wrong == 0) {
                b->result->wrong = 1;
                b->result->is_wrong_everywhere = true;
            }
            return;
        }
}

static void print_rows(struct bench *b, bool has_in_place)
{
    struct buf line;
    const struct result_row *row = b->result->rows + b->result->nrows - (has_in_place ? 2 : 1);
    buf_init(&line, 0);
    result_table_line(b->result, b->options->format, row, has_in_place ? row + 1 : NULL, &line);
    if (b->print)
        b->print(&line);
    buf_fini(&line);
}

static void take_reports(struct bench *b, void *ctx, const struct buf *said)
{
    const struct measure *m = ctx;
    uint32_t n = b->env->world_size;
    bool has_in_place = collective_has_in_place(m->op.collective);
    struct report *all = mem_alloc(n, sizeof *all);
    for (uint32_t r = 0; r < n; r++) {
        if (said[r].len == sizeof *all)
            memcpy(&all[r], said[r].data, sizeof *all);
        b->result->compared_bytes += all[r].compared_bytes;
        if (*all[r].finding)
            buf_addf(&b->result->errors, "%s\n", all[r].finding);
    }
    add_row(b, m, all, OUT_OF_PLACE);
    if (has_in_place)
        add_row(b, m, all, IN_PLACE);
    note_hashes(b, m, all);
    note_slow(b, m, all);
    free(all);
    print_rows(b, has_in_place);
}

int bench_exchange(struct bench *b, struct point at, const void *said, size_t len,
                   void (*take)(struct bench *b, void *ctx, const struct buf *all), void *ctx,
                   struct err *e)
{
    uint32_t n = b->env->world_size;
    struct buf *all = NULL;
    if (b->env->rank == 0) {
        all = mem_alloc(n, sizeof *all);
        for (uint32_t r = 0; r < n; r++)
            buf_init(&all[r], 0);
    }
    int status = phases_reach(b->phases, at, said, len, all, e);
    if (all && !status)
        take(b, ctx, all);
    for (uint32_t r = 0; all && r < n; r++)
        buf_fini(&all[r]);
    free(all);
    return status ? status : phases_go(b->phases, at, NULL, e);
}

static int one_size(struct bench *b, const struct operation *op, uint64_t largest_us,
                    struct err *e)
{
    struct measure m = {
        .backend = b->backend,
        .options = b->options,
        .rank = b->env->rank,
        .nranks = b->env->world_size,
        .max_bytes = b->max_bytes,
        .op = *op,
    };
    const struct point at = {PHASE_bench, b->step++};
    char what[96];
    phases_begin(b->phases, at, measure_describe(&m, what),
                 sweep_deadline_ms(b->options, largest_us));
    int status = phases_enter(b->phases, at, e);
    if (!status)
        status = measure_size(&m, e);
    b->own_wrong += m.report.wrong[OUT_OF_PLACE] + m.report.wrong[IN_PLACE];
    return status ? status
                  : bench_exchange(b, at, &m.report, sizeof m.report, take_reports, &m, e);
}

/* Sizes from the smallest to the largest, doubling; *us = one operation of the largest. */
static int warm_up(struct bench *b, struct operation op, uint64_t min, uint64_t max, int step,
                   uint64_t *us, struct err *e)
{
    const struct point at = {PHASE_warm, step};
    struct backend *k = b->backend;
    uint64_t begin = now_ns();
    uint32_t times = 1;
    char what[64];
    snprintf(what, sizeof what, "warm-up of %s", collective_title(op.collective));
    phases_begin(b->phases, at, what, 0);
    int status = phases_enter(b->phases, at, e);
    for (uint64_t s = min; s <= max && !status; s = s < max && 2 * s > max ? max : 2 * s) {
        op.count = s;
        begin = now_ns();
        times = sweep_warmups(b->options, s == max);
        for (uint32_t i = 0; i < times && !status; i++)
            status = k->ops->run(k, &op, 0, e);
        if (!status)
            status = k->ops->sync(k, e);
        phases_go_on(b->phases);
    }
    if (status)
        return status;
    *us = (now_ns() - begin) / 1000 / times; /* the largest size came last */
    return phases_meet(b->phases, at, e);
}

/* The sizes asked for as counts of a block, without those that come out the same. */
static int list_counts(struct bench *b, const struct operation *op, uint64_t **counts,
                       size_t *n, struct err *e)
{
    size_t left_out, element = type_bytes(op->type), kept = 0;
    if (sweep_sizes(b->options, b->is_host, b->max_bytes, element, counts, n, &left_out, e) < 0)
        return err_exit_status(e->code);
    if (left_out && b->env->rank == 0)
        buf_addf(&b->result->errors,
                 "%zu sizes were left out: memory holds %llu bytes a buffer\n", left_out,
                 (unsigned long long)b->max_bytes);
    for (size_t i = 0; i < *n; i++) {
        uint64_t count =
            collective_count(op->collective, (*counts)[i], element, b->env->world_size);
        if (kept == 0 || (*counts)[kept - 1] != count)
            (*counts)[kept++] = count;
    }
    *n = kept;
    return 0;
}

static int one_kind(struct bench *b, struct operation op, int *warm_step, struct err *e)
{
    uint64_t *counts, min = UINT64_MAX, max = 0, largest_us = 0;
    size_t n;
    int status = list_counts(b, &op, &counts, &n, e);
    if (status)
        return status;
    for (size_t i = 0; i < n; i++) {
        min = counts[i] < min ? counts[i] : min;
        max = counts[i] > max ? counts[i] : max;
    }
    status = warm_up(b, op, min, max, (*warm_step)++, &largest_us, e);
    for (size_t i = 0; i < n && !status; i++) {
        op.count = counts[i];
        status = one_size(b, &op, largest_us, e);
    }
    free(counts);
    return status;
}

static void print_columns(struct bench *b, enum collective c)
{
    struct buf text;
    buf_init(&text, 0);
    result_table_columns(c, b->options->format, &text);
    if (b->print && b->env->rank == 0)
        b->print(&text);
    buf_fini(&text);
}

/* A type at the first of the operations. */
static void note_unsupported(struct bench *b, enum type type, enum op op)
{
    bool is_first = true;
    for (int before = 0; before < (int)op; before++)
        is_first &= !b->options->ops[before];
    if (b->env->rank == 0 && is_first)
        buf_addf(&b->result->errors, "%s was left out: this library or GPU does not have it\n",
                 type_name(type));
}

/* Whether it can be done and verified here. */
static bool is_possible(struct bench *b, const struct operation *kind)
{
    if (!b->backend->ops->supports(b->backend, kind->type, kind->op)) {
        note_unsupported(b, kind->type, kind->op);
        return false;
    }
    if (!collective_reduces(kind->collective)
        || pattern_can(b->env->world_size, kind->type, kind->op))
        return true;
    if (b->env->rank == 0)
        buf_addf(&b->result->errors, "%s of %s was left out: it cannot tell %u ranks apart\n",
                 op_name(kind->op), type_name(kind->type), b->env->world_size);
    return false;
}

/* Every type and, for reductions, every operation. */
static int one_collective(struct bench *b, enum collective c, int *warm_step, struct err *e)
{
    const struct options *o = b->options;
    int status = 0;
    print_columns(b, c);
    for (int t = 0; t < TYPE_COUNT; t++)
        for (int op = 0; op < OP_COUNT && !status && o->types[t]; op++) {
            const struct operation kind = {
                .collective = c, .type = (enum type)t, .op = (enum op)op, .root = o->root};
            if (collective_reduces(c) ? !o->ops[op] : op > 0)
                continue;
            if (is_possible(b, &kind))
                status = one_kind(b, kind, warm_step, e);
        }
    return status;
}

uint64_t bench_bytes(const struct options *o, bool is_host)
{
    uint64_t bytes = pairs_bytes(o, is_host);
    bool any = false;
    for (int c = 0; c < COLLECTIVE_COUNT; c++)
        any |= o->collectives[c];
    uint64_t largest = any ? sweep_largest(o, is_host) : 0;
    return largest > bytes ? largest : bytes;
}

static uint32_t highest_injected(const struct inject *in)
{
    uint32_t link = in->a > in->b ? in->a : in->b;
    return in->rank > link ? in->rank : link;
}

int bench_criticise(const struct options *o, uint32_t nranks, struct err *e)
{
    if (highest_injected(&o->inject) >= nranks)
        return err_set(e, ERR_USAGE, "--inject names rank %u: the ranks are 0 to %u",
                       highest_injected(&o->inject), nranks - 1);
    if (o->root >= nranks)
        return err_set(e, ERR_USAGE, "--root %u: the ranks are 0 to %u", o->root, nranks - 1);
    for (int c = 0; c < COLLECTIVE_COUNT; c++)
        if (o->collectives[c] && !o->all_tests && !collective_takes((enum collective)c, nranks))
            return err_set(e, ERR_USAGE,
                           "--test %s needs a power of two of ranks, and there are %u",
                           collective_name((enum collective)c), nranks);
    return 0;
}

int bench_check_sizes(const struct options *o, bool is_host, uint64_t max_bytes, struct err *e)
{
    uint64_t *sizes;
    size_t n, left_out;
    bool any = false;
    for (int c = 0; c < COLLECTIVE_COUNT; c++)
        any |= o->collectives[c];
    if (!any)
        return 0;
    if (sweep_sizes(o, is_host, max_bytes, 1, &sizes, &n, &left_out, e) < 0)
        return -1;
    free(sizes);
    return 0;
}

int bench_run(struct bench *b, struct err *e)
{
    struct backend *k = b->backend;
    int warm_step = 0;
    int status = k->ops->alloc(k, b->max_bytes, e);
    if (!status)
        status = k->ops->poison(k, BUFFER_SEND, 0, b->max_bytes + BACKEND_GUARD_BYTES, e);
    for (int c = 0; c < COLLECTIVE_COUNT && !status; c++)
        if (b->options->collectives[c]
            && collective_takes((enum collective)c, b->env->world_size))
            status = one_collective(b, (enum collective)c, &warm_step, e);
    return status ? status : pairs_run(b, e);
}
