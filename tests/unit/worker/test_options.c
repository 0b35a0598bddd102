/* The command line of the worker and the sizes that follow from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "worker/options.h"
#include "worker/pairs.h"
#include "worker/size_text.h"
#include "worker/sweep.h"

static int parse(struct options *o, struct err *e, const char *line)
{
    static char copy[512];
    char *argv[32] = {(char[]){"muster-worker"}};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    return options_parse(o, argc, argv, e);
}

static void refused(const char *line, const char *says)
{
    struct options o;
    struct err e;
    if (parse(&o, &e, line) == 0)
        fail_msg("accepted: %s", line);
    assert_int_equal(e.code, ERR_USAGE);
    if (!strstr(e.text, says))
        fail_msg("%s: \"%s\" does not say \"%s\"", line, e.text, says);
}

static void letters_are_those_of_nccl_tests(void **state)
{
    (void)state;
    struct options o;
    struct err e;
    assert_int_equal(parse(&o, &e,
                           "-- -b 8 -e 8G -f 2 -n 50 -w 5 -d half -o max -r 1 -c 3 -a 3 -z 1 "
                           "-t 1 -g 1"),
                     0);
    assert_int_equal(o.min_bytes, 8);
    assert_int_equal(o.max_bytes, 8ull << 30);
    assert_int_equal(o.factor, 2);
    assert_int_equal(o.iters, 50);
    assert_int_equal(o.warmup, 5);
    assert_true(o.types[TYPE_HALF] && !o.types[TYPE_FLOAT]);
    assert_true(o.ops[OP_MAX] && !o.ops[OP_SUM]);
    assert_int_equal(o.check, 3);
    assert_int_equal(o.average, AVERAGE_MAX);
    assert_true(o.blocking);
}

static void long_options_take_dashes_underscores_and_equals(void **state)
{
    (void)state;
    struct options o;
    struct err e;
    assert_int_equal(
        parse(&o, &e, "--min_busbw=12.5 --type all --op=sum,avg --deadline reach=2.5"), 0);
    assert_true(o.min_busbw_gbs == 12.5);
    assert_true(o.types[TYPE_F8E5M2] && o.ops[OP_AVG] && !o.ops[OP_MIN]);
    assert_int_equal(o.deadline_ms[PHASE_reach], 2500);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    refused("--itters 3", "--iters");
    refused("-q", "unknown option -q");
    refused("file", "not an option");
    refused("--test pears", "known: allreduce allgather");
    refused("--inject slowlink:a=1,c=2,ms=3", "--inject takes");
    refused("--expect lots", "--expect takes GBS");
    refused("--fail-below 0.95", "larger than --warn-below");
    refused("--format xml", "table|nccl-tests");
    refused("--type flaot", "float");
    refused("--op times", "sum");
    refused("-t 4", "one process owns one GPU");
    refused("-g 2", "one process owns one GPU");
    refused("--iters", "needs a value");
    refused("--iters 0", "--iters takes");
    refused("--iters 3x", "--iters takes");
    refused("--full=1", "no value");
    refused("--sizes 8,,16", "no size");
    refused("--sizes 1Q", "no size");
    refused("--sizes 8 --max 16", "--sizes names every size");
    refused("--min 1M --max 1K", "larger");
    refused("--factor 2 --step 8", "not both");
    refused("--deadline lunch=3", "phases: started");
    refused("--inject corrupt", "--inject takes");
    refused("--inject hang:rank=1,phase=lunch", "--inject takes");
    refused("--backend mpi", "nccl|host");
    refused("--min-busbw fast", "GBS");
}

static void tests_are_chosen_by_name(void **state)
{
    (void)state;
    struct options o;
    struct err e;
    assert_int_equal(parse(&o, &e, ""), 0);
    assert_true(o.collectives[COLLECTIVE_ALLREDUCE] && !o.pairs && !o.all_tests);
    assert_int_equal(parse(&o, &e, "--test alltoall,pairs,gather"), 0);
    assert_true(o.collectives[COLLECTIVE_ALLTOALL] && o.collectives[COLLECTIVE_GATHER]);
    assert_true(!o.collectives[COLLECTIVE_ALLREDUCE] && o.pairs && !o.isolate);
    assert_int_equal(parse(&o, &e, "--test all"), 0);
    assert_true(o.collectives[COLLECTIVE_HYPERCUBE] && o.isolate && o.latency && o.all_tests);
}

static void sizes_are_powers_of_two(void **state)
{
    (void)state;
    uint64_t v = 0;
    char text[24];
    assert_int_equal(size_parse("64K", &v), 0);
    assert_int_equal(v, 65536);
    assert_int_equal(size_parse("3MB", &v), 0);
    assert_int_equal(v, 3ull << 20);
    assert_int_equal(size_parse("8", &v), 0);
    assert_int_equal(v, 8);
    assert_int_equal(size_parse("K", &v), -1);
    assert_int_equal(size_parse("", &v), -1);
    assert_int_equal(size_parse("1.5M", &v), -1);
    assert_int_equal(size_parse("99999999999999T", &v), -1);
    assert_string_equal(size_format(1536, text), "1536");
    assert_string_equal(size_format(64 << 10, text), "64K");
    assert_string_equal(size_format(8ull << 30, text), "8G");
}

static size_t sizes_of(const char *line, bool host, uint64_t limit, uint64_t **sizes,
                       size_t *left_out)
{
    struct options o;
    struct err e;
    size_t n;
    assert_int_equal(parse(&o, &e, line), 0);
    assert_int_equal(sweep_sizes(&o, host, limit, 4, sizes, &n, left_out, &e), 0);
    return n;
}

static void sweeps_follow_the_options(void **state)
{
    (void)state;
    uint64_t *s;
    size_t left, n = sizes_of("", false, 0, &s, &left);
    assert_int_equal(n, 5);
    assert_int_equal(s[4], 1ull << 30);
    free(s);
    n = sizes_of("", true, 0, &s, &left);
    assert_int_equal(n, 4);
    assert_int_equal(s[3], 16 << 20);
    free(s);
    n = sizes_of("--full", false, 4ull << 30, &s, &left);
    assert_int_equal(n, 30);
    assert_int_equal(left, 1);
    free(s);
    n = sizes_of("-b 1K -e 4K -i 1K", false, 0, &s, &left);
    assert_int_equal(n, 4);
    assert_int_equal(s[1], 2048);
    free(s);
    n = sizes_of("--sizes 3,9", false, 0, &s, &left);
    assert_int_equal(n, 2);
    assert_int_equal(s[0], 4);
    assert_int_equal(s[1], 8);
    free(s);
    n = sizes_of("-b 1K -e 2000T -f 1048576", false, 0, &s, &left); /* the next is 2^70 */
    assert_int_equal(n, 3);
    assert_int_equal(s[2], 1024ull << 40);
    free(s);
}

static void nothing_to_test_is_an_error(void **state)
{
    (void)state;
    struct options o;
    struct err e;
    uint64_t *s;
    size_t n, left;
    assert_int_equal(parse(&o, &e, "-b 1G -e 1G"), 0);
    assert_int_equal(sweep_sizes(&o, false, 1 << 20, 4, &s, &n, &left, &e), -1);
    assert_int_equal(parse(&o, &e, "-b 4 -e 1G -i 4"), 0);
    assert_int_equal(sweep_sizes(&o, false, 0, 4, &s, &n, &left, &e), -1);
}

/* A range is cut to what memory holds; what is named is not left out. */
static void a_size_that_is_named_has_to_fit(void **state)
{
    (void)state;
    struct options o;
    struct err e;
    uint64_t *s;
    size_t n, left;
    assert_int_equal(parse(&o, &e, "--sizes 8,900T"), 0);
    assert_int_equal(sweep_sizes(&o, true, (3ull << 20) + 16, 4, &s, &n, &left, &e), -1);
    assert_int_equal(e.code, ERR_USAGE);
    assert_string_equal(e.text,
                        "--sizes: 900T does not fit; memory holds 3M a buffer, and each "
                        "rank has two");
    n = sizes_of("-b 8 -e 900T -f 16", true, 3ull << 20, &s, &left);
    assert_int_equal(s[n - 1], 512 << 10);
    assert_true(left > 0);
    free(s);
}

/* What verifies takes as long as what is timed; without a warm-up one operation is still known.
 */
static void a_deadline_counts_all_that_is_done(void **state)
{
    (void)state;
    struct options o;
    struct err e;
    assert_int_equal(parse(&o, &e, ""), 0);
    assert_int_equal(sweep_deadline_ms(&o, 0), 30000);
    assert_int_equal(sweep_deadline_ms(&o, 100000), 20 * 100 * (2 * 21 + 2));
    assert_int_equal(parse(&o, &e, "-n 1 -c 5000 -w 0"), 0);
    assert_int_equal(sweep_deadline_ms(&o, 100000), 20 * 100 * (2 * 2 + 10000));
    assert_int_equal(sweep_warmups(&o, false), 0);
    assert_int_equal(sweep_warmups(&o, true), 1);
    assert_int_equal(parse(&o, &e, "-w 3"), 0);
    assert_int_equal(sweep_warmups(&o, false), 3);
    assert_int_equal(sweep_warmups(&o, true), 3);
    assert_int_equal(pairs_deadline_ms(&o), 120000);
    assert_int_equal(parse(&o, &e, "-n 1"), 0);
    assert_int_equal(pairs_deadline_ms(&o), 60000);
}

static void bandwidths_are_those_of_nccl_tests(void **state)
{
    (void)state;
    assert_true(sweep_algbw(1000000000, 1e6) == 1.0);
    assert_int_equal(sweep_regions(100, 8), 12);
    assert_int_equal(sweep_regions(8, 8), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_are_those_of_nccl_tests),
        cmocka_unit_test(long_options_take_dashes_underscores_and_equals),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(tests_are_chosen_by_name),
        cmocka_unit_test(sizes_are_powers_of_two),
        cmocka_unit_test(sweeps_follow_the_options),
        cmocka_unit_test(nothing_to_test_is_an_error),
        cmocka_unit_test(a_size_that_is_named_has_to_fit),
        cmocka_unit_test(a_deadline_counts_all_that_is_done),
        cmocka_unit_test(bandwidths_are_those_of_nccl_tests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
