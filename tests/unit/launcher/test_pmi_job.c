/* pmi_job, pmi_kvs, mpi_layout: a PMI-1 server as text, one rank after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "launcher/core/pmi_job.h"
#include "launcher/core/pmi_kvs.h"

static const struct mpi_node one[] = {{"a", 0, 2}};
static const struct mpi_layout alone = {one, 1, 2};

static struct pmi_job *job;
static char said[2048];

static int set_up(void **state)
{
    (void)state;
    job = pmi_job_new(&alone, 0, "k");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pmi_job_free(job);
    return 0;
}

/* One line of a rank; the answer is in said. */
static enum pmi_next ask(uint32_t rank, const char *line)
{
    struct pmi_request request;
    struct str in = str_from(line);
    struct buf reply;
    struct err e;
    assert_int_equal(pmi_request_decode(&in, &request, &e), 1);
    buf_init(&reply, 0);
    enum pmi_next next = pmi_job_request(job, rank, &request, &reply);
    assert_true(reply.len < sizeof said);
    strcpy(said, buf_str(&reply));
    buf_fini(&reply);
    return next;
}

static void begin(uint32_t rank)
{
    assert_int_equal(ask(rank, "cmd=init pmi_version=1 pmi_subversion=1\n"), PMI_GO_ON);
}

static enum mpi_state state_of(uint32_t rank)
{
    int code;
    return pmi_job_state(job, rank, &code);
}

static void a_life(void **state)
{
    (void)state;
    assert_int_equal(state_of(0), MPI_STATE_OUTSIDE);
    begin(0);
    begin(1);
    assert_int_equal(state_of(0), MPI_STATE_INSIDE);
    ask(0, "cmd=get_universe_size\n");
    assert_string_equal(said, "cmd=universe_size size=2\n");
    ask(0, "cmd=get kvsname=k key=PMI_process_mapping\n");
    assert_string_equal(said, "cmd=get_result rc=0 msg=success value=(vector,(0,1,2))\n");
    ask(0, "cmd=put kvsname=k key=x value=1\n");
    assert_int_equal(ask(0, "cmd=barrier_in\n"), PMI_GO_ON);
    assert_string_equal(said, "");
    assert_true(pmi_job_is_waiting(job, 0) && !pmi_job_is_waiting(job, 1));
    assert_int_equal(ask(1, "cmd=barrier_in\n"), PMI_ALL_IN);
    pmi_job_release(job, STR_LIT(""));
    assert_false(pmi_job_is_waiting(job, 0));
    ask(1, "cmd=get kvsname=k key=x\n");
    assert_string_equal(said, "cmd=get_result rc=0 msg=success value=1\n");
    assert_int_equal(ask(1, "cmd=finalize\n"), PMI_CLOSE);
    assert_string_equal(said, "cmd=finalize_ack\n");
    assert_int_equal(state_of(1), MPI_STATE_FINALIZED);
}

static void an_abort(void **state)
{
    (void)state;
    int code;
    begin(1);
    assert_int_equal(ask(1, "cmd=abort exitcode=7\n"), PMI_END);
    assert_int_equal(pmi_job_state(job, 1, &code), MPI_STATE_ABORTED);
    assert_int_equal(code, 7);
    assert_int_equal(state_of(0), MPI_STATE_OUTSIDE);
}

static void what_is_refused(void **state)
{
    (void)state;
    assert_int_equal(ask(0, "cmd=barrier_in\n"), PMI_CLOSE); /* before init */
    assert_int_equal(ask(0, "cmd=init pmi_version=2 pmi_subversion=0\n"), PMI_CLOSE);
    begin(0);
    ask(0, "cmd=put kvsname=other key=x value=1\n");
    assert_string_equal(said, "cmd=put_result rc=-1 msg=kvsname_unknown\n");
    ask(0, "cmd=put kvsname=k key= value=1\n");
    assert_string_equal(said, "cmd=put_result rc=-1 msg=key_invalid\n");
    ask(0, "cmd=put kvsname=k key=x value=1\n");
    ask(0, "cmd=put kvsname=k key=x value=2\n");
    assert_string_equal(said, "cmd=put_result rc=-1 msg=duplicate_key\n");
    ask(0, "cmd=get kvsname=k key=y\n");
    assert_string_equal(said, "cmd=get_result rc=-1 msg=key_y_not_found value=unknown\n");
    assert_int_equal(ask(0, "mcmd=spawn\nendcmd\n"), PMI_GO_ON);
    assert_non_null(strstr(said, "cmd=spawn_result rc=-1"));
    ask(0, "cmd=publish_name service=a port=b\n");
    assert_non_null(strstr(said, "cmd=publish_result rc=-1"));
    assert_int_equal(ask(0, "cmd=barrier_in\n"), PMI_GO_ON);
    assert_int_equal(ask(0, "cmd=barrier_in\n"), PMI_CLOSE); /* twice */
    assert_int_equal(ask(0, "cmd=finalize\n"), PMI_CLOSE);
    assert_int_equal(ask(0, "cmd=get_maxes\n"), PMI_CLOSE); /* after its last word */
}

/* Two nodes: what each has put meets in the barrier. */
static void two_nodes(void **state)
{
    (void)state;
    static const struct mpi_node nodes[] = {{"a", 0, 1}, {"b", 1, 1}};
    static const struct mpi_layout layout = {nodes, 2, 2};
    struct pmi_job *ours = job, *jobs[2];
    struct buf all;
    buf_init(&all, 0);
    for (uint32_t i = 0; i < 2; i++) {
        job = jobs[i] = pmi_job_new(&layout, i, "k");
        begin(0);
        ask(0,
            i ? "cmd=put kvsname=k key=one value=b\n" : "cmd=put kvsname=k key=zero value=a\n");
        assert_int_equal(ask(0, "cmd=barrier_in\n"), PMI_ALL_IN);
        pmi_job_news(job, &all);
    }
    assert_string_equal(buf_str(&all), "zero=a\none=b\n");
    for (uint32_t i = 0; i < 2; i++) {
        pmi_job_release(jobs[i], (struct str){all.data, all.len});
        job = jobs[i];
        ask(0, i ? "cmd=get kvsname=k key=zero\n" : "cmd=get kvsname=k key=one\n");
        assert_non_null(strstr(said, i ? "value=a" : "value=b"));
        buf_reset(&all);
        pmi_job_news(job, &all); /* nothing is told twice, or handed on */
        assert_int_equal(all.len, 0);
        buf_adds(&all, "zero=a\none=b\n");
        pmi_job_free(job);
    }
    buf_fini(&all);
    job = ours;
}

static void layouts(void **state)
{
    (void)state;
    static const struct mpi_node nodes[] = {{"a", 0, 4}, {"b", 4, 4}, {"c", 8, 2}};
    static const struct mpi_layout layout = {nodes, 3, 10};
    struct buf out;
    buf_init(&out, 0);
    mpi_layout_mapping(&layout, &out);
    assert_string_equal(buf_str(&out), "(vector,(0,2,4),(2,1,2))");
    buf_reset(&out);
    mpi_layout_ranks(&nodes[2], &out);
    assert_string_equal(buf_str(&out), "8,9");
    buf_fini(&out);
}

static void many_keys(void **state)
{
    (void)state;
    enum { KEYS = 5000 };
    struct pmi_kvs *kvs = pmi_kvs_new();
    char key[32];
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "key-%d", i);
        assert_null(pmi_kvs_put(kvs, str_from(key), str_from(key + 4)));
    }
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "key-%d", i);
        assert_string_equal(pmi_kvs_find(kvs, str_from(key)), key + 4);
    }
    assert_null(pmi_kvs_find(kvs, STR_LIT("key-5000")));
    assert_null(pmi_kvs_put(kvs, STR_LIT("empty"), STR_LIT("")));
    assert_string_equal(pmi_kvs_find(kvs, STR_LIT("empty")), "");
    pmi_kvs_free(kvs);
}

static void nobody_waits_for_who_has_ended(void **state)
{
    (void)state;
    begin(0);
    assert_int_equal(pmi_job_ended(job), PMI_GO_ON);
    assert_int_equal(ask(0, "cmd=barrier_in\n"), PMI_LOST);
    assert_true(pmi_job_is_waiting(job, 0));
}

static void who_waits_is_lost_by_the_end_of_another(void **state)
{
    (void)state;
    begin(0);
    assert_int_equal(ask(0, "cmd=barrier_in\n"), PMI_GO_ON);
    assert_int_equal(pmi_job_ended(job), PMI_LOST);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_life),
        TEST(an_abort),
        TEST(what_is_refused),
        TEST(two_nodes),
        TEST(layouts),
        TEST(many_keys),
        TEST(nobody_waits_for_who_has_ended),
        TEST(who_waits_is_lost_by_the_end_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
