/* The host backend between forked ranks: sums, bounds, buffers of more than one slot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "worker/backend_host.h"

/* One rank: fills, runs in and out of place, checks data and what must stay poison. */
static int rank_main(struct shared *s, uint32_t rank, uint32_t n, enum type type, enum op op,
                     uint64_t count, uint64_t offset)
{
    struct err e;
    struct pattern p;
    struct pattern_tally data, rest;
    struct backend *b = backend_host_new(s, rank, n);
    const struct backend_ops *k = b->ops;
    uint64_t size = type_bytes(type), begin = offset / size, end = begin + count,
             max = offset + count * size + 4096;
    int bad = pattern_init(&p, 1, 0, n, type, op, &e) < 0 || k->alloc(b, max, &e);
    for (int in_place = 0; in_place < 2 && !bad; in_place++) {
        const struct operation o = {type, op, count, in_place};
        pattern_tally_init(&data);
        pattern_tally_init(&rest);
        k->poison(b, BUFFER_RECV, 0, max + BACKEND_GUARD_BYTES, &e);
        k->fill(b, in_place ? BUFFER_RECV : BUFFER_SEND, begin, end, &p, &e);
        k->barrier(b, &e);
        bad |= k->run(b, &o, offset, &e) || k->sync(b, &e);
        k->verify(b, BUFFER_RECV, begin, end, &p, &data, &e);
        k->poison_check(b, BUFFER_RECV, 0, offset, &rest, &e);
        k->poison_check(b, BUFFER_RECV, end * size, max + BACKEND_GUARD_BYTES, &rest, &e);
        bad |= data.wrong || rest.wrong;
    }
    k->close(b, &e);
    return bad;
}

static void group(uint32_t n, enum type type, enum op op, uint64_t count, uint64_t offset)
{
    char name[SHARED_NAME_MAX];
    struct err e;
    pid_t pids[8];
    struct shared *s = shared_create(n, HOST_SLOT_BYTES, name, &e);
    assert_non_null(s);
    for (uint32_t r = 0; r < n; r++) {
        pids[r] = fork();
        if (pids[r] != 0)
            continue;
        alarm(60);
        struct shared *mine = shared_open(name, n, HOST_SLOT_BYTES, &e);
        _exit(!mine || rank_main(mine, r, n, type, op, count, offset));
    }
    int failed = 0;
    for (uint32_t r = 0; r < n; r++) {
        int status;
        waitpid(pids[r], &status, 0);
        failed += status != 0;
    }
    shared_close(s);
    assert_int_equal(failed, 0);
}

static void every_type_and_operation_is_reduced(void **state)
{
    (void)state;
    for (int t = 0; t < TYPE_COUNT; t++)
        for (int o = 0; o < OP_COUNT; o++)
            if (backend_host_supports((enum type)t, (enum op)o))
                group(3, (enum type)t, (enum op)o, 1000, 0);
}

static void counts_that_do_not_divide_and_offsets(void **state)
{
    (void)state;
    group(1, TYPE_FLOAT, OP_SUM, 5, 4);
    group(2, TYPE_FLOAT, OP_SUM, 1, 8);
    group(4, TYPE_DOUBLE, OP_MAX, 3, 16);
    group(5, TYPE_INT64, OP_SUM, 4099, 24);
}

static void several_slots_follow_each_other(void **state)
{
    (void)state;
    group(3, TYPE_INT32, OP_SUM, 5 * HOST_SLOT_BYTES / 4 + 7, 12);
    group(2, TYPE_DOUBLE, OP_MIN, 3 * HOST_SLOT_BYTES / 8, 0);
}

static void memory_of_another_size_is_refused(void **state)
{
    (void)state;
    char name[SHARED_NAME_MAX];
    struct err e;
    struct shared *s = shared_create(2, 0, name, &e);
    assert_non_null(s);
    assert_null(shared_open(name, 2, HOST_SLOT_BYTES, &e));
    assert_int_equal(e.code, ERR_PROTOCOL);
    shared_hide(s);
    assert_null(shared_open(name, 2, 0, &e));
    shared_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_operation_is_reduced),
        cmocka_unit_test(counts_that_do_not_divide_and_offsets),
        cmocka_unit_test(several_slots_follow_each_other),
        cmocka_unit_test(memory_of_another_size_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
