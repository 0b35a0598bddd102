/* The host backend between forked ranks on one and on several nodes: every collective, type and
 * operation, by the program's own measurement; transfers, a rank left out, slots in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "worker/backend_host.h"
#include "worker/measure.h"

enum { MOST = 8 };

/* A group of ranks, node by node: sizes ends with 0. */
struct group {
    uint32_t sizes[4];
    uint32_t nodes, nranks;
    uint32_t first_of[5];
};

static struct group make_group(uint32_t a, uint32_t b, uint32_t c)
{
    struct group g = {.sizes = {a, b, c, 0}};
    for (; g.sizes[g.nodes]; g.nodes++) {
        g.nranks += g.sizes[g.nodes];
        g.first_of[g.nodes + 1] = g.nranks;
    }
    return g;
}

/* What a forked rank does; 0 = right. */
typedef int body(struct backend *b, const struct group *g, uint32_t rank, const void *ctx);

static uint32_t node_of(const struct group *g, uint32_t rank)
{
    uint32_t node = 0;
    while (rank >= g->first_of[node + 1])
        node++;
    return node;
}

static int rank_main(const struct group *g, char names[][SHARED_NAME_MAX], struct ring **rings,
                     const struct buf *places, uint32_t rank, body *run, const void *ctx)
{
    struct err e;
    uint32_t node = node_of(g, rank), local = rank - g->first_of[node];
    struct ring *ring = g->nodes > 1 && local == 0 ? rings[node] : NULL;
    struct shared *s = shared_open(names[node], g->sizes[node], host_slots(g->nranks),
                                   host_slot_bytes(g->nranks), &e);
    if (!s || (ring && ring_join(ring, buf_str(&places[(node + 1) % g->nodes]), &e) < 0))
        return 1;
    const struct host_setup setup = {
        .shared = s,
        .ring = ring,
        .rank = rank,
        .nranks = g->nranks,
        .local_rank = local,
        .local_ranks = g->sizes[node],
        .node = node,
        .nodes = g->nodes,
        .first_of = g->first_of,
    };
    struct backend *b = backend_host_new(&setup);
    int bad = run(b, g, rank, ctx);
    b->ops->close(b, &e);
    return bad;
}

static void run_group(const struct group *g, body *run, const void *ctx)
{
    char names[4][SHARED_NAME_MAX];
    struct shared *shared[4];
    struct ring *rings[4];
    struct buf places[4];
    struct err e;
    pid_t pids[MOST];
    for (uint32_t node = 0; node < g->nodes; node++) {
        shared[node] = shared_create(g->sizes[node], host_slots(g->nranks),
                                     host_slot_bytes(g->nranks), names[node], &e);
        assert_non_null(shared[node]);
        rings[node] = ring_new(node, g->nodes);
        buf_init(&places[node], 0);
        assert_int_equal(ring_listen(rings[node], "127.0.0.1", &places[node], &e), 0);
    }
    for (uint32_t r = 0; r < g->nranks; r++) {
        pids[r] = fork();
        if (pids[r] != 0)
            continue;
        alarm(60);
        _exit(rank_main(g, names, rings, places, r, run, ctx));
    }
    int failed = 0;
    for (uint32_t r = 0; r < g->nranks; r++) {
        int status;
        waitpid(pids[r], &status, 0);
        failed += status != 0;
    }
    for (uint32_t node = 0; node < g->nodes; node++) {
        shared_close(shared[node]);
        ring_free(rings[node]);
        buf_fini(&places[node]);
    }
    assert_int_equal(failed, 0);
}

/* Operations, run one after the other in buffers of one size. */
struct list {
    struct operation ops[TYPE_COUNT * OP_COUNT];
    size_t n;
};

static uint64_t bytes_of(const struct list *list, uint32_t nranks)
{
    uint64_t most = 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct operation *op = &list->ops[i];
        uint64_t bytes =
            collective_region(op->collective, op->count, type_bytes(op->type), nranks);
        most = bytes > most ? bytes : most;
    }
    return 2 * most + 64;
}

/* Every region, guard bands and poison included: what measure.h compares. */
static int measured(struct backend *b, const struct group *g, uint32_t rank, const void *ctx)
{
    const struct list *list = ctx;
    const struct options o = {.iters = 3, .check = 1};
    const uint64_t bytes = bytes_of(list, g->nranks);
    struct err e;
    int bad = b->ops->alloc(b, bytes, &e)
              || b->ops->poison(b, BUFFER_SEND, 0, bytes + BACKEND_GUARD_BYTES, &e);
    for (size_t i = 0; i < list->n && !bad; i++) {
        struct measure m = {.backend = b,
                            .options = &o,
                            .rank = rank,
                            .nranks = g->nranks,
                            .max_bytes = bytes,
                            .op = list->ops[i]};
        bad = measure_size(&m, &e) || *m.report.finding || m.report.compared_bytes == 0;
        if (*m.report.finding)
            fprintf(stderr, "%s\n", m.report.finding);
    }
    return bad;
}

static void add(struct list *list, enum collective c, enum type type, enum op op,
                uint64_t count)
{
    list->ops[list->n++] = (struct operation){c, type, op, 1, count, false};
}

static void collective(const struct group *g, enum collective c, enum type type, enum op op,
                       uint64_t count)
{
    struct list list = {.n = 0};
    add(&list, c, type, op, count);
    run_group(g, measured, &list);
}

static void every_collective_on_one_node_and_on_several(void **state)
{
    (void)state;
    const struct group groups[] = {make_group(4, 0, 0), make_group(2, 1, 0),
                                   make_group(1, 2, 1)};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        struct list list = {.n = 0};
        for (int c = 0; c < COLLECTIVE_COUNT; c++)
            if (collective_takes((enum collective)c, groups[i].nranks))
                add(&list, (enum collective)c, TYPE_FLOAT, OP_SUM, 1001);
        run_group(&groups[i], measured, &list);
    }
}

static void every_type_and_operation_is_reduced(void **state)
{
    (void)state;
    const struct group one = make_group(3, 0, 0), two = make_group(1, 1, 0);
    struct list all = {.n = 0}, scattered = {.n = 0};
    for (int t = 0; t < TYPE_COUNT; t++)
        for (int o = 0; o < OP_COUNT; o++) {
            add(&all, COLLECTIVE_ALLREDUCE, (enum type)t, (enum op)o, 77);
            add(&scattered, COLLECTIVE_REDUCESCATTER, (enum type)t, (enum op)o, 77);
        }
    run_group(&one, measured, &all);
    run_group(&two, measured, &all);
    run_group(&two, measured, &scattered);
}

static void several_slots_follow_each_other(void **state)
{
    (void)state;
    const struct group one = make_group(3, 0, 0), three = make_group(2, 1, 1);
    uint64_t slot = host_slot_bytes(3);
    collective(&one, COLLECTIVE_ALLREDUCE, TYPE_INT32, OP_SUM, 3 * slot / 4 + 7);
    collective(&three, COLLECTIVE_ALLREDUCE, TYPE_DOUBLE, OP_MIN, 2 * slot / 8 + 1);
    collective(&three, COLLECTIVE_ALLTOALL, TYPE_INT8, OP_SUM, slot + 3);
}

static void counts_that_do_not_divide(void **state)
{
    (void)state;
    const struct group lone = make_group(1, 0, 0), many = make_group(3, 2, 0);
    run_group(&lone, measured,
              &(struct list){{{COLLECTIVE_ALLREDUCE, TYPE_FLOAT, OP_SUM, 0, 5, false}}, 1});
    collective(&many, COLLECTIVE_ALLREDUCE, TYPE_FLOAT, OP_SUM, 1);
    collective(&many, COLLECTIVE_ALLREDUCE, TYPE_INT64, OP_MAX, 3);
}

/* Rank 0 and the last one exchange, rank 1 looks on. */
static int transferred(struct backend *b, const struct group *g, uint32_t rank, const void *ctx)
{
    (void)ctx;
    struct err e;
    struct pattern p;
    struct pattern_tally t, poison;
    uint32_t last = g->nranks - 1, peer_of[MOST];
    for (uint32_t r = 0; r < g->nranks; r++)
        peer_of[r] = r;
    peer_of[0] = last;
    peer_of[last] = 0;
    const uint64_t bytes = host_slot_bytes(g->nranks) + 100;
    const struct transfer up = {peer_of, true, false, bytes};
    const struct pattern_span own = {0, bytes, 0, rank}, from_0 = {0, bytes, 0, 0};
    pattern_init_bits(&p, 1, 0, g->nranks, TYPE_INT8);
    pattern_tally_init(&t);
    pattern_tally_init(&poison);
    int bad = b->ops->alloc(b, bytes, &e) || b->ops->fill(b, BUFFER_SEND, &own, &p, &e)
              || b->ops->poison(b, BUFFER_RECV, 0, bytes, &e) || b->ops->barrier(b, &e)
              || b->ops->transfer(b, &up, &e)
              || b->ops->verify(b, BUFFER_RECV, &from_0, &p, &t, &e)
              || b->ops->poison_check(b, BUFFER_RECV, 0, bytes, &poison, &e);
    return bad || (rank == last ? t.wrong != 0 : poison.wrong != 0);
}

static void a_transfer_is_between_two_ranks_alone(void **state)
{
    (void)state;
    const struct group one = make_group(3, 0, 0), two = make_group(2, 1, 0);
    run_group(&one, transferred, NULL);
    run_group(&two, transferred, NULL);
}

/* Ones summed by all but rank 1, which receives nothing. */
static int left_out(struct backend *b, const struct group *g, uint32_t rank, const void *ctx)
{
    (void)ctx;
    struct err e;
    uint32_t one = 1, sum = 0;
    const struct operation op = {COLLECTIVE_ALLREDUCE, TYPE_UINT32, OP_SUM, 0, 1, false};
    int bad = b->ops->alloc(b, 64, &e) || b->ops->poke(b, BUFFER_SEND, 0, &one, 4, &e)
              || b->ops->leave_out(b, 1, &e) || b->ops->run(b, &op, 0, &e)
              || b->ops->peek(b, BUFFER_RECV, 0, &sum, 4, &e);
    bad |= sum != (rank == 1 ? 0 : g->nranks - 1);
    bad |= b->ops->leave_out(b, BACKEND_NOBODY, &e) || b->ops->run(b, &op, 0, &e)
           || b->ops->peek(b, BUFFER_RECV, 0, &sum, 4, &e);
    return bad || sum != g->nranks;
}

static void a_rank_can_be_left_out(void **state)
{
    (void)state;
    const struct group one = make_group(3, 0, 0), two = make_group(2, 2, 0);
    run_group(&one, left_out, NULL);
    run_group(&two, left_out, NULL);
}

static void memory_of_another_size_is_refused(void **state)
{
    (void)state;
    char name[SHARED_NAME_MAX];
    struct err e;
    struct shared *s = shared_create(2, 0, 0, name, &e);
    assert_non_null(s);
    assert_null(shared_open(name, 2, 4, 1 << 20, &e));
    assert_int_equal(e.code, ERR_PROTOCOL);
    shared_hide(s);
    assert_null(shared_open(name, 2, 0, 0, &e));
    shared_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_on_one_node_and_on_several),
        cmocka_unit_test(every_type_and_operation_is_reduced),
        cmocka_unit_test(several_slots_follow_each_other),
        cmocka_unit_test(counts_that_do_not_divide),
        cmocka_unit_test(a_transfer_is_between_two_ranks_alone),
        cmocka_unit_test(a_rank_can_be_left_out),
        cmocka_unit_test(memory_of_another_size_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
