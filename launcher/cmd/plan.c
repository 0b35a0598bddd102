/* muster plan: what `muster run` would do, without doing it. */
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "launcher/cmd/cmd.h"
#include "launcher/core/plan_render.h"
#include "launcher/core/report.h"
#include "launcher/io/driver_head.h"
#include "launcher/io/facts_gather.h"
#include "launcher/io/plan_json.h"
#include "launcher/io/say.h"

struct answer {
    const struct options *opt;
    const struct facts *facts;
    struct buf text;
};

static void on_plan(void *ctx, const struct node_plan *plan, const char *program)
{
    struct answer *a = ctx;
    const struct plan_view view = {a->opt, a->facts, plan, program};
    if (a->opt->is_json)
        plan_json(&view, &a->text);
    else
        plan_render(&view, &a->text);
}

/* The job ends when its node is ready; a refusal is reported as run reports it. */
static int plan_job(const struct options *opt, const struct facts *facts, struct err *e)
{
    struct answer answer = {opt, facts, {0}};
    buf_init(&answer.text, 0);
    const struct head_sink sink = {&answer, on_plan, NULL};
    struct job *job = job_new(opt, 1, 0);
    int status;
    if (driver_head_run(job, opt, facts, NULL, &sink, e) < 0) {
        status = cmd_fail(e);
    } else {
        struct buf report;
        buf_init(&report, 0);
        report_format(job, opt, &report);
        say(buf_str(&report), report.len, SAY_REPORT_MS);
        buf_fini(&report);
        status = verdict_exit_status(job_verdict(job));
    }
    fwrite(buf_str(&answer.text), 1, answer.text.len, stdout);
    buf_fini(&answer.text);
    job_free(job);
    return status;
}

int cmd_plan(char *const *args)
{
    struct err e;
    struct options opt;
    struct facts facts;
    if (options_parse_command(OPTIONS_PLAN, args, (const char *const *)environ, &opt, &e) < 0)
        return cmd_fail(&e);
    if (opt.is_help)
        return cmd_help(OPTIONS_PLAN);
    if (!opt.job_id)
        opt.job_id = "(random)"; /* as it stands in the answer */
    if (facts_gather(node_plan_needs_gpus(&opt), &facts, &e) < 0)
        return cmd_fail(&e);
    facts_gather_topology(opt.cpu_bind, &facts);
    int status = plan_job(&opt, &facts, &e);
    facts_release(&facts);
    return status;
}
