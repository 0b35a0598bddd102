/* muster run: forms a group of workers and stays with it to the end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "launcher/cmd/cmd.h"
#include "launcher/core/node_plan.h"
#include "launcher/core/report.h"
#include "launcher/io/driver_head.h"
#include "launcher/io/facts_gather.h"
#include "launcher/io/say.h"

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

static int run_job(const struct options *opt, const struct facts *facts)
{
    struct err e;
    struct job *job = job_new(opt, 1, 0);
    if (driver_head_run(job, opt, facts, &e) < 0) {
        job_free(job);
        return cmd_fail(&e);
    }
    struct buf report;
    buf_init(&report, 0);
    report_format(job, opt, &report);
    say(buf_str(&report), report.len, SAY_REPORT_MS);
    buf_fini(&report);
    int status = verdict_exit_status(job_verdict(job));
    job_free(job);
    return status;
}

int cmd_run(char *const *args)
{
    struct err e;
    struct options opt;
    struct facts facts;
    char id[16];
    if (options_parse(args, (const char *const *)environ, &opt, &e) < 0)
        return cmd_fail(&e);
    if (opt.is_help)
        return cmd_help(OPTIONS_RUN);
    log_set_level(opt.is_verbose ? LOG_DEBUG : LOG_INFO);
    if (!opt.job_id) {
        if (random_id(id, sizeof id, &e) < 0)
            return cmd_fail(&e);
        opt.job_id = id;
    }
    if (facts_gather(node_plan_needs_gpus(&opt), &facts, &e) < 0)
        return cmd_fail(&e);
    facts_gather_topology(opt.cpu_bind, &facts);
    int status = run_job(&opt, &facts);
    facts_release(&facts);
    return status;
}
