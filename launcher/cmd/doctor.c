/* muster doctor: what would go wrong on these hosts, before a job finds out. */
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "launcher/cmd/cmd.h"
#include "launcher/cmd/preflight.h"
#include "launcher/core/doctor_judge.h"
#include "launcher/io/doctor_look.h"
#include "launcher/io/evidence_reach.h"

static void print(const struct buf *text)
{
    fwrite(buf_str(text), 1, text->len, stdout);
    fflush(stdout);
}

static int show_evidence(struct options *opt)
{
    struct host_evidence ev;
    struct err e;
    struct buf text;
    if (opt->evidence == EVIDENCE_REACHED)
        return evidence_reach_serve(opt, stdin, stdout, &e) < 0 ? cmd_fail(&e) : 0;
    if (doctor_look_here(opt, true, &ev, &e) < 0)
        return cmd_fail(&e);
    buf_init(&text, 0);
    evidence_format(&ev, &text);
    print(&text);
    buf_fini(&text);
    evidence_clear(&ev);
    return 0;
}

/* What was changed for a test is said before all else. */
static void begin(bool is_json, struct buf *out)
{
    struct buf variables;
    buf_init(&variables, 0);
    doctor_test_variables(&variables);
    if (variables.len && is_json)
        log_warn("doctor", "test variables: %s", buf_str(&variables));
    else if (variables.len)
        buf_addf(out, "test variables: %s\n", buf_str(&variables));
    buf_fini(&variables);
}

int cmd_doctor(char *const *args)
{
    struct err e;
    struct options opt;
    struct preflight found;
    struct buf text;
    if (options_parse_command(OPTIONS_DOCTOR, args, (const char *const *)environ, &opt, &e) < 0)
        return cmd_fail(&e);
    if (opt.is_help)
        return cmd_help(COMMAND_doctor);
    log_set_level(opt.is_verbose ? LOG_DEBUG : LOG_INFO);
    if (opt.evidence != EVIDENCE_NOT_SHOWN)
        return show_evidence(&opt);
    if (preflight_look(&opt, PREFLIGHT_ALL, &found, &e) < 0)
        return cmd_fail(&e);
    buf_init(&text, 0);
    begin(opt.is_json, &text);
    int status = preflight_status(&found);
    if (opt.is_json)
        doctor_json(&found.findings, found.hosts, found.set.n, found.nlost, status, &text);
    else
        doctor_format(&found.findings, found.set.n, opt.is_verbose, &text);
    print(&text);
    buf_fini(&text);
    preflight_fini(&found);
    return status;
}
