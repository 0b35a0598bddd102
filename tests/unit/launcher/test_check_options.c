/* check_options: what is check's, what is the launcher's, what is the worker's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launcher/core/check_options.h"
#include "launcher/core/command_page.h"
#include "tests/unit/words.h"

static struct check_options opt;
static struct err err;
static struct words words;
static char joined[512];

static int parse_with(const char *text, const char *const *environment)
{
    check_options_fini(&opt);
    return check_options_parse(words_split(&words, text), environment, &opt, &err);
}

static int parse(const char *text)
{
    return parse_with(text, NULL);
}

/* The words of the job, with blanks between. */
static const char *args(void)
{
    joined[0] = '\0';
    for (size_t i = 0; i < opt.args.n; i++) {
        strcat(joined, i ? " " : "");
        strcat(joined, opt.args.items[i]);
    }
    return joined;
}

static void words_go_where_they_belong(void **state)
{
    (void)state;
    assert_int_equal(parse(""), 0);
    assert_string_equal(args(), "--show 2 -- muster-worker --test allreduce,pairs");
    assert_int_equal(opt.launch.nproc, 0);
    assert_int_equal(parse("-n 4 --sizes 8,1M --gpus=0-3 --json out.json --iters=5 --bisect "
                           "--full -x A=1"),
                     0);
    assert_string_equal(args(), "-n 4 --gpus=0-3 -x A=1 --show 2 -- muster-worker --sizes 8,1M "
                                "--iters=5 --full --test allreduce,pairs");
    assert_int_equal(opt.launch.nproc, 4);
    assert_string_equal(opt.launch.gpus, "0-3");
    assert_string_equal(opt.launch.program[0], "muster-worker");
    assert_string_equal(opt.json, "out.json");
    assert_true(opt.is_bisect);
    assert_int_equal(parse("--worker ./w -vn2 --backend host -- -b 8 -n 20"), 0);
    assert_string_equal(
        args(), "-vn2 --show 2 -- ./w --backend host -b 8 -n 20 --test allreduce,pairs");
    assert_string_equal(opt.backend, "host");
    assert_int_equal(opt.launch.nproc, 2);
    assert_int_equal(parse("-v -n 2"), 0); /* the worker's own table as well */
    assert_string_equal(args(), "-v -n 2 -- muster-worker --test allreduce,pairs");
    assert_int_equal(parse("--hosts a:2,b:2 --min_busbw 300 --skip shm.size --skip net.name"),
                     0);
    assert_true(opt.min_busbw == 300);
    assert_int_equal(opt.skip.n, 2);
}

static void reports_are_of_the_check(void **state)
{
    (void)state;
    static const char *const environment[] = {"MUSTER_JUNIT=env.xml", NULL};
    assert_int_equal(parse_with("-n 2", environment), 0);
    assert_string_equal(opt.junit, "env.xml");
    assert_null(opt.launch.junit);
    assert_int_equal(parse_with("-n 2 --junit own.xml", environment), 0);
    assert_string_equal(opt.junit, "own.xml");
    assert_null(opt.launch.junit);
}

static void messages(void **state)
{
    (void)state;
    static const struct {
        const char *words, *text;
    } rows[] = {
        {"--szes 8",
         "--szes: no such option; the nearest is --sizes (see muster check --help)"},
        {"--min_busb 3",
         "--min-busb: no such option; the nearest is --min-busbw (see muster check --help)"},
        {"--host a",
         "--host: no such option; the nearest is --hosts (see muster check --help)"},
        {"-np 2",
         "-np: no such option; the nearest is --nproc-per-node (see muster run --help)"},
        {"-hostfile h", "-hostfile: a long name takes two dashes: --hostfile"},
        {"-b 8", "-b: no such option (see muster check --help); muster-worker's letters come "
                 "after --"},
        {"train.py", "'train.py': muster check starts muster-worker itself; words for it come "
                     "after --"},
        {"--json", "--json needs a value: FILE"},
        {"--json=", "--json: '' is not FILE"},
        {"--bisect=yes", "--bisect takes no value"},
        {"--format xml", "--format: 'xml' is not table or nccl-tests"},
        {"--backend mpi", "--backend: 'mpi' is not nccl or host"},
        {"--warn-below 2", "--warn-below: '2' is not a share from 0 to 1, as in 0.9"},
        {"--min-busbw -1", "--min-busbw: '-1' is not a number of GB/s"},
        {"--min-busbw nan", "--min-busbw: 'nan' is not a number of GB/s"},
        {"--fail-below 0.95", "--fail-below 0.95 is above --warn-below 0.9"},
        {"--nnodes 2 --rdzv-endpoint a:1",
         "--rdzv-endpoint: muster check starts its nodes itself; name them with --hosts or "
         "--hostfile"},
        {"--max-restarts 1",
         "--max-restarts: a check that failed is an answer; it is not repeated"},
        {"-n", "-n needs a value (see muster run --help)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(parse(rows[i].words), -1);
        assert_int_equal(err.code, ERR_USAGE);
        assert_string_equal(err.text, rows[i].text);
    }
}

static void help(void **state)
{
    (void)state;
    struct buf text;
    assert_int_equal(parse("--help"), 0);
    assert_true(opt.is_help);
    assert_int_equal(parse("-h"), 0);
    assert_true(opt.is_help);
    buf_init(&text, 0);
    command_page_help(command_page(COMMAND_check), &text);
    assert_non_null(strstr(buf_str(&text), "--bisect"));
    assert_non_null(strstr(buf_str(&text), "--html FILE"));
    assert_non_null(strstr(buf_str(&text), "--hosts LIST")); /* of run */
    buf_fini(&text);
}

static void how_many_words_an_option_takes(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        int n;
    } rows[] = {{"-n", 2},         {"-n4", 1},       {"-vn", 2},      {"-v", 1},
                {"--gpus", 2},     {"--gpus=1", 1},  {"--module", 1}, {"--log_dir", 2},
                {"--nonsense", 0}, {"-b", 0},        {"word", 0},     {"-", 0},
                {"--", 0},         {"--help=yes", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(options_word_count(rows[i].word), rows[i].n);
}

static int leave(void **state)
{
    (void)state;
    check_options_fini(&opt);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_go_where_they_belong),
        cmocka_unit_test(reports_are_of_the_check),
        cmocka_unit_test(messages),
        cmocka_unit_test(help),
        cmocka_unit_test(how_many_words_an_option_takes),
    };
    return cmocka_run_group_tests(tests, NULL, leave);
}
