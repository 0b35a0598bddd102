/* options: parsing, fallbacks and their order, help, messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launcher/core/command_page.h"
#include "launcher/core/option_checks.h"
#include "launcher/core/options.h"
#include "tests/unit/words.h"

static struct options opt;
static struct err err;
static struct words words;

static int parse_with(const char *text, const char *const *environment)
{
    return options_parse(words_split(&words, text), environment, &opt, &err);
}

static int parse(const char *text)
{
    static const char *const none[] = {NULL};
    return parse_with(text, none);
}

static void defaults(void **state)
{
    (void)state;
    assert_int_equal(parse("prog a b"), 0);
    assert_int_equal(opt.nproc, 0);
    assert_int_equal(opt.grace_ms, 25000);
    assert_int_equal(opt.timeout_ms, 0);
    assert_int_equal(opt.max_restarts, 0);
    assert_int_equal(opt.master_port, 0);
    assert_int_equal(opt.binding, BINDING_SHARED);
    assert_string_equal(opt.prefix, "auto");
    assert_null(opt.gpus);
    assert_string_equal(opt.program[0], "prog");
    assert_string_equal(opt.program[2], "b");
    assert_null(opt.program[3]);
    for (int i = 0; i < OPTION_ID_COUNT; i++)
        assert_int_equal(opt.origin[i], ORIGIN_DEFAULT);
}

static void metrics(void **state)
{
    (void)state;
    static const char *const environment[] = {"MUSTER_METRICS=n1:0", NULL};
    static const char *const right[] = {"9400", ":0", "127.0.0.1:9400", "[::1]:0", "n1:65535"};
    static const char *const wrong[] = {"x",   "",     ":",   ":65536", "65536",   "n1",
                                        "n1:", "n1:x", "::1", "a b:1",  "unix:/x", "-1"};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++)
        assert_int_equal(
            options_set(&opt, OPTION_METRICS, ORIGIN_COMMAND_LINE, "--metrics", right[i], &err),
            0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        print_message("'%s'\n", wrong[i]);
        assert_int_equal(
            options_set(&opt, OPTION_METRICS, ORIGIN_COMMAND_LINE, "--metrics", wrong[i], &err),
            -1);
        assert_int_equal(err.code, ERR_USAGE);
        assert_ptr_equal(strstr(err.text, "--metrics: "), err.text);
    }
    assert_int_equal(parse_with("prog", environment), 0);
    assert_string_equal(opt.metrics, "n1:0");
}

static void mpi(void **state)
{
    (void)state;
    static const char *const environment[] = {"MUSTER_MPI=pmi", NULL};
    struct buf text;
    buf_init(&text, 0);
    assert_int_equal(parse("p"), 0);
    assert_int_equal(opt.mpi, MPI_MODE_AUTO);
    assert_int_equal(parse_with("p", environment), 0);
    assert_int_equal(opt.mpi, MPI_MODE_PMI);
    assert_int_equal(parse_with("--mpi=pmix p", environment), 0);
    assert_int_equal(opt.mpi, MPI_MODE_PMIX);
    options_value_format(&opt, OPTION_MPI, &text);
    assert_string_equal(buf_str(&text), "pmix");
    buf_fini(&text);
    assert_int_equal(parse("--mpi openmpi p"), -1);
    assert_non_null(strstr(err.text, "auto, pmix, pmi or none"));
}

static void spellings(void **state)
{
    (void)state;
    static const char *const same[] = {
        "-n 3 p",
        "-n3 p",
        "-vn3 p",
        "-vn 3 p",
        "--nproc-per-node 3 p",
        "--nproc_per_node=3 p",
        "--nproc-per_node=3 p",
        "-n 9 -n 3 p",
        "-n 3 -- p",
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        assert_int_equal(parse(same[i]), 0);
        assert_int_equal(opt.nproc, 3);
        assert_string_equal(opt.program[0], "p");
        assert_int_equal(opt.origin[OPTION_NPROC], ORIGIN_COMMAND_LINE);
    }
}

static void a_number_of_workers_may_be_a_word(void **state)
{
    (void)state;
    static const struct {
        const char *line, *pet, *text;
        enum nproc_source source;
    } rows[] = {
        {"-n auto p", NULL, "auto", NPROC_AUTO},
        {"-n cpu p", NULL, "cpu", NPROC_CPUS},
        {"--nproc-per-node=gpu p", NULL, "gpu", NPROC_GPUS},
        {"p", "PET_NPROC_PER_NODE=auto", "auto", NPROC_AUTO},
        {"p", "PET_NPROC_PER_NODE=cpu", "cpu", NPROC_CPUS},
        {"-n 4 -n cpu p", NULL, "cpu", NPROC_CPUS},
        {"p", NULL, "", NPROC_GPUS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const environment[] = {rows[i].pet, NULL};
        struct buf out;
        buf_init(&out, 0);
        assert_int_equal(parse_with(rows[i].line, environment), 0);
        assert_int_equal(opt.nproc, 0);
        assert_int_equal(opt.nproc_source, rows[i].source);
        options_value_format(&opt, OPTION_NPROC, &out);
        assert_string_equal(buf_str(&out), rows[i].text);
        buf_fini(&out);
    }
}

static void options_stop_at_the_program(void **state)
{
    (void)state;
    assert_int_equal(parse("-n 2 prog -n 7 --help -- x"), 0);
    assert_int_equal(opt.nproc, 2);
    assert_false(opt.is_help);
    assert_string_equal(opt.program[1], "-n");
    assert_int_equal(parse("-n 2 -- -prog"), 0);
    assert_string_equal(opt.program[0], "-prog");
    assert_int_equal(parse("-- -- x"), 0);
    assert_string_equal(opt.program[0], "--");
    assert_int_equal(parse("- x"), 0); /* a lone dash is a word like any other */
    assert_string_equal(opt.program[0], "-");
}

static void values(void **state)
{
    (void)state;
    assert_int_equal(parse("--grace 500ms --timeout 1.5m --max-restarts 0 --master-port 65535 "
                           "--binding none --log-dir d -m p"),
                     0);
    assert_int_equal(opt.grace_ms, 500);
    assert_int_equal(opt.timeout_ms, 90000);
    assert_int_equal(opt.master_port, 65535);
    assert_int_equal(opt.binding, BINDING_NONE);
    assert_string_equal(opt.log_dir, "d");
    assert_true(opt.is_module);
    assert_int_equal(parse("--module=no --verbose=yes p"), 0);
    assert_false(opt.is_module);
    assert_true(opt.is_verbose);
}

static void bad_lines_say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *line, *text;
    } rows[] = {
        {"-n 0 p", "-n: '0' is not a number from 1 to 4096"},
        {"-n 4097 p", "4096"},
        {"-n -1 p", "'-1'"},
        {"-n=4 p", "-n: '=4'"},
        {"-n", "-n needs a value: N"},
        {"--grace", "--grace needs a value: TIME"},
        {"--grace soon p", "--grace: 'soon' is not a time"},
        {"--timeout -1 p", "--timeout: '-1'"},
        {"--timeout 99999999999999999999h p", "--timeout"},
        {"--master-port 0 p", "a port from 1 to 65535"},
        {"--master-port 65536 p", "a port from 1 to 65535"},
        {"--max-restarts 1000001 p", "a number from 0 to 1000000"},
        {"--binding both p", "shared, isolated"},
        {"--log-dir= p", "--log-dir: the value is empty"},
        {"--help=maybe p", "--help: 'maybe' is not yes or no"},
        {"--max-restart 2 p", "nearest is --max-restarts"},
        {"--maxrestarts 2 p", "nearest is --max-restarts"},
        {"--tiemout=2 p", "nearest is --timeout"},
        {"--nproc 2 p", "nearest is --nproc-per-node"},
        {"--rdzv_idd x p", "nearest is --rdzv-id"},
        {"--=3 p", "no such option"},
        {"--- p", "no such option"},
        {"-Z p", "-Z: no such option"},
        {"-vZ p", "-Z: no such option"},
        {"--np 2 p", "nearest is --nproc-per-node"},
        {"-np 2 p", "-np: no such option; the nearest is --nproc-per-node"},
        {"-hostfile h p", "-hostfile: a long name takes two dashes: --hostfile"},
        {"-nproc_per_node=2 p", "two dashes: --nproc-per-node"},
        {"\u2013n 2 p", "\u2013n: it begins with a typographic dash"},
        {"-n 2 \u2014timeout 3 p", "type the option anew"},
        {"\u2212\u2212timeout 3 p", "typographic dash"},
        {"-H n1:2 p", "nearest is --hosts"},
        {"--host n1:2 p", "nearest is --hosts"},
        {"--num_processes 2 p", "nearest is --nproc-per-node"},
        {"--bind-to core p", "nearest is --cpu-bind"},
        {"--standalone p", "--standalone: no such option; it is torchrun's"},
        {"--master_addr=n1 p", "muster torchrun takes"},
        {"--no_python p", "muster torchrun takes"},
        {"--allow-run-as-root p", "--allow-run-as-root: no such option (see"},
        {"-n 4", "no program to run"},
        {"", "no program to run"},
        {"-n 4 --", "no program to run"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(parse(rows[i].line), -1);
        assert_int_equal(err.code, ERR_USAGE);
        if (!strstr(err.text, rows[i].text))
            fail_msg("'%s': '%s' lacks '%s'", rows[i].line, err.text, rows[i].text);
    }
}

static void a_very_long_unknown_option(void **state)
{
    (void)state;
    char line[400] = "--";
    memset(line + 2, 'x', sizeof line - 3);
    assert_int_equal(parse(line), -1);
    assert_non_null(strstr(err.text, "no such option"));
}

static void letters_stay_letters(void **state)
{
    (void)state;
    assert_int_equal(parse("-vn2 -xNP=1 -xhost -m p"), 0);
    assert_int_equal(opt.nproc, 2);
    assert_int_equal(opt.forward.n, 2);
    assert_true(opt.is_module && opt.is_verbose);
    assert_int_equal(parse("-n 2 -- \u2013odd"), 0); /* a program may be called so */
    assert_string_equal(opt.program[0], "\u2013odd");
}

/* Found out where it is known whether muster starts other nodes. */
static void what_is_for_other_hosts_is_refused_on_one(void **state)
{
    (void)state;
    static const struct {
        const char *line, *text;
    } rows[] = {
        {"-x A=1 p", "-x is for hosts that muster starts on"},
        {"--env-file f p", "--env-file is for hosts"},
        {"--chdir d p", "cd there first"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(parse(rows[i].line), 0);
        assert_int_equal(option_checks_launch(&opt, START_SSH, &err), 0);
        assert_int_equal(option_checks_launch(&opt, START_SLURM, &err), 0);
        assert_int_equal(option_checks_launch(&opt, START_MPI, &err), 0);
        assert_int_equal(option_checks_launch(&opt, START_MANUAL, &err), -1);
        assert_int_equal(option_checks_launch(&opt, START_LOCAL, &err), -1);
        assert_int_equal(err.code, ERR_USAGE);
        assert_non_null(strstr(err.text, rows[i].text));
    }
    static const char *const environment[] = {"MUSTER_CHDIR=d", "MUSTER_ENV_FILE=f", NULL};
    assert_int_equal(parse_with("p", environment), 0);
    assert_int_equal(option_checks_launch(&opt, START_LOCAL, &err), 0);
}

static void no_prefix_of_a_name_is_taken(void **state)
{
    (void)state;
    assert_int_equal(parse("--max 2 p"), -1);
    assert_int_equal(parse("--nproc-per-nod 2 p"), -1);
    assert_int_equal(parse("--nproc-per-node-x 2 p"), -1);
}

static void the_environment_stands_in(void **state)
{
    (void)state;
    static const char *const environment[] = {
        "MUSTER_NPROC_PER_NODE=3", "PET_MAX_RESTARTS=5", "PET_NPROC_PER_NODE=9",
        "MUSTER_GRACE=",           "MUSTER_GRACE_=1",    NULL};
    assert_int_equal(parse_with("p", environment), 0);
    assert_int_equal(opt.nproc, 3);
    assert_int_equal(opt.origin[OPTION_NPROC], ORIGIN_ENVIRONMENT);
    assert_int_equal(opt.max_restarts, 5);
    assert_int_equal(opt.origin[OPTION_MAX_RESTARTS], ORIGIN_PET);
    assert_int_equal(opt.grace_ms, 25000); /* set but empty means unset */
    assert_int_equal(parse_with("-n 4 --max-restarts 0 p", environment), 0);
    assert_int_equal(opt.nproc, 4);
    assert_int_equal(opt.max_restarts, 0);
}

static void a_bad_fallback_counts_only_where_it_is_used(void **state)
{
    (void)state;
    static const char *const environment[] = {"MUSTER_GRACE=soon", "PET_NPROC_PER_NODE=some",
                                              NULL};
    assert_int_equal(parse_with("-n 1 p", environment), -1);
    assert_non_null(strstr(err.text, "MUSTER_GRACE: 'soon'"));
    assert_int_equal(parse_with("--grace 3 p", environment), -1);
    assert_non_null(strstr(err.text, "PET_NPROC_PER_NODE: 'some'"));
    assert_int_equal(parse_with("-n 1 --grace 3 p", environment), 0);
    assert_int_equal(parse_with("--help", environment), 0);
    assert_true(opt.is_help);
}

static void fallback_names(void **state)
{
    (void)state;
    struct buf name;
    buf_init(&name, 0);
    for (int i = 0; i < OPTION_ID_COUNT; i++) {
        buf_reset(&name);
        if (!options_env_name((enum option_id)i, &name))
            continue;
        buf_adds(&name, "=x");
        assert_true(options_is_fallback(buf_str(&name)));
    }
    assert_true(options_env_name(OPTION_MAX_RESTARTS, &name));
    buf_fini(&name);
    assert_true(options_is_fallback("PET_MASTER_PORT=1"));
    static const char *const others[] = {"MUSTER_BINDING=x",
                                         "MUSTER_=x",
                                         "MUSTER_GRACE_MS=1",
                                         "muster_grace=1",
                                         "PET_X=1",
                                         "",
                                         "=",
                                         "MUSTER_HELP=1"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(options_is_fallback(others[i]));
}

static void help_names_every_option(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 0);
    command_page_help(command_page(COMMAND_run), &text);
    assert_null(strstr(buf_str(&text), "--evidence"));
    command_page_help(command_page(COMMAND_plan), &text);
    command_page_help(command_page(COMMAND_doctor), &text); /* has some of its own */
#define X(id, name, ...) assert_non_null(strstr(buf_str(&text), "--" name));
    OPTION_TABLE(X)
#undef X
    assert_null(strchr(buf_str(&text), '\t'));
    buf_fini(&text);
}

static void sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *out;
        uint64_t bytes;
    } rows[] = {
        {"--log-dir d --log-size 1000 p", "1000", 1000},
        {"--log-dir d --log-size 64K p", "64K", 65536},
        {"--log-dir d --log-size 2048M p", "2G", 2147483648},
        {"p", "", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf out;
        buf_init(&out, 0);
        assert_int_equal(parse(rows[i].text), 0);
        assert_true(opt.log_size == rows[i].bytes);
        options_value_format(&opt, OPTION_LOG_SIZE, &out);
        assert_string_equal(buf_str(&out), rows[i].out);
        buf_fini(&out);
    }
    static const char *const wrong[] = {"0", "K", "1X", "-1", "99999999999T", "1.5G"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[64] = "--log-dir d --log-size ";
        strcat(text, wrong[i]);
        strcat(text, " p");
        assert_int_equal(parse(text), -1);
    }
    assert_int_equal(parse("--log-size 1K p"), -1);
    assert_non_null(strstr(err.text, "--log-dir"));
}

static void streams_of_workers(void **state)
{
    (void)state;
    assert_int_equal(parse("-r 3 --tee=0:3,12:1 --log-dir d --only-ranks 0,2-5 --stdin none p"),
                     0);
    assert_string_equal(opt.redirects, "3");
    assert_string_equal(opt.tee, "0:3,12:1");
    assert_string_equal(opt.only_ranks, "0,2-5");
    assert_string_equal(opt.input, "none");
    static const char *const wrong[] = {
        "-r 4 --log-dir d p",
        "-t 0:3, --log-dir d p",
        "--only-ranks 3-1 p",
        "--stdin some p",
        "-r 3 p",
        "-t 3 p",
        "--prefix {what} p",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(parse(wrong[i]), -1);
        assert_int_equal(err.code, ERR_USAGE);
    }
    assert_int_equal(parse("-t 3 p"), -1);
    assert_non_null(strstr(err.text, "--log-dir"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(spellings),
        cmocka_unit_test(a_number_of_workers_may_be_a_word),
        cmocka_unit_test(options_stop_at_the_program),
        cmocka_unit_test(values),
        cmocka_unit_test(bad_lines_say_what_is_wrong),
        cmocka_unit_test(a_very_long_unknown_option),
        cmocka_unit_test(letters_stay_letters),
        cmocka_unit_test(what_is_for_other_hosts_is_refused_on_one),
        cmocka_unit_test(no_prefix_of_a_name_is_taken),
        cmocka_unit_test(the_environment_stands_in),
        cmocka_unit_test(a_bad_fallback_counts_only_where_it_is_used),
        cmocka_unit_test(fallback_names),
        cmocka_unit_test(help_names_every_option),
        cmocka_unit_test(sizes),
        cmocka_unit_test(mpi),
        cmocka_unit_test(metrics),
        cmocka_unit_test(streams_of_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
