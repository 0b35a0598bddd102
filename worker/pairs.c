#include "worker/pairs.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "worker/status.h"
#include "worker/sweep.h"

enum {
    ALONE_MOST = 16, /* ranks up to which a pair has the machine for itself */
    ISOLATE_MOST = 16,
    ROUNDS = 3, /* the best counts */
    LATENCY_BYTES = 8,
    DEADLINE_MS = 60000, /* of a round, or */
    OPERATION_MS = 6000, /* for each of its operations */
};

static const uint64_t nccl_bytes = 64ull << 20, host_bytes = 256ull << 10;
/* How long a transfer may take on a busy machine without a fault. */
static const double host_slack_us = 5000;
static const uint64_t nccl_isolate_bytes = 256ull << 20, host_isolate_bytes = 1ull << 20;

uint64_t pairs_bytes(const struct options *o, bool is_host)
{
    if (o->isolate)
        return is_host ? host_isolate_bytes : nccl_isolate_bytes;
    return o->pairs || o->latency ? (is_host ? host_bytes : nccl_bytes) : 0;
}

uint64_t pairs_deadline_ms(const struct options *o)
{
    uint64_t ms = (uint64_t)OPERATION_MS * o->iters;
    return ms > DEADLINE_MS ? ms : DEADLINE_MS;
}

/* The partner of a rank in round `round` of n - 1 + n % 2 rounds in which every two of n ranks
 * meet once; rank itself: idle. The circle method. */
static uint32_t partner_of(uint32_t rank, uint32_t round, uint32_t n)
{
    uint32_t m = n - 1 + n % 2; /* the circle; with n even, rank m stands in its middle */
    if (rank == m)
        return (uint32_t)((uint64_t)round * (m + 1) / 2 % m);
    uint32_t partner = (2 * m + round - rank) % m;
    if (partner != rank)
        return partner;
    return m < n ? m : rank;
}

/* What a rank has measured with each other one, in microseconds: as the receiver, both ways at
 * once, and a message one way. */
struct row {
    double *from, *both, *latency;
};

struct pairs {
    struct bench *b;
    struct row own;
    uint64_t bytes;
    uint32_t *peer_of;
};

static void sleep_ms(uint64_t ms)
{
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000L};
    nanosleep(&t, NULL);
}

/* The fault that this rank makes before an operation with a peer. */
static void make_slow(const struct pairs *p, uint32_t peer)
{
    const struct inject *in = &p->b->options->inject;
    uint32_t rank = p->b->env->rank;
    bool is_link = (in->a == rank && in->b == peer) || (in->a == peer && in->b == rank);
    if (peer == rank)
        return;
    if (in->kind == INJECT_SLOW && in->rank == rank)
        sleep_ms(in->ms);
    if (in->kind == INJECT_SLOWLINK && is_link)
        sleep_ms(in->ms);
}

/* Repeats one to three transfers and gives the microseconds of one repetition, the best of
 * some rounds. */
static int time_transfers(struct pairs *p, const struct transfer *list, size_t n, double *us,
                          struct err *e)
{
    struct backend *k = p->b->backend;
    uint32_t rank = p->b->env->rank, iters = p->b->options->iters;
    int status = 0;
    *us = 0;
    for (int round = 0; round <= ROUNDS && !status; round++) {
        uint32_t times = round == 0 ? 1 : iters; /* round 0 warms up */
        status = k->ops->barrier(k, e);
        phases_go_on(p->b->phases);
        uint64_t begin = now_ns();
        for (uint32_t i = 0; i < times && !status; i++) {
            make_slow(p, list->peer_of[rank]);
            for (size_t t = 0; t < n && !status; t++)
                status = k->ops->transfer(k, &list[t], e);
        }
        if (!status)
            status = k->ops->sync(k, e);
        double took = (double)(now_ns() - begin) / 1e3 / times;
        if (round > 0 && (*us == 0 || took < *us))
            *us = took;
    }
    return status;
}

static int measure_bandwidth(struct pairs *p, struct err *e)
{
    uint32_t rank = p->b->env->rank, peer = p->peer_of[rank];
    struct transfer t = {.peer_of = p->peer_of, .up = true, .bytes = p->bytes};
    double up = 0, down = 0, both = 0;
    int status = time_transfers(p, &t, 1, &up, e);
    t.up = false;
    t.down = true;
    if (!status)
        status = time_transfers(p, &t, 1, &down, e);
    t.up = true;
    if (!status)
        status = time_transfers(p, &t, 1, &both, e);
    if (peer != rank) {
        p->own.from[peer] = peer < rank ? up : down;
        p->own.both[peer] = both;
    }
    return status;
}

static int measure_latency(struct pairs *p, struct err *e)
{
    uint32_t rank = p->b->env->rank, peer = p->peer_of[rank];
    const struct transfer list[] = {
        {.peer_of = p->peer_of, .up = true, .bytes = LATENCY_BYTES},
        {.peer_of = p->peer_of, .down = true, .bytes = LATENCY_BYTES},
    };
    double us = 0;
    int status = time_transfers(p, list, 2, &us, e);
    if (peer != rank)
        p->own.latency[peer] = us / 2;
    return status;
}

static int measure_present(struct pairs *p, struct err *e)
{
    int status = 0;
    if (p->b->options->pairs)
        status = measure_bandwidth(p, e);
    return status ? status : measure_latency(p, e);
}

static void everybody_idle(struct pairs *p)
{
    for (uint32_t r = 0; r < p->b->env->world_size; r++)
        p->peer_of[r] = r;
}

static int one_after_another(struct pairs *p, struct err *e)
{
    uint32_t n = p->b->env->world_size;
    int status = 0;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n && !status; b++) {
            everybody_idle(p);
            p->peer_of[a] = b;
            p->peer_of[b] = a;
            status = measure_present(p, e);
        }
    return status;
}

static int in_rounds(struct pairs *p, struct err *e)
{
    uint32_t n = p->b->env->world_size, rounds = n - 1 + n % 2;
    int status = 0;
    for (uint32_t round = 0; round < rounds && !status; round++) {
        for (uint32_t r = 0; r < n; r++)
            p->peer_of[r] = partner_of(r, round, n);
        status = measure_present(p, e);
    }
    return status;
}

/* Connections between two ranks are made at their first use. */
static int connect_all(struct bench *b, struct err *e)
{
    const struct operation op = {
        .collective = COLLECTIVE_ALLTOALL, .type = TYPE_UINT8, .op = OP_SUM, .count = 1};
    int status = b->backend->ops->run(b->backend, &op, 0, e);
    return status ? status : b->backend->ops->sync(b->backend, e);
}

static double rate(uint64_t bytes, double us)
{
    return us > 0 ? sweep_algbw(bytes, us) : 0;
}

static void take_rows(struct bench *b, void *ctx, const struct buf *all)
{
    const struct pairs *p = ctx;
    struct links *l = &b->result->links;
    uint32_t n = b->env->world_size;
    size_t row = n * sizeof(double);
    links_init(l, n);
    l->bytes = p->bytes;
    for (uint32_t r = 0; r < n; r++) {
        if (all[r].len != 3 * row)
            continue;
        double *said = mem_dup(all[r].data, 3 * row);
        for (uint32_t peer = 0; peer < n; peer++) {
            l->uni[(size_t)peer * n + r] = rate(p->bytes, said[peer]);
            l->bidi[(size_t)r * n + peer] = rate(2 * p->bytes, said[n + peer]);
            l->latency_us[(size_t)r * n + peer] = said[2 * n + peer];
        }
        free(said);
    }
    if (b->options->pairs)
        links_judge(l, b->is_host ? host_slack_us : 0);
}

static int run_pairs(struct bench *b, struct err *e)
{
    uint32_t n = b->env->world_size;
    uint64_t most = pairs_bytes(b->options, b->is_host),
             bytes = b->is_host ? host_bytes : nccl_bytes;
    double *rows = mem_alloc(3 * (size_t)n, sizeof *rows);
    struct pairs p = {.b = b, .own = {rows, rows + n, rows + 2 * n}};
    const struct point at = {PHASE_bench, b->step++};
    p.bytes = bytes < most ? bytes : most;
    p.bytes = p.bytes < b->max_bytes ? p.bytes : b->max_bytes;
    p.peer_of = mem_alloc(n, sizeof *p.peer_of);
    phases_begin(b->phases, at, b->options->pairs ? "transfers between pairs" : "latencies",
                 pairs_deadline_ms(b->options));
    int status = phases_enter(b->phases, at, e);
    if (!status)
        status = connect_all(b, e);
    if (!status)
        status = n <= ALONE_MOST ? one_after_another(&p, e) : in_rounds(&p, e);
    if (!status)
        status = bench_exchange(b, at, rows, 3 * n * sizeof *rows, take_rows, &p, e);
    free(p.peer_of);
    free(rows);
    return status;
}

/* Microseconds of one all-reduce among the ranks that are not left out. */
static int time_allreduce(struct bench *b, uint64_t bytes, uint32_t left_out, double *us,
                          struct err *e)
{
    struct backend *k = b->backend;
    const struct operation op = {.collective = COLLECTIVE_ALLREDUCE,
                                 .type = TYPE_FLOAT,
                                 .op = OP_SUM,
                                 .count = bytes / sizeof(float)};
    const struct inject *in = &b->options->inject;
    bool is_slow = in->kind == INJECT_SLOW && in->rank == b->env->rank && in->rank != left_out;
    uint32_t iters = b->options->iters;
    int status = 0;
    *us = 0;
    for (int round = 0; round <= ROUNDS && !status; round++) {
        status = k->ops->barrier(k, e);
        phases_go_on(b->phases);
        uint64_t begin = now_ns();
        uint32_t times = round == 0 ? 1 : iters;
        for (uint32_t i = 0; i < times && !status; i++) {
            if (is_slow)
                sleep_ms(in->ms);
            status = k->ops->run(k, &op, 0, e);
        }
        if (!status)
            status = k->ops->sync(k, e);
        double took = (double)(now_ns() - begin) / 1e3 / times;
        if (round > 0 && (*us == 0 || took < *us))
            *us = took;
    }
    return status;
}

/* Times of this rank, the first with all, then without rank 0, 1, ... */
static int time_without_each(struct bench *b, uint64_t bytes, double *us, struct err *e)
{
    struct backend *k = b->backend;
    int status = time_allreduce(b, bytes, BACKEND_NOBODY, &us[0], e);
    for (uint32_t r = 0; r < b->env->world_size && !status; r++) {
        status = k->ops->leave_out(k, r, e);
        if (!status)
            status = time_allreduce(b, bytes, r, &us[1 + r], e);
        if (b->env->rank == r)
            us[1 + r] = 0; /* it was not in it */
    }
    return status ? status : k->ops->leave_out(k, BACKEND_NOBODY, e);
}

static void take_isolated(struct bench *b, void *ctx, const struct buf *all)
{
    struct result_isolate *s = &b->result->isolate;
    uint32_t n = b->env->world_size;
    double *most = mem_alloc(n + 1, sizeof *most); /* the slowest rank's time counts */
    s->bytes = *(const uint64_t *)ctx;
    s->without = mem_alloc(n, sizeof *s->without);
    for (uint32_t r = 0; r < n; r++) {
        if (all[r].len != (n + 1) * sizeof *most)
            continue;
        double *said = mem_dup(all[r].data, all[r].len);
        for (uint32_t i = 0; i <= n; i++)
            most[i] = said[i] > most[i] ? said[i] : most[i];
        free(said);
    }
    s->with_all = rate(s->bytes, most[0]) * collective_factor(COLLECTIVE_ALLREDUCE, n);
    for (uint32_t r = 0; r < n; r++)
        s->without[r] =
            rate(s->bytes, most[1 + r]) * collective_factor(COLLECTIVE_ALLREDUCE, n - 1);
    free(most);
}

static int run_isolate(struct bench *b, struct err *e)
{
    uint32_t n = b->env->world_size;
    uint64_t bytes = b->is_host ? host_isolate_bytes : nccl_isolate_bytes;
    const struct point at = {PHASE_bench, b->step++};
    double *us = mem_alloc(n + 1, sizeof *us);
    bytes = bytes < b->max_bytes ? bytes : b->max_bytes;
    phases_begin(b->phases, at, "all_reduce without each rank", pairs_deadline_ms(b->options));
    int status = phases_enter(b->phases, at, e);
    if (!status)
        status = time_without_each(b, bytes, us, e);
    if (!status)
        status = bench_exchange(b, at, us, (n + 1) * sizeof *us, take_isolated, &bytes, e);
    free(us);
    return status;
}

/* Why a test has nothing to do in this group. */
static void leave_out(struct bench *b, const char *test, const char *why)
{
    if (b->env->rank == 0)
        buf_addf(&b->result->errors, "%s was left out: %s\n", test, why);
}

int pairs_run(struct bench *b, struct err *e)
{
    const struct options *o = b->options;
    uint32_t n = b->env->world_size;
    int status = 0;
    if ((o->pairs || o->latency) && n < 2)
        leave_out(b, "pairs", "one rank has no peer");
    else if (o->pairs || o->latency)
        status = run_pairs(b, e);
    if (!status && o->isolate && (n < 3 || n > ISOLATE_MOST))
        leave_out(b, "isolate", "it takes 3 to 16 ranks");
    else if (!status && o->isolate)
        status = run_isolate(b, e);
    return status;
}
