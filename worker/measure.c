#include "worker/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "worker/size_text.h"
#include "worker/sweep.h"

enum { SEED = 20240229 };

static struct collective_group group_of(const struct measure *m)
{
    return (struct collective_group){m->rank, m->nranks, m->op.root};
}

static uint64_t region_bytes(const struct measure *m)
{
    return collective_region(m->op.collective, m->op.count, type_bytes(m->op.type), m->nranks);
}

/* The number of the first element of a region. */
static uint64_t first_of(const struct measure *m, uint64_t region)
{
    return region * (region_bytes(m) / type_bytes(m->op.type));
}

const char *measure_describe(const struct measure *m, char text[96])
{
    char size[24], root[32] = "";
    const struct operation *op = &m->op;
    uint64_t bytes =
        collective_bytes(op->collective, op->count, type_bytes(op->type), m->nranks);
    const struct collective_group other = {op->root + 1, m->nranks, op->root};
    if (collective_is_rooted(op->collective))
        snprintf(root, sizeof root, " %s rank %u",
                 collective_receives(op->collective, &other) ? "from" : "to", op->root);
    bool reduces = collective_reduces(op->collective);
    snprintf(text, 96, "%s of %s %s%s%s%s", collective_title(op->collective),
             size_format(bytes, size), type_name(op->type), reduces ? " " : "",
             reduces ? op_name(op->op) : "", root);
    return text;
}

static void sleep_ms(uint64_t ms)
{
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000L};
    nanosleep(&t, NULL);
}

/* The launch loop: no store, no clock, no deadline inside. */
static int launch_all(const struct measure *m, uint64_t regions, struct err *e)
{
    const struct backend_ops *ops = m->backend->ops;
    const struct options *o = m->options;
    const uint64_t step = region_bytes(m);
    bool is_slow = o->inject.kind == INJECT_SLOW && o->inject.rank == m->rank;
    int status = 0;
    for (uint32_t i = 0; i < o->iters && !status; i++) {
        if (is_slow)
            sleep_ms(o->inject.ms);
        status = ops->run(m->backend, &m->op, step * (i % regions), e);
        if (o->blocking && !status)
            status = ops->sync(m->backend, e);
    }
    return status;
}

static int time_operations(struct measure *m, uint64_t regions, struct err *e)
{
    struct backend *b = m->backend;
    uint32_t iters = m->options->iters;
    int place = m->op.in_place;
    int status = b->ops->run(b, &m->op, 0, e);
    if (!status)
        status = b->ops->sync(b, e);
    if (!status)
        status = b->ops->barrier(b, e);
    if (status)
        return status;
    uint64_t waited = b->ops->waited_ns(b), begin = now_ns();
    status = launch_all(m, regions, e);
    uint64_t launched = now_ns();
    if (!status)
        status = b->ops->sync(b, e);
    uint64_t end = now_ns();
    waited = b->ops->waited_ns(b) - waited;
    m->report.us[place] = (double)(end - begin) / 1e3 / iters;
    m->report.busy_us[place] = (double)(launched - begin - waited) / 1e3 / iters;
    return status;
}

/* The rank's first finding: count, range, values, and who is suspected. */
static int note_wrong(struct measure *m, const struct pattern *p,
                      const struct pattern_span *span, const struct pattern_tally *t,
                      struct err *e)
{
    struct report *r = &m->report;
    uint64_t got = 0, index = t->first + span->shift;
    r->wrong[m->op.in_place] += t->wrong;
    if (t->wrong == 0 || *r->finding)
        return 0;
    size_t size = type_bytes(m->op.type);
    int status = m->backend->ops->peek(m->backend, BUFFER_RECV, t->first * size, &got, size, e);
    if (status)
        return status;
    uint64_t expected = pattern_wanted(p, index, span->source);
    int64_t suspect = span->source < 0 ? pattern_suspect(p, index, got) : -1;
    char what[96], who[64] = "";
    if (suspect >= 0)
        snprintf(who, sizeof who, "; the share of rank %lld is missing", (long long)suspect);
    if (span->source >= 0)
        snprintf(who, sizeof who, "; it is the data of rank %lld", (long long)span->source);
    snprintf(r->finding, sizeof r->finding,
             "rank %u: %llu wrong elements in the %s, %s: first %llu, last %llu; expected %g "
             "(0x%llx), got %g (0x%llx), xor 0x%llx%s",
             m->rank, (unsigned long long)t->wrong, measure_describe(m, what),
             m->op.in_place ? "in place" : "out of place", (unsigned long long)t->first,
             (unsigned long long)t->last, pattern_decode(m->op.type, expected),
             (unsigned long long)expected, pattern_decode(m->op.type, got),
             (unsigned long long)got, (unsigned long long)(expected ^ got), who);
    return 0;
}

/* What a region received. */
static int verify_region(struct measure *m, const struct pattern *p, uint64_t region,
                         struct err *e)
{
    const struct collective_group g = group_of(m);
    const struct operation *op = &m->op;
    uint32_t blocks = collective_blocks_received(op->collective, m->nranks);
    int status = 0;
    for (uint32_t k = 0; k < blocks && !status; k++) {
        struct pattern_tally t;
        const struct pattern_span span = collective_received(
            op->collective, &g, op->count, op->in_place, first_of(m, region), k);
        pattern_tally_init(&t);
        status = m->backend->ops->verify(m->backend, BUFFER_RECV, &span, p, &t, e);
        m->report.compared_bytes += (span.end - span.begin) * type_bytes(op->type);
        m->report.hash[op->in_place] += t.hash;
        if (!status)
            status = note_wrong(m, p, &span, &t, e);
    }
    return status;
}

/* Bytes that no operation may have written. */
static int verify_untouched(struct measure *m, enum buffer which, uint64_t begin, uint64_t end,
                            struct err *e)
{
    struct pattern_tally t;
    struct report *r = &m->report;
    if (begin >= end)
        return 0;
    pattern_tally_init(&t);
    int status = m->backend->ops->poison_check(m->backend, which, begin, end, &t, e);
    if (status)
        return status;
    r->compared_bytes += end - begin;
    r->wrong[m->op.in_place] += t.wrong;
    if (t.wrong == 0 || *r->finding)
        return 0;
    char what[96];
    snprintf(r->finding, sizeof r->finding,
             "rank %u: the %s wrote %llu bytes outside of its result, in the %s buffer from "
             "byte %llu to %llu",
             m->rank, measure_describe(m, what), (unsigned long long)t.wrong,
             which == BUFFER_SEND ? "send" : "receive", (unsigned long long)t.first,
             (unsigned long long)t.last);
    return 0;
}

/* Bytes [*begin, *end) of the receive buffer that an operation on a region may change: what it
 * receives and, in place, what it sends. */
static void touched(const struct measure *m, uint64_t region, uint64_t *begin, uint64_t *end)
{
    const struct collective_group g = group_of(m);
    const struct operation *op = &m->op;
    size_t size = type_bytes(op->type);
    uint64_t first = first_of(m, region);
    uint32_t last = collective_blocks_received(op->collective, m->nranks) - 1;
    struct pattern_span head = collective_received(op->collective, &g, op->count, op->in_place,
                                                   first, 0),
                        tail = collective_received(op->collective, &g, op->count, op->in_place,
                                                   first, last),
                        sent =
                            collective_sent(op->collective, &g, op->count, op->in_place, first);
    struct pattern_span all = {head.begin, tail.end, 0, 0};
    if (head.begin == head.end)
        all = (struct pattern_span){first, first, 0, 0};
    if (op->in_place && sent.begin < sent.end) {
        bool is_empty = all.begin == all.end;
        all.begin = is_empty || sent.begin < all.begin ? sent.begin : all.begin;
        all.end = is_empty || sent.end > all.end ? sent.end : all.end;
    }
    *begin = all.begin * size;
    *end = all.end * size;
}

/* Regions [from, to) hold results, all else is poison. */
static int verify_buffers(struct measure *m, const struct pattern *p, uint64_t from,
                          uint64_t to, struct err *e)
{
    uint64_t all = m->max_bytes + BACKEND_GUARD_BYTES, clean = 0;
    int status = 0;
    m->report.hash[m->op.in_place] = 0;
    for (uint64_t k = from; k < to && !status; k++) {
        uint64_t begin, end;
        status = verify_region(m, p, k, e);
        touched(m, k, &begin, &end);
        if (!status)
            status = verify_untouched(m, BUFFER_RECV, clean, begin, e);
        clean = end;
    }
    if (!status)
        status = verify_untouched(m, BUFFER_RECV, clean, all, e);
    return status ? status : verify_untouched(m, BUFFER_SEND, m->max_bytes, all, e);
}

/* Flips a bit in the middle of what this rank received in the first region. */
static int inject_corruption(struct measure *m, struct err *e)
{
    const struct inject *in = &m->options->inject;
    const struct collective_group g = group_of(m);
    struct backend *b = m->backend;
    size_t size = type_bytes(m->op.type);
    unsigned char byte;
    if (in->kind != INJECT_CORRUPT || in->rank != m->rank
        || !collective_receives(m->op.collective, &g)
        || (in->size_bytes
            && in->size_bytes
                   != collective_bytes(m->op.collective, m->op.count, size, m->nranks)))
        return 0;
    uint64_t at = m->op.count / 2 * size;
    int status = b->ops->peek(b, BUFFER_RECV, at, &byte, 1, e);
    byte ^= 0x40;
    return status ? status : b->ops->poke(b, BUFFER_RECV, at, &byte, 1, e);
}

static int make_pattern(const struct measure *m, uint32_t round, struct pattern *p,
                        struct err *e)
{
    if (!collective_reduces(m->op.collective)) {
        pattern_init_bits(p, SEED, round, m->nranks, m->op.type);
        return 0;
    }
    int rc = pattern_init(p, SEED, round, m->nranks, m->op.type, m->op.op, e);
    return rc < 0 ? err_exit_status(e->code) : 0;
}

/* Poison everywhere but in what this rank sends in regions [from, to). */
static int prepare(struct measure *m, const struct pattern *p, uint64_t from, uint64_t to,
                   struct err *e)
{
    struct backend *b = m->backend;
    const struct collective_group g = group_of(m);
    const struct operation *op = &m->op;
    uint64_t all = m->max_bytes + BACKEND_GUARD_BYTES;
    int status = b->ops->poison(b, BUFFER_RECV, 0, all, e);
    for (uint64_t k = from; k < to && !status; k++) {
        const struct pattern_span span =
            collective_sent(op->collective, &g, op->count, op->in_place, first_of(m, k));
        status = b->ops->fill(b, op->in_place ? BUFFER_RECV : BUFFER_SEND, &span, p, e);
    }
    return status ? status : b->ops->sync(b, e);
}

/* One verified operation with new data on the last region, next to the guard band. */
static int check_round(struct measure *m, uint32_t round, bool in_place, struct err *e)
{
    struct backend *b = m->backend;
    struct pattern p;
    uint64_t last = sweep_regions(m->max_bytes, region_bytes(m)) - 1;
    m->op.in_place = in_place;
    int status = make_pattern(m, 2 * round + in_place, &p, e);
    if (!status)
        status = prepare(m, &p, last, last + 1, e);
    if (!status)
        status = b->ops->run(b, &m->op, last * region_bytes(m), e);
    if (!status)
        status = b->ops->sync(b, e);
    return status ? status : verify_buffers(m, &p, last, last + 1, e);
}

static int measure_out_of_place(struct measure *m, uint64_t regions, struct err *e)
{
    struct pattern p;
    uint32_t iters = m->options->iters;
    uint64_t used = regions < iters ? regions : iters;
    m->op.in_place = false;
    int status = make_pattern(m, 0, &p, e);
    if (!status)
        status = prepare(m, &p, 0, used, e);
    if (!status)
        status = time_operations(m, regions, e);
    if (status || m->options->check == 0)
        return status;
    status = inject_corruption(m, e);
    return status ? status : verify_buffers(m, &p, 0, used, e);
}

int measure_size(struct measure *m, struct err *e)
{
    uint64_t regions = sweep_regions(m->max_bytes, region_bytes(m));
    bool has_in_place = collective_has_in_place(m->op.collective);
    int status = measure_out_of_place(m, regions, e);
    m->op.in_place = true;
    if (!status && has_in_place)
        status = time_operations(m, regions, e);
    for (uint32_t round = 1; round <= m->options->check && !status; round++) {
        status = check_round(m, round, false, e);
        if (!status && has_in_place)
            status = check_round(m, round, true, e);
    }
    return status;
}
