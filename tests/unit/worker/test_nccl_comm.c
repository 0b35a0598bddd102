/* What is asked of NCCL, with functions of the test in its place: the groups of sends and
 * receives that stand in for alltoall, gather and scatter, waiting without blocking, errors,
 * the abort. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#if MUSTER_HAVE_NCCL
#include "worker/nccl_comm.h"
#include "worker/status.h"

enum { MOST = 8, COUNT = 5, MESSAGES = 256 };

/* One ncclSend or ncclRecv. */
struct message {
    uint32_t rank, peer;
    const void *out;
    void *in;
    size_t count;
    int group;
};

/* NCCL's functions have no context. */
static struct {
    struct message messages[MESSAGES];
    size_t n;
    uint32_t rank; /* who calls */
    int group, depth;
    int polls; /* of ncclCommGetAsyncError until all is done */
    ncclResult_t answer;
    int aborted;
} fake;

static ncclResult_t add(const void *out, void *in, size_t count, int peer)
{
    assert_int_equal(fake.depth, 1);
    assert_true(fake.n < MESSAGES);
    fake.messages[fake.n++] =
        (struct message){fake.rank, (uint32_t)peer, out, in, count, fake.group};
    return ncclSuccess;
}

static ncclResult_t fake_send(const void *out, size_t count, ncclDataType_t type, int peer,
                              ncclComm_t comm, cudaStream_t stream)
{
    (void)type;
    (void)comm;
    (void)stream;
    return add(out, NULL, count, peer);
}

static ncclResult_t fake_recv(void *in, size_t count, ncclDataType_t type, int peer,
                              ncclComm_t comm, cudaStream_t stream)
{
    (void)type;
    (void)comm;
    (void)stream;
    return add(NULL, in, count, peer);
}

static ncclResult_t fake_start(void)
{
    fake.depth++;
    return ncclSuccess;
}

static ncclResult_t fake_end(void)
{
    fake.depth--;
    fake.group++;
    return fake.answer;
}

static ncclResult_t fake_allreduce(const void *out, void *in, size_t count, ncclDataType_t type,
                                   ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    (void)out;
    (void)in;
    (void)count;
    (void)type;
    (void)op;
    (void)comm;
    (void)stream;
    return fake.answer;
}

static ncclResult_t fake_async(ncclComm_t comm, ncclResult_t *result)
{
    (void)comm;
    *result = fake.polls-- > 0 ? ncclInProgress : ncclSuccess;
    return ncclSuccess;
}

static ncclResult_t fake_abort(ncclComm_t comm)
{
    (void)comm;
    fake.aborted++;
    return ncclSuccess;
}

static const char *fake_error(ncclResult_t rc)
{
    return rc == ncclSystemError ? "unhandled system error" : "another error";
}

/* Of a library without the functions of 2.28. */
static const struct nccl api = {
    .AllReduce = fake_allreduce,
    .Send = fake_send,
    .Recv = fake_recv,
    .GroupStart = fake_start,
    .GroupEnd = fake_end,
    .CommGetAsyncError = fake_async,
    .CommAbort = fake_abort,
    .GetErrorString = fake_error,
};

static struct nccl_comm comm_of(uint32_t rank, uint32_t nranks, const struct nccl_abort *abort)
{
    static const struct nccl_abort none = {NULL, NULL, NULL};
    struct nccl_comm c;
    nccl_comm_init(&c, &api, abort ? abort : &none, rank, nranks);
    c.all = (ncclComm_t)&fake;
    return c;
}

/* The k-th receive from a rank gets its k-th send to the receiver, group by group. */
static void deliver(void)
{
    for (int group = 0; group < fake.group; group++)
        for (size_t i = 0; i < fake.n; i++) {
            const struct message *sent = &fake.messages[i];
            if (!sent->out || sent->group != group)
                continue;
            struct message *found = NULL;
            for (size_t j = 0; j < fake.n && !found; j++) {
                struct message *m = &fake.messages[j];
                if (m->in && m->group == group && m->rank == sent->peer
                    && m->peer == sent->rank)
                    found = m;
            }
            if (!found) {
                fail_msg("rank %u sends to %u, which does not receive", sent->rank, sent->peer);
                return;
            }
            assert_int_equal(found->count, sent->count);
            memmove(found->in, sent->out, sent->count * sizeof(uint32_t));
            found->in = NULL;
        }
    for (size_t i = 0; i < fake.n; i++)
        assert_null(fake.messages[i].in); /* nobody waits for ever */
}

/* All ranks run it in one process; then everyone has what collective.h says, and no more. */
static void moves(enum collective c, uint32_t n, bool in_place)
{
    static uint32_t send[MOST][MOST * COUNT], recv[MOST][MOST * COUNT];
    struct pattern p;
    const struct operation op = {c, TYPE_UINT32, OP_SUM, n / 2, COUNT, in_place};
    memset(&fake, 0, sizeof fake);
    pattern_init_bits(&p, 1, 0, n, TYPE_UINT32);
    for (uint32_t r = 0; r < n; r++) {
        struct err e;
        const struct collective_group g = {r, n, op.root};
        const struct pattern_span own = collective_sent(c, &g, COUNT, in_place, 0);
        uint64_t out = collective_send_at(c, COUNT, in_place, r),
                 into = collective_recv_at(c, COUNT, in_place, r);
        struct nccl_comm comm = comm_of(r, n, NULL);
        pattern_poison(recv[r], 0, sizeof recv[r]);
        pattern_fill(&p, &own, in_place ? recv[r] : send[r]);
        fake.rank = r;
        fake.group = 0;
        assert_int_equal(
            nccl_comm_run(&comm, &op, (in_place ? recv[r] : send[r]) + out, recv[r] + into, &e),
            0);
    }
    deliver();
    for (uint32_t r = 0; r < n; r++) {
        const struct collective_group g = {r, n, op.root};
        struct pattern_tally t;
        pattern_tally_init(&t);
        for (uint32_t k = 0; k < collective_blocks_received(c, n); k++) {
            const struct pattern_span span = collective_received(c, &g, COUNT, in_place, 0, k);
            pattern_check(&p, &span, recv[r], &t);
            if (span.begin == span.end && !in_place)
                pattern_poison_check(recv[r], 0, sizeof recv[r], &t);
        }
        if (t.wrong)
            fail_msg("%s of %u%s: %llu wrong on rank %u", collective_name(c), n,
                     in_place ? " in place" : "", (unsigned long long)t.wrong, r);
    }
}

static void sends_and_receives_stand_in_for_missing_functions(void **state)
{
    (void)state;
    const enum collective all[] = {COLLECTIVE_ALLTOALL, COLLECTIVE_GATHER, COLLECTIVE_SCATTER,
                                   COLLECTIVE_SENDRECV, COLLECTIVE_HYPERCUBE};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (uint32_t n = 1; n <= MOST; n++)
            for (int in_place = 0; in_place < 2; in_place++) {
                bool copies = all[i] == COLLECTIVE_HYPERCUBE && !in_place; /* on a device */
                if (collective_takes(all[i], n) && !copies
                    && (!in_place || collective_has_in_place(all[i])))
                    moves(all[i], n, in_place);
            }
}

static void a_transfer_is_one_group_of_its_two_ranks(void **state)
{
    (void)state;
    struct err e;
    const uint32_t peer_of[] = {2, 1, 0};
    const struct transfer both = {peer_of, true, true, 64}, down = {peer_of, false, true, 64};
    char out[64], in[64];
    struct nccl_comm zero = comm_of(0, 3, NULL), one = comm_of(1, 3, NULL);
    memset(&fake, 0, sizeof fake);
    assert_int_equal(nccl_comm_transfer(&one, &both, out, in, &e), 0);
    assert_int_equal(fake.group, 0);
    assert_int_equal(nccl_comm_transfer(&zero, &both, out, in, &e), 0);
    assert_int_equal(fake.group, 1);
    assert_int_equal(fake.n, 2);
    assert_int_equal(fake.messages[0].peer, 2);
    assert_int_equal(nccl_comm_transfer(&zero, &down, out, in, &e), 0);
    assert_int_equal(fake.n, 3);
    assert_ptr_equal(fake.messages[2].in, in);
}

static const struct operation sum = {COLLECTIVE_ALLREDUCE, TYPE_FLOAT, OP_SUM, 0, 1, false};

static void what_goes_on_is_polled_until_it_is_done(void **state)
{
    (void)state;
    struct err e;
    float x = 0;
    struct nccl_comm c = comm_of(0, 2, NULL);
    memset(&fake, 0, sizeof fake);
    fake.answer = ncclInProgress;
    fake.polls = 3;
    assert_int_equal(nccl_comm_run(&c, &sum, &x, &x, &e), 0);
    assert_int_equal(fake.polls, -1);
}

static void errors_name_the_collective(void **state)
{
    (void)state;
    struct err e;
    float x = 0;
    struct nccl_comm c = comm_of(0, 2, NULL);
    memset(&fake, 0, sizeof fake);
    fake.answer = ncclSystemError;
    assert_int_equal(nccl_comm_run(&c, &sum, &x, &x, &e), STATUS_NCCL);
    assert_string_equal(e.text,
                        "all_reduce: unhandled system error; NCCL_DEBUG=WARN says more");
}

static void one_left_out_asks_for_nothing(void **state)
{
    (void)state;
    struct err e;
    struct nccl_comm c = comm_of(1, 2, NULL);
    memset(&fake, 0, sizeof fake);
    fake.answer = ncclSystemError;
    c.left_out = 1;
    assert_int_equal(nccl_comm_run(&c, &sum, NULL, NULL, &e), 0);
    c.left_out = BACKEND_NOBODY;
    assert_int_equal(nccl_comm_leave_out(&c, 0, &e), STATUS_BACKEND); /* no ncclCommSplit */
}

static jmp_buf ended;

static bool after_two_polls(void *ctx)
{
    return ++*(int *)ctx > 2;
}

static void end(void *ctx)
{
    (void)ctx;
    longjmp(ended, 1);
}

static void an_abort_ends_a_wait(void **state)
{
    (void)state;
    struct err e;
    float x = 0;
    int polls = 0;
    const struct nccl_abort abort = {after_two_polls, end, &polls};
    static struct nccl_comm c;
    c = comm_of(0, 2, &abort);
    memset(&fake, 0, sizeof fake);
    fake.answer = ncclInProgress;
    fake.polls = 1000000;
    if (setjmp(ended) == 0) {
        nccl_comm_run(&c, &sum, &x, &x, &e);
        fail_msg("the wait ended by itself");
    }
    assert_int_equal(fake.aborted, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_and_receives_stand_in_for_missing_functions),
        cmocka_unit_test(a_transfer_is_one_group_of_its_two_ranks),
        cmocka_unit_test(what_goes_on_is_polled_until_it_is_done),
        cmocka_unit_test(errors_name_the_collective),
        cmocka_unit_test(one_left_out_asks_for_nothing),
        cmocka_unit_test(an_abort_ends_a_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
static void without_nccl(void **state)
{
    (void)state;
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_nccl)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
