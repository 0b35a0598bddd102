#include "worker/bench.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "worker/sweep.h"

enum { SEED = 20240229, DEADLINE_FACTOR = 20, MIN_DEADLINE_MS = 30000 };

struct timing {
    double us, busy_us; /* of one operation; busy = without waiting for other ranks */
};

/* What each rank says about a size; ranks run the same program on the same kind of machine. */
struct report {
    double us[2], busy_us[2];
    uint64_t wrong[2], hash[2], compared_bytes;
    char finding[320];
};

/* One size of one type and operation. */
struct measure {
    struct bench *b;
    struct operation op;
    uint64_t bytes, regions;
    struct report report;
};

static int first_region(struct measure *m, struct err *e)
{
    return m->b->backend->ops->run(m->b->backend, &m->op, 0, e);
}

static void sleep_ms(uint64_t ms)
{
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000L};
    nanosleep(&t, NULL);
}

/* The launch loop: no store, no clock, no deadline inside. */
static int launch_all(const struct measure *m, struct err *e)
{
    struct backend *b = m->b->backend;
    const struct backend_ops *ops = b->ops;
    const struct options *o = m->b->options;
    bool is_slow = o->inject.kind == INJECT_SLOW && o->inject.rank == m->b->env->rank;
    int status = 0;
    for (uint32_t i = 0; i < o->iters && !status; i++) {
        if (is_slow)
            sleep_ms(o->inject.ms);
        status = ops->run(b, &m->op, m->bytes * (i % m->regions), e);
        if (o->blocking && !status)
            status = ops->sync(b, e);
    }
    return status;
}

static int time_operations(struct measure *m, struct timing *t, struct err *e)
{
    struct backend *b = m->b->backend;
    int status = first_region(m, e);
    if (!status)
        status = b->ops->sync(b, e);
    if (!status)
        status = b->ops->barrier(b, e);
    if (status)
        return status;
    uint64_t waited = b->ops->waited_ns(b), begin = now_ns();
    status = launch_all(m, e);
    uint64_t launched = now_ns();
    if (!status)
        status = b->ops->sync(b, e);
    uint64_t end = now_ns();
    waited = b->ops->waited_ns(b) - waited;
    t->us = (double)(end - begin) / 1e3 / m->b->options->iters;
    t->busy_us = (double)(launched - begin - waited) / 1e3 / m->b->options->iters;
    return status;
}

static const char *describe(const struct measure *m, char text[96])
{
    char size[24];
    snprintf(text, 96, "all_reduce of %s %s %s", options_format_size(m->bytes, size),
             type_name(m->op.type), op_name(m->op.op));
    return text;
}

/* The rank's first finding: count, range, values, and who is suspected. */
static int note_wrong(struct measure *m, const struct pattern *p, const struct pattern_tally *t,
                      bool in_place, struct err *e)
{
    struct report *r = &m->report;
    uint64_t got = 0;
    r->wrong[in_place] += t->wrong;
    m->b->own_wrong += t->wrong;
    if (t->wrong == 0 || *r->finding)
        return 0;
    size_t size = type_bytes(m->op.type);
    struct backend *b = m->b->backend;
    int status = b->ops->peek(b, BUFFER_RECV, t->first * size, &got, size, e);
    if (status)
        return status;
    uint64_t expected = pattern_expected(p, t->first);
    int64_t suspect = pattern_suspect(p, t->first, got);
    char what[96], who[64] = "";
    if (suspect >= 0)
        snprintf(who, sizeof who, "; the share of rank %lld is missing", (long long)suspect);
    snprintf(r->finding, sizeof r->finding,
             "rank %u: %llu wrong elements in the %s, %s: first %llu, last %llu; expected %g "
             "(0x%llx), got %g (0x%llx), xor 0x%llx%s",
             m->b->env->rank, (unsigned long long)t->wrong, describe(m, what),
             in_place ? "in place" : "out of place", (unsigned long long)t->first,
             (unsigned long long)t->last, pattern_decode(m->op.type, expected),
             (unsigned long long)expected, pattern_decode(m->op.type, got),
             (unsigned long long)got, (unsigned long long)(expected ^ got), who);
    return 0;
}

static int verify_elements(struct measure *m, const struct pattern *p, uint64_t begin,
                           uint64_t end, bool in_place, uint64_t *hash, struct err *e)
{
    struct pattern_tally t;
    struct backend *b = m->b->backend;
    pattern_tally_init(&t);
    int status = b->ops->verify(b, BUFFER_RECV, begin, end, p, &t, e);
    if (status)
        return status;
    m->report.compared_bytes += (end - begin) * type_bytes(m->op.type);
    *hash = t.hash;
    return note_wrong(m, p, &t, in_place, e);
}

/* Bytes that no operation may have written. */
static int verify_untouched(struct measure *m, enum buffer which, uint64_t begin, uint64_t end,
                            bool in_place, struct err *e)
{
    struct pattern_tally t;
    struct backend *b = m->b->backend;
    struct report *r = &m->report;
    pattern_tally_init(&t);
    int status = b->ops->poison_check(b, which, begin, end, &t, e);
    if (status)
        return status;
    r->compared_bytes += end - begin;
    r->wrong[in_place] += t.wrong;
    m->b->own_wrong += t.wrong;
    if (t.wrong == 0 || *r->finding)
        return 0;
    char what[96];
    snprintf(r->finding, sizeof r->finding,
             "rank %u: the %s wrote %llu bytes outside of its result, in the %s buffer from "
             "byte %llu to %llu",
             m->b->env->rank, describe(m, what), (unsigned long long)t.wrong,
             which == BUFFER_SEND ? "send" : "receive", (unsigned long long)t.first,
             (unsigned long long)t.last);
    return 0;
}

/* Elements [begin, end) of the receive buffer hold the result, all else is poison. */
static int verify_buffers(struct measure *m, const struct pattern *p, uint64_t begin,
                          uint64_t end, bool in_place, struct err *e)
{
    uint64_t size = type_bytes(m->op.type), all = m->b->max_bytes + BACKEND_GUARD_BYTES;
    int status = verify_elements(m, p, begin, end, in_place, &m->report.hash[in_place], e);
    if (!status && begin > 0)
        status = verify_untouched(m, BUFFER_RECV, 0, begin * size, in_place, e);
    if (!status)
        status = verify_untouched(m, BUFFER_RECV, end * size, all, in_place, e);
    if (!status)
        status = verify_untouched(m, BUFFER_SEND, m->b->max_bytes, all, in_place, e);
    return status;
}

static int inject_corruption(struct measure *m, struct err *e)
{
    const struct inject *in = &m->b->options->inject;
    struct backend *b = m->b->backend;
    unsigned char byte;
    if (in->kind != INJECT_CORRUPT || in->rank != m->b->env->rank
        || (in->size_bytes && in->size_bytes != m->bytes))
        return 0;
    uint64_t at = m->bytes / 2;
    int status = b->ops->peek(b, BUFFER_RECV, at, &byte, 1, e);
    byte ^= 0x40;
    return status ? status : b->ops->poke(b, BUFFER_RECV, at, &byte, 1, e);
}

static int make_pattern(const struct measure *m, uint32_t round, struct pattern *p,
                        struct err *e)
{
    int rc = pattern_init(p, SEED, round, m->b->env->world_size, m->op.type, m->op.op, e);
    return rc < 0 ? err_exit_status(e->code) : 0;
}

static int prepare(struct measure *m, enum buffer which, uint64_t begin, uint64_t end,
                   const struct pattern *p, struct err *e)
{
    struct backend *b = m->b->backend;
    uint64_t all = m->b->max_bytes + BACKEND_GUARD_BYTES;
    int status = b->ops->poison(b, BUFFER_RECV, 0, all, e);
    if (!status)
        status = b->ops->fill(b, which, begin, end, p, e);
    return status ? status : b->ops->sync(b, e);
}

/* One verified operation with new data on the last region, next to the guard band. */
static int check_round(struct measure *m, uint32_t round, bool in_place, struct err *e)
{
    struct backend *b = m->b->backend;
    struct pattern p;
    uint64_t offset = m->bytes * (sweep_regions(m->b->max_bytes, m->bytes) - 1),
             begin = offset / type_bytes(m->op.type), end = begin + m->op.count;
    m->op.in_place = in_place;
    int status = make_pattern(m, 2 * round + in_place, &p, e);
    if (!status)
        status = prepare(m, in_place ? BUFFER_RECV : BUFFER_SEND, begin, end, &p, e);
    if (!status)
        status = b->ops->run(b, &m->op, offset, e);
    if (!status)
        status = b->ops->sync(b, e);
    return status ? status : verify_buffers(m, &p, begin, end, in_place, e);
}

static int measure_in_place(struct measure *m, struct err *e)
{
    struct timing t = {0};
    m->op.in_place = true;
    int status = time_operations(m, &t, e);
    m->report.us[1] = t.us;
    m->report.busy_us[1] = t.busy_us;
    return status;
}

static int measure_out_of_place(struct measure *m, struct err *e)
{
    struct timing t = {0};
    struct pattern p;
    uint32_t iters = m->b->options->iters;
    uint64_t used = m->regions < iters ? m->regions : iters;
    m->op.in_place = false;
    int status = make_pattern(m, 0, &p, e);
    if (!status)
        status = prepare(m, BUFFER_SEND, 0, used * m->op.count, &p, e);
    if (!status)
        status = time_operations(m, &t, e);
    if (status)
        return status;
    m->report.us[0] = t.us;
    m->report.busy_us[0] = t.busy_us;
    if (m->b->options->check == 0)
        return 0;
    status = inject_corruption(m, e);
    return status ? status : verify_buffers(m, &p, 0, used * m->op.count, false, e);
}

static int measure_size(struct measure *m, struct err *e)
{
    int status = measure_out_of_place(m, e);
    if (!status)
        status = measure_in_place(m, e);
    for (uint32_t round = 1; round <= m->b->options->check && !status; round++) {
        status = check_round(m, round, false, e);
        if (!status)
            status = check_round(m, round, true, e);
    }
    return status;
}

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
                    bool in_place)
{
    uint32_t n = b->env->world_size;
    struct result_row *row = result_add_row(b->result);
    row->type = m->op.type;
    row->op = m->op.op;
    row->bytes = m->bytes;
    row->count = m->op.count;
    row->in_place = in_place;
    row->is_checked = b->options->check > 0;
    row->iters = b->options->iters;
    row->min_us = all[0].us[in_place];
    for (uint32_t r = 0; r < n; r++) {
        double us = all[r].us[in_place];
        row->per_rank_us[r] = us;
        row->mean_us += us / n;
        row->min_us = us < row->min_us ? us : row->min_us;
        row->max_us = us > row->max_us ? us : row->max_us;
        row->wrong += all[r].wrong[in_place];
    }
    row->algbw = sweep_algbw(m->bytes, chosen(b->options->average, row));
    row->busbw = row->algbw * sweep_bus_factor(n);
    b->result->wrong += row->wrong;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The rank that kept the others waiting: busy several times as long as the middle of them, and
 * for a good part of the operation. */
static void note_slow(struct bench *b, const struct measure *m, const struct report *all)
{
    uint32_t n = b->env->world_size, slowest = 0;
    if (n < 2)
        return;
    double *busy = mem_alloc(n, sizeof *busy), most = 0, mean = 0;
    for (uint32_t r = 0; r < n; r++) {
        busy[r] = all[r].busy_us[0];
        mean += all[r].us[0] / n;
        if (busy[r] > most) {
            most = busy[r];
            slowest = r;
        }
    }
    qsort(busy, n, sizeof *busy, by_value);
    double middle = busy[(n - 1) / 2];
    char what[96];
    if (most > 4 * middle + 200 && most > 0.5 * mean)
        buf_addf(&b->result->errors,
                 "rank %u is slow: it kept the %s waiting, busy %.0f us of %.0f us an "
                 "operation; the median rank %.0f us\n",
                 slowest, describe(m, what), most, mean, middle);
    free(busy);
}

/* A result that is right everywhere is also the same everywhere; this finds what the checks of
 * the ranks cannot see, such as a tolerance used differently. */
static void note_hashes(struct bench *b, const struct measure *m, const struct report *all)
{
    if (b->options->check == 0)
        return;
    for (int place = 0; place < 2; place++)
        for (uint32_t r = 1; r < b->env->world_size; r++) {
            if (all[r].hash[place] == all[0].hash[place])
                continue;
            char what[96];
            buf_addf(&b->result->errors, "ranks 0 and %u hold different results of the %s\n", r,
                     describe(m, what));
            if (b->result->wrong == 0) {
                b->result->wrong = 1;
                b->result->is_wrong_everywhere = true;
            }
            return;
        }
}

static void take_reports(struct bench *b, const struct measure *m, const struct buf *said)
{
    uint32_t n = b->env->world_size;
    struct report *all = mem_alloc(n, sizeof *all);
    for (uint32_t r = 0; r < n; r++) {
        if (said[r].len == sizeof *all)
            memcpy(&all[r], said[r].data, sizeof *all);
        b->result->compared_bytes += all[r].compared_bytes;
        if (*all[r].finding)
            buf_addf(&b->result->errors, "%s\n", all[r].finding);
    }
    add_row(b, m, all, false);
    add_row(b, m, all, true);
    note_hashes(b, m, all);
    note_slow(b, m, all);
    free(all);
    struct buf line;
    buf_init(&line, 0);
    const struct result_row *rows = b->result->rows + b->result->nrows - 2;
    result_line(b->result, &rows[0], &rows[1], &line);
    if (b->print)
        b->print(&line);
    buf_fini(&line);
}

static int exchange(struct bench *b, struct measure *m, struct point at, struct err *e)
{
    uint32_t n = b->env->world_size;
    struct buf *said = NULL;
    if (b->env->rank == 0) {
        said = mem_alloc(n, sizeof *said);
        for (uint32_t r = 0; r < n; r++)
            buf_init(&said[r], 0);
    }
    int status = phases_reach(b->phases, at, &m->report, sizeof m->report, said, e);
    if (said && !status)
        take_reports(b, m, said);
    for (uint32_t r = 0; said && r < n; r++)
        buf_fini(&said[r]);
    free(said);
    return status ? status : phases_go(b->phases, at, NULL, e);
}

static int one_size(struct bench *b, enum type type, enum op op, uint64_t bytes, int step,
                    uint64_t largest_us, struct err *e)
{
    struct measure m = {.b = b, .bytes = bytes};
    const struct point at = {PHASE_bench, step};
    char what[96];
    m.op = (struct operation){.type = type, .op = op, .count = bytes / type_bytes(type)};
    m.regions = sweep_regions(b->max_bytes, bytes);
    uint64_t expected_ms = largest_us * (2ull * b->options->iters + 4ull) / 1000;
    uint64_t deadline = DEADLINE_FACTOR * expected_ms;
    phases_begin(b->phases, at, describe(&m, what),
                 deadline > MIN_DEADLINE_MS ? deadline : MIN_DEADLINE_MS);
    int status = phases_enter(b->phases, at, e);
    if (!status)
        status = measure_size(&m, e);
    return status ? status : exchange(b, &m, at, e);
}

/* Sizes from the smallest to the largest, doubling; *us = one operation of the largest. */
static int warm_up(struct bench *b, enum type type, enum op op, uint64_t min, uint64_t max,
                   int step, uint64_t *us, struct err *e)
{
    const struct point at = {PHASE_warm, step};
    struct backend *k = b->backend;
    uint64_t size = type_bytes(type), begin = now_ns();
    int status = 0;
    phases_begin(b->phases, at, "warm-up", 0);
    for (uint64_t s = min; s <= max && !status; s = s < max && 2 * s > max ? max : 2 * s) {
        struct operation o = {.type = type, .op = op, .count = s / size};
        begin = now_ns();
        for (uint32_t i = 0; i < b->options->warmup && !status; i++)
            status = k->ops->run(k, &o, 0, e);
        if (!status)
            status = k->ops->sync(k, e);
    }
    *us = b->options->warmup ? (now_ns() - begin) / 1000 / b->options->warmup : 0;
    return status ? status : phases_meet(b->phases, at, e);
}

static int one_kind(struct bench *b, enum type type, enum op op, int *warm_step, int *step,
                    struct err *e)
{
    uint64_t *sizes, min = UINT64_MAX, max = 0, largest_us = 0;
    size_t n, left_out;
    if (sweep_sizes(b->options, b->is_host, b->max_bytes, type_bytes(type), &sizes, &n,
                    &left_out, e)
        < 0)
        return err_exit_status(e->code);
    if (left_out && b->env->rank == 0)
        buf_addf(&b->result->errors,
                 "%zu sizes were left out: memory holds %llu bytes a buffer\n", left_out,
                 (unsigned long long)b->max_bytes);
    for (size_t i = 0; i < n; i++) {
        min = sizes[i] < min ? sizes[i] : min;
        max = sizes[i] > max ? sizes[i] : max;
    }
    int status = warm_up(b, type, op, min, max, (*warm_step)++, &largest_us, e);
    for (size_t i = 0; i < n && !status; i++)
        status = one_size(b, type, op, sizes[i], (*step)++, largest_us, e);
    free(sizes);
    return status;
}

int bench_run(struct bench *b, struct err *e)
{
    struct backend *k = b->backend;
    int warm_step = 0, step = 0;
    int status = k->ops->alloc(k, b->max_bytes, e);
    if (!status)
        status = k->ops->poison(k, BUFFER_SEND, 0, b->max_bytes + BACKEND_GUARD_BYTES, e);
    for (int t = 0; t < TYPE_COUNT; t++)
        for (int o = 0; o < OP_COUNT && !status; o++)
            if (b->options->types[t] && b->options->ops[o]
                && k->ops->supports((enum type)t, (enum op)o))
                status = one_kind(b, (enum type)t, (enum op)o, &warm_step, &step, e);
    return status;
}
