#include "launcher/core/option_checks.h"

#include "launcher/core/engine_detect.h"

static int check_logs(const struct options *opt, struct err *e)
{
    const char *name = opt->redirects ? "redirects" : opt->tee ? "tee" : "log-size";
    if (opt->log_dir || (!opt->tee && !opt->redirects && !opt->log_size))
        return 0;
    return err_set(e, ERR_USAGE, "--%s needs a folder for the files: --log-dir DIR", name);
}

/* Muster starts the nodes itself, or others start them one by one. */
static int check_hosts(const struct options *opt, struct err *e)
{
    const char *only = opt->include ? "include" : opt->exclude ? "exclude" : NULL;
    if (opt->hostfile && opt->hosts)
        return err_set(e, ERR_USAGE,
                       "--hosts and --hostfile name the hosts; one of them is enough");
    if (only && !options_has_hosts(opt))
        return err_set(e, ERR_USAGE, "--%s chooses from a list of hosts: --hosts or --hostfile",
                       only);
    if (options_has_hosts(opt) && opt->rdzv_endpoint)
        return err_set(e, ERR_USAGE,
                       "--rdzv-endpoint is for nodes that are started one by one; those of "
                       "--%s muster starts itself",
                       opt->hosts ? "hosts" : "hostfile");
    return 0;
}

/* An allocation of Slurm's has nodes, too: see engine_choose. */
static bool has_allocation(const struct options *opt, const char *const *environment)
{
    struct engine_view view;
    engine_detect(environment, 0, &view);
    return view.in_allocation && opt->engine != START_MANUAL;
}

/* Nodes have to find each other. */
static int check_nodes(const struct options *opt, const char *const *environment, struct err *e)
{
    if (opt->nnodes_max > 1 && !opt->rdzv_endpoint && !options_has_hosts(opt)
        && !has_allocation(opt, environment))
        return err_set(e, ERR_USAGE,
                       "--nnodes %u: the nodes meet at --rdzv-endpoint HOST:PORT, the same on "
                       "each of them; or muster starts them: --hostfile FILE",
                       opt->nnodes_max);
    if (opt->node_rank >= 0 && (uint32_t)opt->node_rank >= opt->nnodes_max)
        return err_set(e, ERR_USAGE, "--node-rank %d: of %u node%s the last is %u",
                       opt->node_rank, opt->nnodes_max, opt->nnodes_max == 1 ? "" : "s",
                       opt->nnodes_max - 1);
    return 0;
}

static int check_wrap(const struct options *opt, struct err *e)
{
    if (!opt->wrap_ranks || opt->wrap)
        return 0;
    return err_set(e, ERR_USAGE, "--wrap-ranks needs the words to put first: --wrap TEXT");
}

static int refuse(const char *option, const char *command, struct err *e)
{
    return err_set(e, ERR_USAGE, "--%s is for %s", option, command);
}

/* What only doctor heeds, or a run that judges its hosts first. */
static int check_doctor(enum option_command command, const struct options *opt, struct err *e)
{
    static const char judges[] = "muster doctor, or for muster run with --preflight";
    if (command == OPTIONS_DOCTOR && opt->is_preflight)
        return refuse("preflight", "muster run; doctor does the same", e);
    if (command == OPTIONS_DOCTOR)
        return opt->evidence != EVIDENCE_NOT_SHOWN && options_has_hosts(opt) ? err_set(
                   e, ERR_USAGE,
                   "--evidence shows this host alone; leave --hosts and --hostfile out")
                                                                             : 0;
    if (opt->evidence != EVIDENCE_NOT_SHOWN)
        return refuse("evidence", "muster doctor", e);
    if (opt->lookups.n)
        return refuse("lookup", "muster doctor", e);
    if (opt->is_preflight && command == OPTIONS_RUN)
        return 0;
    if (opt->only.n || opt->skip.n)
        return refuse(opt->only.n ? "only" : "skip", judges, e);
    if (opt->origin[OPTION_STRICT] == ORIGIN_COMMAND_LINE && opt->is_strict)
        return refuse("strict", judges, e);
    return opt->origin[OPTION_EXPECT_GPUS] == ORIGIN_COMMAND_LINE
               ? refuse("expect-gpus", judges, e)
               : 0;
}

int option_checks_command(enum option_command command, const struct options *opt,
                          const char *const *environment, struct err *e)
{
    if (check_doctor(command, opt, e) < 0)
        return -1;
    switch (command) {
    case OPTIONS_RUN:
        if (opt->is_json)
            return err_set(
                e, ERR_USAGE,
                "--json is for muster plan, gpus and doctor; a run has no such report");
        break;
    case OPTIONS_PLAN:
        if (opt->nnodes_max > 1 && !options_has_hosts(opt))
            return err_set(e, ERR_USAGE,
                           "muster plan shows this node, or the hosts of a list; of nodes that "
                           "are started one by one it knows nothing: leave --nnodes out");
        break;
    case OPTIONS_GPUS:
        if (opt->program)
            return err_set(e, ERR_USAGE,
                           "'%s': muster gpus starts nothing and takes options only; who would "
                           "run where says: muster plan [options] %s",
                           opt->program[0], opt->program[0]);
        return check_hosts(opt, e);
    case OPTIONS_DOCTOR:
        break;
    }
    if (command == OPTIONS_DOCTOR)
        return opt->program
                   ? err_set(e, ERR_USAGE,
                             "'%s': muster doctor starts nothing and takes options only; "
                             "to judge hosts before a run: muster run --preflight",
                             opt->program[0])
                   : check_hosts(opt, e);
    if (!opt->program)
        return err_set(e, ERR_USAGE, "no program to run; as in: muster %s -n 4 train.py",
                       command == OPTIONS_PLAN ? "plan" : "run");
    return check_hosts(opt, e) < 0 || check_nodes(opt, environment, e) < 0
                   || check_logs(opt, e) < 0
               ? -1
               : check_wrap(opt, e);
}

int option_checks_launch(const struct options *opt, enum engine_start launch, struct err *e)
{
    static const struct {
        enum option_id id;
        const char *name, *instead;
    } rows[] = {
        {OPTION_FORWARD, "-x", "workers get muster's own environment: NAME=VALUE muster ..."},
        {OPTION_ENV_FILE, "--env-file",
         "workers get muster's own environment: NAME=VALUE muster ..."},
        {OPTION_CHDIR, "--chdir", "workers run where muster was started: cd there first"},
    };
    if (launch != START_LOCAL && launch != START_MANUAL)
        return 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (opt->origin[rows[i].id] == ORIGIN_COMMAND_LINE)
            return err_set(e, ERR_USAGE,
                           "%s is for hosts that muster starts on (--hosts, --hostfile); here "
                           "%s",
                           rows[i].name, rows[i].instead);
    return 0;
}
