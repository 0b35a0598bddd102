/* muster plan: what `muster run` would do, without doing it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/cmd/cmd.h"
#include "launcher/cmd/engines.h"
#include "launcher/core/engine_start.h"
#include "launcher/core/hosts_plan.h"
#include "launcher/core/plan_render.h"
#include "launcher/core/report.h"
#include "launcher/io/driver_head.h"
#include "launcher/io/facts_gather.h"
#include "launcher/io/hosts_plan_json.h"
#include "launcher/io/plan_json.h"
#include "launcher/io/say.h"
#include "launcher/io/spread.h"

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

static int print_hosts(const struct hosts_view *v, struct err *e)
{
    struct hosts_row *rows = mem_alloc(v->hosts->n, sizeof *rows);
    uint32_t world;
    struct buf text;
    buf_init(&text, 0);
    int rc = hosts_plan_rows(v->hosts, rows, &world, e);
    if (rc == 0 && v->opt->is_json)
        hosts_plan_json(v, rows, world, &text);
    else if (rc == 0)
        hosts_plan_render(v, rows, world, &text);
    fwrite(buf_str(&text), 1, text.len, stdout);
    buf_reset(&text);
    if (rc == 0 && hosts_plan_is_head_outside(v)) {
        hosts_plan_warning(v, &text);
        log_warn("plan", "%s", buf_str(&text));
    }
    buf_fini(&text);
    free(rows);
    return rc;
}

/* Of the hosts of a list: what is known here; none of them is asked. */
static int plan_hosts(const struct options *opt, const struct engine_found *found,
                      char *const *args, const char *host, struct err *e)
{
    struct buf text;
    buf_init(&text, 0);
    struct spread *spread = spread_new(opt, found, args, &text, e);
    if (text.len) /* the whole message, with the place */
        fprintf(stderr, "muster: %s", buf_str(&text));
    int status = spread ? 0 : text.len ? err_exit_status(e->code) : cmd_fail(e);
    buf_fini(&text);
    if (!spread)
        return status;
    const struct host_list *hosts = spread_hosts(spread);
    bool *is_here = mem_alloc(hosts->n, sizeof *is_here);
    for (uint32_t i = 0; i < hosts->n; i++)
        is_here[i] = spread_is_here(spread, i);
    const struct hosts_view view = {.opt = opt,
                                    .hosts = hosts,
                                    .is_here = is_here,
                                    .engine = engine_start_name(found->launch),
                                    .head = host,
                                    .heads = spread_heads(spread),
                                    .forwarded = spread_env(spread)->items,
                                    .nforwarded = spread_env(spread)->n};
    if (print_hosts(&view, e) < 0)
        status = cmd_fail(e);
    free(is_here);
    spread_free(spread);
    return status;
}

static bool is_of_hosts(enum engine_start launch)
{
    return launch == START_SSH || launch == START_SLURM || launch == START_MPI;
}

int cmd_plan(char *const *args)
{
    struct err e;
    struct options opt;
    struct facts facts;
    struct engine_found found;
    if (options_parse_command(OPTIONS_PLAN, args, (const char *const *)environ, &opt, &e) < 0)
        return cmd_fail(&e);
    if (opt.is_help)
        return cmd_help(COMMAND_plan);
    if (!opt.job_id)
        opt.job_id = "(random)"; /* as it stands in the answer */
    if (engines_find(&opt, &found, &e) < 0)
        return cmd_fail(&e);
    bool has_hosts = is_of_hosts(found.launch);
    if (facts_gather(has_hosts ? FACTS_NO_GPUS : facts_gpus_for(&opt), &facts, &e) < 0)
        return cmd_fail(&e);
    facts_gather_topology(opt.cpu_bind, &facts);
    int status =
        has_hosts ? plan_hosts(&opt, &found, args, facts.host, &e) : plan_job(&opt, &facts, &e);
    facts_release(&facts);
    return status;
}
