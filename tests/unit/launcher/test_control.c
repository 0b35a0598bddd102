/* The control socket's words: there and back, what is none; what a request means to a job; and
 * which job a command line means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "driven.h"
#include "launcher/core/job_control.h"
#include "launcher/core/job_metrics.h"
#include "launcher/core/jobs_options.h"
#include "launcher/core/jobs_table.h"

/* ---- form ---- */

static void a_request_there_and_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CONTROL_VERB_COUNT; i++) {
        struct buf text;
        struct err e;
        enum control_verb back;
        buf_init(&text, 0);
        control_request_format((enum control_verb)i, &text);
        assert_int_equal(text.data[text.len - 1], '\n');
        assert_int_equal(
            control_request_parse((struct str){text.data, text.len - 1}, &back, &e), 0);
        assert_int_equal(back, i);
        buf_fini(&text);
    }
}

static void no_request(void **state)
{
    (void)state;
    static const char *const lines[] = {"",
                                        "status",
                                        "muster/1",
                                        "muster/1 ",
                                        "muster/2 status",
                                        "muster/1 Status",
                                        "muster/1 status ",
                                        "muster/1 dance"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct err e;
        enum control_verb verb;
        print_message("%s\n", lines[i]);
        assert_int_equal(control_request_parse(str_from(lines[i]), &verb, &e), -1);
        assert_int_equal(e.code, ERR_PROTOCOL);
    }
}

static const char answer[] = "muster/1 ok\n"
                             "job demo\n"
                             "program train.py --lr 1\n"
                             "state running\n"
                             "pid 12\n"
                             "generation 1\n"
                             "max_restarts 3\n"
                             "nodes 2\n"
                             "uptime_ms 61234\n"
                             "layout rank\n"
                             "log_dir /l/demo/1\n"
                             "metrics http://127.0.0.1:9410/metrics\n"
                             "rank 0 0 0 100 running 1 GPU-1 17 40 n1\n"
                             "at 0 all_reduce (train.py:41)\n"
                             "rank 1 1 0 0 waiting - - - - n2\n"
                             "end\n";

static void an_answer_there_and_back(void **state)
{
    (void)state;
    struct err e;
    struct buf text;
    struct control_status s;
    assert_int_equal(control_status_parse(str_from(answer), &s, &e), 0);
    assert_string_equal(s.job_id, "demo");
    assert_string_equal(s.program, "train.py --lr 1");
    assert_int_equal(s.uptime_ms, 61234);
    assert_int_equal(s.nranks, 2);
    assert_int_equal(control_running(&s), 1);
    assert_string_equal(s.ranks[0].gpu_uuid, "GPU-1");
    assert_true(s.ranks[0].step.is_known && s.ranks[0].step.value == 17);
    assert_string_equal(s.ranks[0].where, "all_reduce (train.py:41)");
    assert_null(s.ranks[1].gpu_uuid);
    assert_false(s.ranks[1].step.is_known);
    buf_init(&text, 0);
    control_status_format(&s, &text);
    assert_string_equal(buf_str(&text), answer);
    buf_fini(&text);
    control_status_fini(&s);
}

static void no_answer(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "muster/1 ok\n",
        "muster/1 ok\nend\n",
        "muster/1 ok\njob a\nprogram b\nstate c\n", /* cut */
        "muster/1 ok\njob a\nprogram b\nstate c\nrank 1 0 0 0 running - - - - n\nend\n",
        "muster/1 ok\njob a\nprogram b\nstate c\nrank 0 0 0 0 dancing - - - - n\nend\n",
        "muster/1 ok\njob a\nprogram b\nstate c\nrank 0 0 0 0 running - - - -\nend\n",
        "muster/1 ok\njob a\nprogram b\nstate c\nat 0 x\nend\n",
        "muster/1 ok\njob a\nprogram b\nstate c\npid x\nend\n",
        "muster/1 ok\njob a\nprogram b\nstate c\nword\nend\n",
        "muster/2 ok\njob a\nprogram b\nstate c\nend\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct err e;
        struct control_status s;
        print_message("%s\n", texts[i]);
        assert_int_equal(control_status_parse(str_from(texts[i]), &s, &e), -1);
        assert_int_equal(e.code, ERR_PROTOCOL);
    }
}

static void a_refusal_comes_in_its_words(void **state)
{
    (void)state;
    struct err e;
    struct buf text;
    struct control_status s;
    buf_init(&text, 0);
    control_refusal_format("not\nnow", &text);
    assert_int_equal(control_status_parse((struct str){text.data, text.len}, &s, &e), -1);
    assert_string_equal(e.text, "not now");
    buf_fini(&text);
}

/* ---- meaning ---- */

static void which_event(void **state)
{
    (void)state;
    struct event ev;
    assert_false(job_control_event(CONTROL_STATUS, &ev));
    assert_true(job_control_event(CONTROL_STOP, &ev));
    assert_int_equal(ev.type, EV_SIGNAL);
    assert_int_equal(ev.u.signal.signo, SIGTERM);
    assert_false(ev.u.signal.is_at_once);
    assert_true(job_control_event(CONTROL_KILL, &ev));
    assert_int_equal(ev.u.signal.signo, SIGTERM);
    assert_true(ev.u.signal.is_at_once);
    assert_true(job_control_event(CONTROL_STACK, &ev));
    assert_int_equal(ev.u.signal.signo, SIGQUIT);
}

static char *const program[] = {(char *)(uintptr_t) "train.py", (char *)(uintptr_t) "a b",
                                NULL};

static void what_a_job_says(void **state)
{
    (void)state;
    const struct options opt = {.grace_ms = 25000,
                                .prefix = "auto",
                                .job_id = "demo",
                                .max_restarts = 2,
                                .log_dir = "/l",
                                .program = program};
    const struct control_facts facts = {.now_ms = 5000, .began_ms = 1000, .pid = 12};
    struct control_status s;
    struct job *job = job_new(&opt, 1, 0);
    job_control_look(job, CONTROL_STATUS, &facts, &s);
    assert_string_equal(s.state, "joining");
    assert_int_equal(s.nranks, 0);
    control_status_fini(&s);
    static const char *const lines[] = {"0 boot addr=127.0.0.1 port=1234",
                                        "0 frame 0 hello 0 host=box slots=4",
                                        "1 frame 0 ready 0",
                                        "1 frame 0 started 0 local_rank=0 pid=100",
                                        "1 frame 0 started 0 local_rank=1 pid=101",
                                        "1 frame 0 started 0 local_rank=2 pid=102",
                                        ("9 frame 0 exited 0 local_rank=2 pid=102 end=exit:0 "
                                         "gpu=- tail=-")};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        driven_step(job, lines[i]);
    job_control_look(job, CONTROL_STATUS, &facts, &s);
    assert_string_equal(s.job_id, "demo");
    assert_string_equal(s.program, "train.py a b");
    assert_string_equal(s.state, "running");
    assert_string_equal(s.log_root, "/l"); /* the head runs no worker itself */
    assert_null(s.log_dir);
    assert_int_equal(s.uptime_ms, 4000);
    assert_int_equal(s.nranks, 4);
    assert_int_equal(control_running(&s), 2);
    assert_int_equal(s.ranks[1].pid, 101);
    assert_string_equal(s.ranks[1].host, "box");
    assert_int_equal(s.ranks[2].state, RANK_DONE);
    assert_int_equal(s.ranks[3].state, RANK_WAITING);
    control_status_fini(&s);
    job_free(job);
}

static void stacks_are_waited_for(void **state)
{
    (void)state;
    const struct options opt = {
        .grace_ms = 25000, .prefix = "auto", .job_id = "demo", .program = program};
    const struct control_facts facts = {0};
    struct control_status s;
    struct job *job = job_new(&opt, 1, 0);
    assert_false(job_control_must_wait(job, CONTROL_STACK));
    driven_step(job, "0 boot addr=127.0.0.1 port=1234");
    driven_step(job, "0 frame 0 hello 0 host=box slots=1");
    job_control_look(job, CONTROL_STACK, &facts, &s); /* nobody runs, nobody was looked at */
    assert_int_equal(s.nranks, 1);
    assert_null(s.ranks[0].where);
    control_status_fini(&s);
    driven_step(job, "1 frame 0 ready 0");
    driven_step(job, "1 frame 0 started 0 local_rank=0 pid=100");
    driven_step(job, "2 signal signo=SIGQUIT");
    assert_true(job_control_must_wait(job, CONTROL_STACK));
    assert_false(job_control_must_wait(job, CONTROL_STATUS));
    driven_step(job, "3 frame 0 stack 0 local_rank=0 where=spin");
    driven_step(job, "3 frame 0 stacked 0 file=/s");
    assert_false(job_control_must_wait(job, CONTROL_STACK));
    job_control_look(job, CONTROL_STACK, &facts, &s);
    assert_string_equal(s.ranks[0].where, "spin");
    assert_string_equal(s.stacks, "/s");
    control_status_fini(&s);
    job_control_look(job, CONTROL_STATUS, &facts, &s);
    assert_null(s.ranks[0].where);
    control_status_fini(&s);
    job_free(job);
}

/* A node is lost and another one awaited in its place: who looks then is told where the ranks
 * ran. */
static void a_look_after_a_node_was_lost(void **state)
{
    (void)state;
    const struct options opt = {.grace_ms = 25000,
                                .prefix = "auto",
                                .job_id = "demo",
                                .program = program,
                                .max_restarts = 1,
                                .nnodes_min = 2,
                                .join_timeout_ms = 60000};
    const struct control_facts facts = {0};
    struct control_status s;
    struct job_metrics metrics;
    struct job *job = job_new(&opt, 2, 0);
    driven_step(job, "0 boot addr=127.0.0.1 port=1234");
    driven_step(job, "0 frame 0 hello 0 host=one slots=1");
    driven_step(job, "0 frame 1 hello 0 host=two slots=1");
    driven_step(job, "1 frame 0 ready 0");
    driven_step(job, "1 frame 1 ready 0");
    driven_step(job, "1 frame 0 started 0 local_rank=0 pid=100");
    driven_step(job, "1 frame 1 started 0 local_rank=0 pid=100");
    driven_step(job, "2 node_lost node=1 err=NODE_LOST:gone");
    driven_step(job, "3 frame 0 exited 0 local_rank=0 end=signal:15");
    driven_step(job, "3 frame 0 reaped 0");
    job_control_look(job, CONTROL_STATUS, &facts, &s);
    assert_string_equal(s.state, "joining");
    assert_int_equal(s.nranks, 2);
    assert_string_equal(s.ranks[0].host, "one");
    assert_string_equal(s.ranks[1].host, "two");
    control_status_fini(&s);
    job_metrics_look(job, 4, &metrics);
    assert_int_equal(metrics.nnodes, 2);
    assert_string_equal(metrics.nodes[0].host, "one");
    assert_null(metrics.nodes[1].host);
    job_metrics_fini(&metrics);
    job_free(job);
}

/* ---- which job ---- */

static void add(struct job_list *list, const char *id, uint32_t pid, uint64_t uptime_ms)
{
    struct job_row row = {.path = mem_printf("/s/%s.%u", id, (unsigned)pid)};
    row.status = (struct control_status){.job_id = mem_strdup(id),
                                         .program = mem_strdup("train.py"),
                                         .state = mem_strdup("running"),
                                         .pid = pid,
                                         .nnodes = 1,
                                         .uptime_ms = uptime_ms};
    job_list_add(list, &row);
}

static void the_job_that_is_meant(void **state)
{
    (void)state;
    struct err e;
    struct job_list list = {0};
    assert_null(job_list_pick(&list, NULL, &e));
    assert_string_equal(e.text, "no job of yours runs on this host");
    add(&list, "b", 7, 1000);
    assert_int_equal(job_list_pick(&list, NULL, &e)->status.pid, 7);
    assert_null(job_list_pick(&list, "c", &e));
    assert_int_equal(e.code, ERR_USAGE);
    assert_string_equal(e.text, "no job 'c' runs; there is b (pid 7)");
    add(&list, "a", 9, 2000);
    job_list_sort(&list);
    assert_string_equal(list.rows[0].status.job_id, "a"); /* the older one */
    assert_null(job_list_pick(&list, NULL, &e));
    assert_string_equal(e.text, "2 jobs run; name one by its id or pid: a (pid 9), b (pid 7)");
    assert_int_equal(job_list_pick(&list, "7", &e)->status.pid, 7);
    assert_int_equal(job_list_pick(&list, "a", &e)->status.pid, 9);
    add(&list, "a", 10, 3000);
    assert_null(job_list_pick(&list, "a", &e));
    assert_non_null(strstr(e.text, "2 jobs run under the id a;"));
    job_list_fini(&list);
}

static void the_table(void **state)
{
    (void)state;
    struct buf text;
    struct job_list list = {0};
    struct job_row silent = {.path = mem_strdup("/s/x.3"), .why = mem_strdup("suspended?")};
    silent.status.job_id = mem_strdup("x");
    silent.status.pid = 3;
    job_list_add(&list, &silent);
    add(&list, "demo", 12345, 3 * 3600 * 1000 + 125000);
    job_list_sort(&list);
    buf_init(&text, 0);
    jobs_table_format(&list, 0, &text);
    assert_string_equal(
        buf_str(&text),
        "JOB   PID    STATE    NODES  RANKS  GENERATION  UPTIME     PROGRAM\n"
        "demo  12345  running  1      0/0    0           3 h 2 min  train.py\n"
        "x     3      silent   -      -      -           -          suspended?\n");
    buf_reset(&text);
    jobs_table_format(&list, 10, &text);
    assert_string_equal(buf_str(&text), "JOB   PID \ndemo  1234\nx     3   \n");
    buf_fini(&text);
    job_list_fini(&list);
}

/* ---- command lines ---- */

static int parse(enum jobs_command command, struct jobs_options *opt, struct err *e,
                 const char *a, const char *b)
{
    char *const args[] = {(char *)(uintptr_t)a, (char *)(uintptr_t)b, NULL};
    return jobs_options_parse(command, args, opt, e);
}

static void command_lines(void **state)
{
    (void)state;
    struct err e;
    struct jobs_options opt;
    assert_int_equal(parse(JOBS_LOGS, &opt, &e, "-f", "demo"), 0);
    assert_true(opt.is_followed);
    assert_string_equal(opt.job, "demo");
    assert_int_equal(parse(JOBS_LOGS, &opt, &e, "--rank", "0,2-3"), 0);
    assert_string_equal(opt.ranks, "0,2-3");
    assert_int_equal(parse(JOBS_LOGS, &opt, &e, "--rank=1", NULL), 0);
    assert_int_equal(parse(JOBS_STOP, &opt, &e, "--kill", NULL), 0);
    assert_true(opt.is_kill);
    static const struct {
        enum jobs_command command;
        const char *a, *b, *text;
    } rows[] = {
        {JOBS_LOGS, "--rank", NULL, "--rank needs a value: LIST"},
        {JOBS_LOGS, "--rank", "x", "--rank: 'x' is no list of ranks, as in 0,4-7"},
        {JOBS_STOP, "--kil", NULL,
         "--kil: no such option; the nearest is --kill (see muster stop --help)"},
        {JOBS_STOP, "a", "b", "'b': muster stop takes one job, and 'a' is one"},
        {JOBS_PS, "a", NULL, "'a': muster ps takes options only; it lists all"},
        {JOBS_PS, "--json=1", NULL, "--json takes no value"},
        {JOBS_PS, "--kill", NULL,
         "--kill: no such option; the nearest is --help (see muster ps --help)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(parse(rows[i].command, &opt, &e, rows[i].a, rows[i].b), -1);
        assert_int_equal(e.code, ERR_USAGE);
        assert_string_equal(e.text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_there_and_back),
        cmocka_unit_test(no_request),
        cmocka_unit_test(an_answer_there_and_back),
        cmocka_unit_test(no_answer),
        cmocka_unit_test(a_refusal_comes_in_its_words),
        cmocka_unit_test(which_event),
        cmocka_unit_test(what_a_job_says),
        cmocka_unit_test(stacks_are_waited_for),
        cmocka_unit_test(a_look_after_a_node_was_lost),
        cmocka_unit_test(the_job_that_is_meant),
        cmocka_unit_test(the_table),
        cmocka_unit_test(command_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
