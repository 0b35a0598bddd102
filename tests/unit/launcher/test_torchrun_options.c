/* torchrun_options: names and prefixes, where values come from, what each option becomes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/core/command_page.h"
#include "launcher/core/completion_render.h"
#include "launcher/core/torchrun_options.h"
#include "tests/unit/words.h"

static struct options opt;
static struct err err;

/* Both in one text each. */
static int parse_with(const char *text, const char *variables)
{
    static struct words words, environment;
    err.text[0] = '\0';
    return torchrun_options_parse(words_split(&words, text),
                                  (const char *const *)words_split(&environment, variables),
                                  &opt, &err);
}

static int parse(const char *text)
{
    return parse_with(text, "");
}

static void defaults_are_torchruns(void **state)
{
    (void)state;
    assert_int_equal(parse("s.py a b"), 0);
    assert_true(opt.torchrun.is_on);
    assert_int_equal(opt.nproc, 1);
    assert_int_equal(opt.max_restarts, 0);
    assert_int_equal(opt.grace_ms, 25000);
    assert_int_equal(opt.nnodes_min, 1);
    assert_int_equal(opt.nnodes_max, 1);
    assert_int_equal(opt.node_rank, -1);
    assert_int_equal(opt.master_port, 0);
    assert_int_equal(opt.join_timeout_ms, 900000);
    assert_int_equal(opt.last_call_ms, 30000);
    assert_int_equal(opt.beat_ms, 5000);
    assert_int_equal(opt.beats_missed, 3);
    assert_int_equal(opt.binding, BINDING_SHARED);
    assert_int_equal(opt.interpreter, INTERPRETER_PYTHON);
    assert_string_equal(opt.job_id, "none");
    assert_string_equal(opt.role, "default");
    assert_string_equal(opt.torchrun.prefix, "[${role_name}${local_rank}]:");
    assert_null(opt.tee);
    assert_null(opt.redirects);
    assert_string_equal(opt.program[0], "s.py");
    assert_string_equal(opt.program[2], "b");
}

static void names_and_values(void **state)
{
    (void)state;
    static const char *const same[] = {
        "--nproc-per-node 3 s", "--nproc_per_node=3 s", "--nproc 3 s",
        "--nproc_per=3 s",      "--nproc-per_node 3 s", "--nproc 9 --nproc 3 s",
        "--nproc=3 -- s",       "--nproc-per-node=3 s",
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        assert_int_equal(parse(same[i]), 0);
        assert_int_equal(opt.nproc, 3);
        assert_string_equal(opt.program[0], "s");
    }
    static const char *const tees[] = {"-t 3 s",    "-t3 s",  "-t=3 s",
                                       "--tee 3 s", "-mt3 s", "--te 3 s"};
    for (size_t i = 0; i < sizeof tees / sizeof tees[0]; i++) {
        assert_int_equal(parse(tees[i]), 0);
        assert_string_equal(opt.tee, "3");
        assert_int_equal(opt.is_module, i == 4);
    }
    /* an option that is the beginning of another one is itself */
    assert_int_equal(parse("--role x s"), 0);
    assert_string_equal(opt.role, "x");
}

static void options_stop_at_the_script(void **state)
{
    (void)state;
    assert_int_equal(parse("--nproc=2 s.py --nproc-per-node=9 -r=16 --help -- x"), 0);
    assert_int_equal(opt.nproc, 2);
    assert_false(opt.is_help);
    assert_string_equal(opt.program[2], "-r=16");
    assert_int_equal(parse("- x"), 0);
    assert_string_equal(opt.program[0], "-");
    assert_int_equal(parse("-- -s"), 0);
    assert_string_equal(opt.program[0], "-s");
}

static void blanks_and_dashes_in_values(void **state)
{
    (void)state;
    char *args[] = {(char *)(uintptr_t) "--log-line-prefix-template=[${rank}]: ",
                    (char *)(uintptr_t) "--duplicate-stdout-filters",
                    (char *)(uintptr_t) "-a b=c",
                    (char *)(uintptr_t) "-x y",
                    (char *)(uintptr_t) "--tee=3",
                    NULL};
    static const char *const none[] = {NULL};
    assert_int_equal(torchrun_options_parse(args, none, &opt, &err), 0);
    assert_string_equal(opt.torchrun.prefix, "[${rank}]: ");
    assert_string_equal(opt.torchrun.filters[0], "-a b=c");
    assert_string_equal(opt.program[0], "-x y"); /* no option, so the script */
    assert_null(opt.tee);
}

static void bad_lines_say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *line, *text;
    } rows[] = {
        {"", "no script to run"},
        {"--nproc-per-node 2", "no script to run"},
        {"--nproc-per-node", "--nproc-per-node needs a value: N|gpu|cpu|auto"},
        {"--rdzv-id --standalone s", "--rdzv-id needs a value"},
        {"--nproc-per-node unknown s",
         "'unknown' is not a number from 1 to 4096, gpu, cpu or auto"},
        {"--nproc-per-node xpu s", "'xpu' is not"},
        {"--nproc-per-node 0 s", "'0' is not"},
        {"--nproc-per-nodes 2 s", "nearest is --nproc-per-node"},
        {"--rdzv x s",
         "ambiguous: it may be --rdzv-backend, --rdzv-endpoint, --rdzv-id, --rdzv-conf"},
        {"--n x s", "ambiguous: it may be --nnodes, --nproc-per-node, --no-python, "
                    "--node-rank, --numa-binding"},
        {"--duplicate_std=x s", "--duplicate-stdout-filters, --duplicate-stderr-filters"},
        {"-Z s", "-Z: torchrun has no such option"},
        {"-mZ s", "-Z: torchrun has no such option"},
        {"--=3 s", "no such option"},
        {"--standalone=1 s", "--standalone takes no value"},
        {"--nnodes 2:20:30 s", "--nnodes: '2:20:30'"},
        {"--nnodes 0 s", "--nnodes: '0'"},
        {"--nnodes 3:2 s", "MIN <= MAX"},
        {"--nnodes : s", "--nnodes: ':'"},
        {"--rdzv-backend etcd s", "--rdzv-backend: 'etcd' is not static or c10d"},
        {"--rdzv-backend= s", "--rdzv-backend: ''"},
        {"--rdzv-endpoint host s", "the static backend needs a port"},
        {"--rdzv-endpoint host:99999 s", "'99999' in 'host:99999' is not a port"},
        {"--rdzv-conf join_timout=3 s",
         "there is no key 'join_timout'; the nearest is join_timeout"},
        {"--max-restarts -1 s", "--max-restarts: '-1'"},
        {"--monitor-interval 0 s", "--monitor-interval: '0' is not seconds, more than 0"},
        {"--monitor-interval x s", "--monitor-interval: 'x'"},
        {"--monitor-interval nan s", "--monitor-interval: 'nan'"},
        {"--start-method thread s", "spawn, fork or forkserver"},
        {"--event-log-handler dynamic_rendezvous s", "null or console"},
        {"--no-python --module s", "--no-python and --module exclude each other"},
        {"-r 4 s", "--redirects: '4'"},
        {"-t 0:3, s", "--tee: '0:3,'"},
        {"--local-ranks-filter x s", "--local-ranks-filter: 'x'"},
        {"--node-rank -1 s", "--node-rank: '-1'"},
        {"--master-port 0 s", "--master-port: '0' is not a port"},
        {"--master-addr h:1 s", "--master-addr: 'h:1' is not a host name or address alone"},
        {"--logs-specs x s", "--logs-specs: a plug-in in Python"},
        {"--numa-binding far s", "node, socket, exclusive or core-complex"},
        {"--signals-to-handle SIGTERM,SIGTREM s", "'SIGTREM' is no signal"},
        {"--signals-to-handle SIGKILL s", "SIGKILL cannot end a job"},
        {"--signals-to-handle term s", "'term' is no signal"},
        {"--shutdown-timeout -1 s", "--shutdown-timeout: '-1'"},
        {"--shutdown-timeout 1.5 s", "--shutdown-timeout: '1.5' is not whole seconds"},
        {"--exit-barrier-timeout -1 s", "--exit-barrier-timeout"},
        {"--print-completion tcsh", "bash, zsh or fish"},
        {"--standalone --nnodes 2 s", "--standalone is one node"},
        {"--nnodes 2 --rdzv-backend c10d s", "several nodes need --rdzv-endpoint"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (parse(rows[i].line) == 0)
            fail_msg("'%s' is accepted", rows[i].line);
        assert_int_equal(err.code, ERR_USAGE);
        if (!strstr(err.text, rows[i].text))
            fail_msg("'%s': '%s' lacks '%s'", rows[i].line, err.text, rows[i].text);
    }
}

/* Every option's value, as a command line would have it. */
static char *values(void)
{
    struct buf text;
    buf_init(&text, 0);
    for (int id = 0; id < OPTION_ID_COUNT; id++) {
        buf_addf(&text, "%s=", options_name((enum option_id)id));
        options_value_format(&opt, (enum option_id)id, &text);
        buf_addc(&text, '\n');
    }
    return buf_steal(&text);
}

static void accepted_without_effect(void **state)
{
    (void)state;
    assert_int_equal(parse("s"), 0);
    const struct torchrun_extra plain = opt.torchrun;
    const char *master_addr = opt.master_addr;
    char *before = values();
    assert_int_equal(
        parse("--monitor-interval 0.1 --start-method fork --exit-barrier-timeout 9 "
              "--event-log-handler null --master-addr localhost s"),
        0);
    opt.master_addr = master_addr;
    char *after = values();
    assert_string_equal(after, before);
    assert_string_equal(opt.torchrun.prefix, plain.prefix);
    assert_ptr_equal(opt.torchrun.local_ranks, plain.local_ranks);
    assert_ptr_equal(opt.torchrun.filters[0], plain.filters[0]);
    assert_ptr_equal(opt.torchrun.filters[1], plain.filters[1]);
    assert_ptr_equal(opt.torchrun.shell, plain.shell);
    assert_string_equal(opt.program[0], "s");
    free(before);
    free(after);
}

static void what_options_become(void **state)
{
    (void)state;
    assert_int_equal(parse("--nproc auto --max-restarts 2 --numa-binding core-complex "
                           "--virtual-local-rank --shutdown-timeout 7 --event-log-handler "
                           "console --log-dir d -r 0:1 --local-ranks-filter 0,2 s"),
                     0);
    assert_int_equal(opt.nproc, 0);
    assert_int_equal(opt.nproc_source, NPROC_AUTO);
    assert_int_equal(opt.max_restarts, 2);
    assert_string_equal(opt.cpu_bind, "llc");
    assert_int_equal(opt.binding, BINDING_ISOLATED_VIRTUAL);
    assert_int_equal(opt.grace_ms, 7000);
    assert_string_equal(opt.events, "/dev/stderr");
    assert_string_equal(opt.log_dir, "d");
    assert_string_equal(opt.redirects, "0:1");
    assert_string_equal(opt.torchrun.local_ranks, "0,2");
    assert_int_equal(parse("--signals-to-handle SIGTERM,SIGUSR1 --log-line-prefix-template x "
                           "--duplicate-stderr-filters a,b s"),
                     0);
    assert_true(opt.end_signals >> SIGUSR1 & 1);
    assert_false(opt.end_signals >> SIGUSR2 & 1);
    assert_true(opt.end_signals >> SIGQUIT & 1); /* always, as torchrun's default */
    assert_string_equal(opt.torchrun.prefix, "x");
    assert_string_equal(opt.torchrun.filters[1], "a,b");
    assert_null(opt.torchrun.filters[0]);
}

static void how_the_script_is_executed(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum interpreter interpreter;
        bool is_module;
    } rows[] = {
        {"s", INTERPRETER_PYTHON, false},
        {"-m s", INTERPRETER_PYTHON, true},
        {"--no-python s", INTERPRETER_NONE, false},
        {"--run-path s", INTERPRETER_PYTHON, false},
        {"--run-path --no-python s", INTERPRETER_PYTHON, false},
        {"--run-path --no-python -m s", INTERPRETER_PYTHON, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(parse(rows[i].line), 0);
        assert_int_equal(opt.interpreter, rows[i].interpreter);
        assert_int_equal(opt.is_module, rows[i].is_module);
    }
}

static void rendezvous_on_one_node(void **state)
{
    (void)state;
    static const struct {
        const char *line, *id;
        int port;
    } rows[] = {
        {"--rdzv-id x --master-port 7001 s", "x", 7001},
        {"--rdzv-endpoint [::1]:7002 s", "none", 7002},
        {"--rdzv-endpoint host:7002 --master-port 7001 s", "none", 7002},
        {"--rdzv-backend c10d --rdzv-endpoint host:7002 s", "none", 0},
        {"--rdzv-backend c10d --rdzv-endpoint host --master-port 7001 s", "none", 0},
        {"--standalone --rdzv-id x --rdzv-endpoint host:7002 s", NULL, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(parse(rows[i].line), 0);
        assert_int_equal(opt.master_port, rows[i].port);
        if (rows[i].id)
            assert_string_equal(opt.job_id, rows[i].id);
        else
            assert_null(opt.job_id);
    }
    assert_int_equal(parse("--rdzv-backend c10d --rdzv-conf "
                           "join_timeout=5,last_call_timeout=1,keep_alive_interval=2,"
                           "keep_alive_max_attempt=4,is_host=True,timeout=9,read_timeout=60 s"),
                     0);
    assert_int_equal(opt.join_timeout_ms, 5000);
    assert_int_equal(opt.last_call_ms, 1000);
    assert_int_equal(opt.beat_ms, 2000);
    assert_int_equal(opt.beats_missed, 4);
    assert_int_equal(opt.is_host, IS_HOST_YES);
    assert_int_equal(parse("--rdzv-conf timeout=9,join_timeout=5 s"), 0);
    assert_int_equal(opt.join_timeout_ms, 9000);
}

static void the_environment(void **state)
{
    (void)state;
    static const struct {
        const char *line, *variables;
        unsigned nproc, max_restarts, grace_s;
        bool is_module;
    } rows[] = {
        {"s", "PET_NPROC_PER_NODE=4 PET_MAX_RESTARTS=1", 4, 1, 25, false},
        {"--nproc 2 s", "PET_NPROC_PER_NODE=4", 2, 0, 25, false},
        {"s", "PET_NPROC_PER_NODE= PET_MODULE=", 1, 0, 25, false},
        {"s", "PET_NPROC_PER_NODE=4 MUSTER_NPROC_PER_NODE=3", 3, 0, 25, false},
        {"--nproc 2 s", "MUSTER_NPROC_PER_NODE=3", 2, 0, 25, false},
        {"s", "PET_MODULE=1 PET_STANDALONE=0", 1, 0, 25, true},
        {"s", "PET_MODULE=true PET_STANDALONE=no", 1, 0, 25, true},
        {"s", "PET_MODULE=Yes", 1, 0, 25, true},
        {"s", "PET_NO_PYTHON=1 PET_MODULE=0", 1, 0, 25, false},
        {"s", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT=3", 1, 0, 3, false},
        {"s", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT=3 PET_SHUTDOWN_TIMEOUT=4", 1, 0, 4, false},
        {"s", "PET_SHUTDOWN_TIMEOUT=4 MUSTER_GRACE=5", 1, 0, 5, false},
        {"--shutdown-timeout 0 s", "PET_SHUTDOWN_TIMEOUT=4 MUSTER_GRACE=5", 1, 0, 0, false},
        {"s", "PET_START_METHOD=spawn PET_NUMA_BINDING=x PET_LOGS_SPECS=x", 1, 0, 25, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (parse_with(rows[i].line, rows[i].variables) < 0)
            fail_msg("%s, %s: %s", rows[i].line, rows[i].variables, err.text);
        assert_int_equal(opt.nproc, rows[i].nproc);
        assert_int_equal(opt.max_restarts, rows[i].max_restarts);
        assert_int_equal(opt.grace_ms, 1000 * rows[i].grace_s);
        assert_int_equal(opt.is_module, rows[i].is_module);
    }
    assert_int_equal(parse_with("s", "MUSTER_GPUS=0,1 MUSTER_REPORT=r.json"), 0);
    assert_string_equal(opt.gpus, "0,1");
    assert_string_equal(opt.report, "r.json");
    assert_int_equal(parse_with("s", "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE=a"), 0);
    assert_string_equal(opt.torchrun.prefix, "a");
}

static void bad_variables_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *variables, *text;
    } rows[] = {
        {"PET_NO_PYTHON=1 PET_MODULE=1", "--no-python and --module"},
        {"PET_STANDALONE=maybe", "PET_STANDALONE: 'maybe' is not 1 or 0"},
        {"PET_NNODES=x", "PET_NNODES: 'x'"},
        {"PET_LOG_LINE_PREFIX_TEMPLATE=a PET_RDZV_CONF=x",
         "PET_RDZV_CONF: 'x' is not KEY=VALUE"},
        {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT=-1", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT: '-1'"},
        {"MUSTER_GRACE=soon", "MUSTER_GRACE: 'soon'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(parse_with("s", rows[i].variables), -1);
        if (!strstr(err.text, rows[i].text))
            fail_msg("'%s': '%s' lacks '%s'", rows[i].variables, err.text, rows[i].text);
    }
    assert_true(torchrun_options_is_variable("PET_NNODES=2"));
    assert_true(torchrun_options_is_variable("PET_DUPLICATE_STDOUT_FILTERS=x"));
    assert_false(torchrun_options_is_variable("PET_LOGS_SPECS=x"));
    assert_false(torchrun_options_is_variable("PET_NNODE=2"));
}

static void help_and_completions_name_every_option(void **state)
{
    (void)state;
    static const char *const shells[] = {"bash", "zsh", "fish"};
    struct buf help, words;
    buf_init(&help, 0);
    buf_init(&words, 0);
    assert_int_equal(parse("--nnodes x --help"), 0);
    assert_true(opt.is_help);
    command_page_help(command_page(COMMAND_torchrun), &help);
#define X(id, name, ...) assert_non_null(strstr(buf_str(&help), "--" name));
    TORCHRUN_OPTIONS(X)
#undef X
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        char line[40] = "--print-completion ";
        assert_int_equal(parse(strcat(line, shells[i])), 0);
        buf_reset(&words);
        assert_int_equal(completion_render_torchrun(opt.torchrun.shell, &words, &err), 0);
#define X(id, name, ...) assert_non_null(strstr(buf_str(&words), name));
        TORCHRUN_OPTIONS(X)
#undef X
    }
    buf_fini(&help);
    buf_fini(&words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_torchruns),
        cmocka_unit_test(names_and_values),
        cmocka_unit_test(options_stop_at_the_script),
        cmocka_unit_test(blanks_and_dashes_in_values),
        cmocka_unit_test(bad_lines_say_what_is_wrong),
        cmocka_unit_test(accepted_without_effect),
        cmocka_unit_test(what_options_become),
        cmocka_unit_test(how_the_script_is_executed),
        cmocka_unit_test(rendezvous_on_one_node),
        cmocka_unit_test(the_environment),
        cmocka_unit_test(bad_variables_are_named),
        cmocka_unit_test(help_and_completions_name_every_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
