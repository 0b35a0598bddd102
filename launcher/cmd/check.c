/* muster check: does this group of GPUs work, how fast, against what it should be? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/cmd/cmd.h"
#include "launcher/cmd/outcome.h"
#include "launcher/cmd/preflight.h"
#include "launcher/core/bisect.h"
#include "launcher/core/check_end.h"
#include "launcher/core/check_judge.h"
#include "launcher/core/check_options.h"
#include "launcher/core/check_table.h"
#include "launcher/core/node_plan.h"
#include "launcher/io/capture.h"
#include "launcher/io/check_files.h"
#include "launcher/io/check_json.h"
#include "launcher/io/check_store.h"
#include "launcher/io/facts_gather.h"
#include "launcher/io/probe_links.h"
#include "launcher/io/spawn.h"

struct check {
    struct check_options opt;
    struct facts facts;
    struct check_result result;
    struct buf json; /* what the worker left */
    struct buf end;  /* what ended the job, one line; empty = it went well */
    int status;      /* of the job */
    bool has_gpus;   /* here; then, on any of the hosts */
};

static double wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- before the job ---- */

/* The worker judges its own words, once, before N of it would. A worker that is only on other
 * hosts judges them there. */
static int check_worker(const struct check *c, struct err *e)
{
    enum { DEADLINE_MS = 30000, ANSWER_MAX = 1 << 16 };
    static const char speaker[] = "muster-worker: ";
    char *path = spawn_find(c->opt.worker, &c->facts, e);
    if (!path)
        return options_has_hosts(&c->opt.launch) ? 0 : -1;
    struct check_words argv = {0};
    struct buf answer;
    struct capture_end end;
    check_words_add(&argv, c->opt.worker);
    for (size_t i = 0; i < c->opt.test.n; i++)
        check_words_add(&argv, c->opt.test.items[i]);
    check_words_add(&argv, "--version");
    buf_init(&answer, ANSWER_MAX);
    int rc = capture(path, argv.items, environ, DEADLINE_MS, &answer, &end, e);
    if (rc == 0 && end.left)
        rc = capture_late(&end, path, DEADLINE_MS, e);
    else if (rc == 0 && !end.is_complete)
        rc = err_set(e, ERR_UNAVAILABLE,
                     "%s --version did not end within %d s, or said more than %d KiB: is it "
                     "muster-worker?",
                     path, DEADLINE_MS / 1000, ANSWER_MAX / 1024);
    if (rc == 0 && WIFEXITED(end.status)
        && WEXITSTATUS(end.status) == err_exit_status(ERR_USAGE)) {
        const char *text = buf_str(&answer);
        text += str_starts(str_from(text), speaker) ? sizeof speaker - 1 : 0;
        rc = err_set(e, ERR_USAGE, "%.*s", (int)strcspn(text, "\n"), text);
    }
    buf_fini(&answer);
    free(argv.items);
    free(path);
    return rc;
}

/* As muster doctor looks, with the rules that check was told of. -1: nothing was judged. */
static int look_first(struct check *c, struct err *e)
{
    struct options *opt = &c->opt.launch;
    struct preflight found;
    opt->only = c->opt.only;
    opt->skip = c->opt.skip;
    opt->is_strict = c->opt.is_strict;
    if (preflight_look(opt, PREFLIGHT_ALL, &found, e) < 0)
        return -1;
    c->status = preflight_status(&found);
    for (size_t i = 0; i < found.set.n; i++)
        c->has_gpus |=
            found.set.hosts[i].gpus.n && evidence_is(&found.set.hosts[i].asks_gpus, 1);
    if (found.nlost)
        buf_addf(&c->end, "%zu of %zu hosts did not answer: nothing was started", found.nlost,
                 found.nlost + found.set.n);
    c->result.preflight = found.findings;
    found.findings = (struct finding_list){0};
    preflight_fini(&found);
    return 0;
}

static void preflight(struct check *c)
{
    struct err e;
    if (look_first(c, &e) == 0)
        return;
    c->status = cmd_fail(&e);
    buf_adds(&c->end, e.text);
}

static void say_first_line(const struct check *c)
{
    const char *wanted = c->opt.backend;
    if (wanted && strcmp(wanted, "host") == 0)
        log_info("check", "host backend, as asked for: no GPU is tested");
    else if (!c->has_gpus && c->opt.launch.nproc && !options_has_hosts(&c->opt.launch))
        log_info("check",
                 "no GPU here: without one muster-worker tests on its host backend, in memory");
    const char *library = getenv("MUSTER_NVML_PATH");
    if (library && *library)
        log_info("check", "MUSTER_NVML_PATH=%s", library);
}

/* ---- the job ---- */

static void on_done(void *ctx, const struct job *job, const struct port *port)
{
    struct check *c = ctx;
    struct err e;
    uint32_t n;
    const struct job_rank *ranks = job_ranks(job, &n);
    bool has_left = check_store_result(port, &c->json);
    if (has_left && check_json_read(c->json.data, c->json.len, &c->result, &e) < 0) {
        check_text_add(&c->result.errors, e.text);
        buf_reset(&c->json);
    }
    if (!c->result.nranks) {
        check_result_set_ranks(&c->result, n);
        c->result.world_size = n;
        for (uint32_t i = 0; i < n; i++) {
            c->result.ranks[i].host = mem_strdup(ranks[i].host);
            c->result.ranks[i].pid = ranks[i].pid;
            c->result.ranks[i].local_rank = ranks[i].local_rank;
            if (ranks[i].node >= c->result.nodes)
                c->result.nodes = ranks[i].node + 1;
        }
    }
    if (!c->result.job_id)
        c->result.job_id = mem_strdup(c->opt.launch.job_id);
    check_store_trace(port, &c->result);
    check_end_line(job, &c->opt.launch, &c->result, &c->end);
    check_end_evidence(job, &c->result);
}

static void run(struct check *c)
{
    struct outcome out = {.ctx = c, .on_done = on_done};
    cmd_run_outcome(&c->opt.launch, c->opt.args.items, &out);
    c->status = out.status;
    if (out.err.code != ERR_OK)
        buf_adds(&c->end, out.err.text);
}

/* ---- after a failure ---- */

static bool has_used_gpus(const struct check_result *r)
{
    for (size_t i = 0; i < r->nranks; i++)
        if (r->ranks[i].device >= 0)
            return true;
    return false;
}

/* The same job with one more variable, on all hosts. A worker that no longer finds the GPUs of
 * the first one does not pass on its host backend. */
static int run_arm(const struct check *c, const char *setting)
{
    struct check_words args = {0};
    struct options opt;
    struct outcome out = {0};
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(setting, "="), setting);
    char *before = mem_strdup(getenv(name));
    if (options_has_hosts(&c->opt.launch)) {
        check_words_add(&args, "--forward");
        check_words_add(&args, setting);
    }
    for (size_t i = 0; i < c->opt.args.n; i++)
        check_words_add(&args, c->opt.args.items[i]);
    if (has_used_gpus(&c->result)) {
        check_words_add(&args, "--backend");
        check_words_add(&args, "nccl");
    }
    setenv(name, strchr(setting, '=') + 1, 1);
    if (options_parse(args.items, (const char *const *)environ, &opt, &out.err) < 0)
        out.status = cmd_fail(&out.err);
    else
        cmd_run_outcome(&opt, args.items, &out);
    if (before)
        setenv(name, before, 1);
    else
        unsetenv(name);
    free(before);
    free(args.items);
    return out.status;
}

static void bisect(struct check *c)
{
    struct bisect b;
    const char *setting;
    bisect_init(&b);
    while ((setting = bisect_next(&b))) {
        log_info("check", "bisect: once more with %s", setting);
        bisect_ended(&b, run_arm(c, setting));
    }
    struct buf text;
    buf_init(&text, 0);
    bisect_format(&b, &text);
    check_text_add(&c->result.notes, buf_str(&text));
    buf_fini(&text);
}

/* ---- what it means ---- */

static void expect_here(struct check *c, const struct expect_facts *all,
                        struct expectation *expected)
{
    const struct check_result *r = &c->result;
    struct expect_facts chosen;
    struct buf why;
    const char **pci = mem_alloc(r->nranks, sizeof *pci);
    for (size_t i = 0; i < r->nranks; i++)
        pci[i] = r->ranks[i].pci;
    buf_init(&why, 0);
    if (expect_facts_pick(all, pci, r->nranks, &chosen)) {
        *expected = expect_node(&chosen, &why);
        expect_facts_fini(&chosen);
    } else {
        buf_adds(&why, "NVML knows none of the GPUs of some ranks");
    }
    c->result.expected_gbs = expected->gbs;
    c->result.expected_why = buf_steal(&why);
    free(pci);
}

/* Of GPUs in this machine alone; what a network should give is not modelled. */
static struct expectation expect(struct check *c)
{
    struct expectation expected = {0};
    struct expect_facts all;
    struct err e;
    const char *library = getenv("MUSTER_NVML_PATH");
    const struct check_result *r = &c->result;
    if (!r->is_tested || !r->nranks || !r->backend || strcmp(r->backend, "nccl") != 0
        || !c->facts.inventory)
        return expected;
    if (r->nodes > 1) {
        c->result.expected_why = mem_strdup("not known for several hosts");
    } else if (probe_links(library && *library ? library : NULL, "/proc/cpuinfo",
                           c->facts.inventory, &all, &e)
               < 0) {
        c->result.expected_why = mem_strdup(e.text);
    } else {
        expect_here(c, &all, &expected);
        expect_facts_fini(&all);
    }
    return expected;
}

static void judge(struct check *c)
{
    const struct check_limits limits = {
        .min_busbw = c->opt.min_busbw,
        .warn_below = c->opt.warn_below,
        .fail_below = c->opt.fail_below,
        .expected = expect(c),
        .has_gpus = c->has_gpus,
        .is_host_wanted = c->opt.backend && strcmp(c->opt.backend, "host") == 0,
    };
    const struct check_end end = {.status = c->status,
                                  .text = c->end.len ? buf_str(&c->end) : NULL};
    check_judge(&c->result, &limits, &end);
}

/* What is refused before anything started has been said, in its one line. */
static void show(const struct check *c)
{
    struct buf text;
    buf_init(&text, 0);
    if (check_files_use_stdout(&c->opt)) {
        check_table_verdict(&c->result, &text);
        log_info("check", "%.*s", (int)text.len - 1, text.data);
    } else if (c->status != err_exit_status(ERR_USAGE) || c->result.nranks) {
        if (c->opt.format == CHECK_FORMAT_NCCL_TESTS)
            check_nccl_tests(&c->result, &text);
        else
            check_table(&c->result, &text);
        fwrite(text.data, 1, text.len, stdout);
    }
    buf_fini(&text);
}

static int check_all(struct check *c)
{
    uint64_t begin_ms = now_ms();
    double started_s = wall_s();
    say_first_line(c);
    preflight(c);
    if (!c->status)
        run(c);
    if (c->opt.is_bisect && bisect_is_for(c->status))
        bisect(c);
    c->result.started_s = started_s;
    c->result.duration_s = (double)(now_ms() - begin_ms) / 1000;
    judge(c);
    show(c);
    int unwritten = check_files_write(&c->opt, &c->result, &c->json);
    return c->result.status ? c->result.status : unwritten;
}

int cmd_check(char *const *args)
{
    struct err e;
    struct check c = {0};
    int status;
    if (check_options_parse(args, (const char *const *)environ, &c.opt, &e) < 0) {
        check_options_fini(&c.opt);
        return cmd_fail(&e);
    }
    if (c.opt.is_help) {
        check_options_fini(&c.opt);
        return cmd_help(COMMAND_check);
    }
    log_set_level(c.opt.launch.is_verbose ? LOG_DEBUG : LOG_INFO);
    check_result_init(&c.result);
    c.result.is_verbose = c.opt.launch.is_verbose;
    buf_init(&c.json, 0);
    buf_init(&c.end, 0);
    if (check_files_check(&c.opt, &e) < 0
        || facts_gather(facts_gpus_for(&c.opt.launch), &c.facts, &e) < 0) {
        status = cmd_fail(&e);
    } else {
        c.result.has_colour = c.facts.is_stdout_tty && facts_allow_colour(&c.facts);
        c.has_gpus = c.facts.inventory && c.facts.inventory->ndevices > 0;
        status = check_worker(&c, &e) < 0 ? cmd_fail(&e) : check_all(&c);
    }
    facts_release(&c.facts);
    buf_fini(&c.end);
    buf_fini(&c.json);
    check_result_fini(&c.result);
    check_options_fini(&c.opt);
    return status;
}
