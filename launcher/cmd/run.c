/* muster run: forms a group of workers and stays with it to the end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/out_file.h"
#include "launcher/cmd/cmd.h"
#include "launcher/cmd/engines.h"
#include "launcher/cmd/meet.h"
#include "launcher/cmd/outcome.h"
#include "launcher/cmd/preflight.h"
#include "launcher/core/junit.h"
#include "launcher/core/node_plan.h"
#include "launcher/core/report.h"
#include "launcher/io/descriptors.h"
#include "launcher/io/driver_head.h"
#include "launcher/io/facts_gather.h"
#include "launcher/io/report_json.h"
#include "launcher/io/say.h"
#include "launcher/io/spread.h"

/* A job id that no other job on this machine has. */
static int random_id(char *id, size_t size, struct err *e)
{
    unsigned char bytes[6];
    if (getrandom(bytes, sizeof bytes, 0) < 0)
        return err_sys(e, errno, "getrandom");
    snprintf(id, size, "%02x%02x%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3],
             bytes[4], bytes[5]);
    return 0;
}

static int64_t unix_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int write_junit(const struct report_end *end, struct err *e)
{
    struct buf text;
    buf_init(&text, 0);
    junit_format(end->job, end->err, end->opt, end->duration_ms, &text);
    int rc = out_file_write(end->opt->junit, buf_str(&text), text.len, e);
    buf_fini(&text);
    return rc;
}

/* A report that cannot be written does not change how the job ended. */
static void write_reports(const struct report_end *end)
{
    struct err e;
    if (end->opt->report && report_json_write(end, &e) < 0)
        log_warn("report", "%s", e.text);
    if (end->opt->junit && write_junit(end, &e) < 0)
        log_warn("junit", "%s", e.text);
}

static int check_reports(const struct options *opt, struct err *e)
{
    if (opt->report && report_file_check("--report", opt->report, e) < 0)
        return -1;
    return opt->junit ? report_file_check("--junit", opt->junit, e) : 0;
}

int cmd_fail_early(const struct options *opt, const struct err *e)
{
    const struct report_end end = {
        .opt = opt, .err = e, .started_unix_ms = unix_ms(), .status = err_exit_status(e->code)};
    write_reports(&end);
    return cmd_fail(e);
}

/* -1: nothing was started. */
static int run_job(const struct options *opt, const struct facts *facts,
                   const struct head_net *net, struct outcome *out, struct err *e)
{
    struct job *job = job_new(opt, net ? net->nnodes : 1, net ? opt->beat_ms : 0);
    struct report_end end = {.opt = opt, .job = job, .started_unix_ms = unix_ms()};
    const struct head_sink sink = {.ctx = out->ctx, .on_done = out->on_done};
    uint64_t begin_ms = now_ms();
    if (driver_head_run(job, opt, facts, net, &sink, e) < 0) {
        job_free(job);
        return -1;
    }
    struct buf report;
    buf_init(&report, 0);
    report_format(job, opt, &report);
    say(buf_str(&report), report.len, SAY_REPORT_MS);
    buf_fini(&report);
    end.status = verdict_exit_status(job_verdict(job));
    end.duration_ms = now_ms() - begin_ms;
    write_reports(&end);
    job_free(job);
    out->status = end.status;
    return 0;
}

static void say_lines(const struct buf *text)
{
    say("muster: ", 8, SAY_LINE_MS);
    say(text->data, text->len, SAY_LINE_MS);
}

/* On the hosts of a list. */
static int spread_out(struct options *opt, const struct engine_found *found,
                      const struct facts *facts, char *const *args, struct outcome *out,
                      struct err *e)
{
    struct buf text;
    buf_init(&text, 0);
    struct spread *spread = spread_new(opt, found, args, &text, e);
    if (text.len) { /* the whole message, with the place */
        say_lines(&text);
        out->status = err_exit_status(e->code);
    }
    int rc = spread || text.len ? 0 : -1;
    buf_fini(&text);
    if (!spread)
        return rc;
    opt->nnodes_min = spread_nodes(spread); /* the job begins with all of them */
    const struct head_net net = {.listen = "",
                                 .reach = spread_reach(spread),
                                 .key = spread_key(spread),
                                 .nnodes = spread_nodes(spread),
                                 .port = opt->master_port,
                                 .spread = spread};
    rc = spread_check_files(spread, descriptors_limit(), e);
    if (rc == 0)
        rc = run_job(opt, facts, &net, out, e);
    spread_free(spread);
    return rc;
}

static int run_where(struct options *opt, const struct engine_found *found,
                     const struct facts *facts, char *const *args, struct outcome *out,
                     struct err *e)
{
    switch (found->launch) {
    case START_SSH:
    case START_SLURM:
    case START_MPI:
        return spread_out(opt, found, facts, args, out, e);
    case START_MANUAL:
        return meet(opt, facts, run_job, out, e);
    case START_LOCAL:
        return run_job(opt, facts, NULL, out, e);
    case START_AUTO:
    case START_COUNT:
        break;
    }
    return err_set(e, ERR_INTERNAL, "nobody knows how to start this job");
}

/* The hosts are looked at before anything is started. */
static int judge_first(const struct options *opt, struct err *e)
{
    struct preflight found;
    struct buf text;
    if (preflight_look(opt, PREFLIGHT_HOST, &found, e) < 0)
        return -1;
    size_t nerrors = finding_list_count(&found.findings, FINDING_ERROR);
    buf_init(&text, 0);
    if (nerrors || finding_list_count(&found.findings, FINDING_WARNING) || opt->is_verbose)
        doctor_format(&found.findings, found.set.n, opt->is_verbose, &text);
    say(buf_str(&text), text.len, SAY_REPORT_MS);
    buf_fini(&text);
    int rc = 0;
    if (nerrors)
        rc = err_set(e, ERR_PREFLIGHT, "--preflight: %zu error%s, nothing was started", nerrors,
                     nerrors == 1 ? "" : "s");
    else if (found.nlost)
        rc = err_set(e, ERR_UNAVAILABLE,
                     "--preflight: %zu host%s could not be looked at, nothing was started",
                     found.nlost, found.nlost == 1 ? "" : "s");
    preflight_fini(&found);
    return rc;
}

/* The job has its name. */
static int run_named(struct options *opt, char *const *args, struct outcome *out, struct err *e)
{
    struct engine_found found;
    struct facts facts;
    if (engines_find(opt, &found, e) < 0 || (opt->is_preflight && judge_first(opt, e) < 0)
        || facts_gather(facts_gpus_for(opt), &facts, e) < 0)
        return -1;
    facts_gather_topology(opt->cpu_bind, &facts);
    int rc = run_where(opt, &found, &facts, args, out, e);
    facts_release(&facts);
    return rc;
}

void cmd_run_outcome(struct options *opt, char *const *args, struct outcome *out)
{
    struct err *e = &out->err;
    char id[16];
    const char *given = opt->job_id;
    log_set_level(opt->is_verbose ? LOG_DEBUG : LOG_INFO);
    if (check_reports(opt, e) < 0) {
        out->status = cmd_fail(e);
        return;
    }
    if (!given && random_id(id, sizeof id, e) < 0) {
        out->status = cmd_fail_early(opt, e);
        return;
    }
    if (!given)
        opt->job_id = options_has_endpoint(opt) ? "none" : id; /* torchrun's word */
    if (run_named(opt, args, out, e) < 0)
        out->status = cmd_fail_early(opt, e);
    opt->job_id = given;
}

int cmd_run_job(struct options *opt, char *const *args)
{
    struct outcome out = {0};
    cmd_run_outcome(opt, args, &out);
    return out.status;
}

int cmd_run(char *const *args)
{
    struct err e;
    struct options opt;
    if (options_parse(args, (const char *const *)environ, &opt, &e) < 0)
        return cmd_fail_early(&opt, &e);
    return opt.is_help ? cmd_help(COMMAND_run) : cmd_run_job(&opt, args);
}
