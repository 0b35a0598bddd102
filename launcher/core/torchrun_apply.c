#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "launcher/core/rank_set.h"
#include "launcher/core/rdzv_text.h"
#include "launcher/core/signal_names.h"
#include "launcher/core/torchrun_options.h"

static const char default_prefix[] = "[${role_name}${local_rank}]:";

/* What several options decide together. */
struct draft {
    struct options *opt;
    const struct torchrun_given *all;
    bool is_static, is_standalone, is_module, is_direct, is_run_path;
    struct rdzv_endpoint endpoint; /* of text that is in opt */
};

static int bad(const struct torchrun_given *g, const char *right, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s: '%.80s' is not %s", g->where, g->text, right);
}

/* ---- one option each ---- */

typedef int apply_fn(struct draft *d, const struct torchrun_given *g, struct err *e);

static int no_effect(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    (void)d;
    (void)g;
    (void)e;
    return 0;
}

static int nnodes(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    struct str rest = str_from(g->text), low;
    uint64_t min, max;
    str_split(&rest, ':', &low);
    if (str_parse_u64(low, 1, UINT16_MAX, &min) < 0)
        return bad(g, "N or MIN:MAX with numbers from 1 on", e);
    max = min;
    if (rest.p && str_parse_u64(rest, min, UINT16_MAX, &max) < 0)
        return bad(g, "N or MIN:MAX with 0 < MIN <= MAX", e);
    d->opt->nnodes_min = (uint32_t)min;
    d->opt->nnodes_max = (uint32_t)max;
    return 0;
}

static int rdzv_backend(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    d->is_static = strcmp(g->text, "static") == 0;
    if (d->is_static || strcmp(g->text, "c10d") == 0)
        return 0;
    return bad(g, "static or c10d; muster serves the rendezvous itself", e);
}

static int rdzv_endpoint(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    d->opt->rdzv_endpoint = *g->text ? g->text : NULL;
    return *g->text ? rdzv_endpoint_parse(g->where, g->text, &d->endpoint, e) : 0;
}

static int event_log_handler(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    if (strcmp(g->text, "null") == 0)
        return 0;
    if (strcmp(g->text, "console") != 0)
        return bad(g, "null or console; handlers in Python cannot be loaded", e);
    return options_set(d->opt, OPTION_EVENTS, g->origin, g->where, "/dev/stderr", e);
}

static int seconds_above_zero(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    (void)d;
    char *end;
    double seconds = strtod(g->text, &end);
    return end == g->text || *end || !(seconds > 0) ? bad(g, "seconds, more than 0", e) : 0;
}

static int whole_seconds(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    (void)d;
    uint64_t seconds;
    return str_parse_u64(str_from(g->text), 0, 1000000, &seconds) < 0
               ? bad(g, "whole seconds, from 0 on", e)
               : 0;
}

static int shutdown_timeout(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    if (whole_seconds(d, g, e) < 0)
        return -1;
    return options_set(d->opt, OPTION_GRACE, g->origin, g->where, g->text, e);
}

static int start_method(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    (void)d;
    bool is_known = strcmp(g->text, "spawn") == 0 || strcmp(g->text, "fork") == 0
                    || strcmp(g->text, "forkserver") == 0;
    return is_known ? 0 : bad(g, "spawn, fork or forkserver", e);
}

/* torchrun reads the number behind a flag's variable; true, false, yes and no are clear too. */
static int flag(const struct torchrun_given *g, bool *out, struct err *e)
{
    static const char *const words[2][3] = {{"0", "false", "no"}, {"1", "true", "yes"}};
    for (int is_on = 0; is_on < 2; is_on++)
        for (int i = 0; i < 3; i++)
            if (strcasecmp(g->text, words[is_on][i]) == 0) {
                *out = is_on != 0;
                return 0;
            }
    return bad(g, "1 or 0", e);
}

static int standalone(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    return flag(g, &d->is_standalone, e);
}

static int module(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    return flag(g, &d->is_module, e);
}

static int no_python(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    return flag(g, &d->is_direct, e);
}

static int run_path(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    return flag(g, &d->is_run_path, e);
}

static int virtual_local_rank(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    bool is_on = false;
    if (flag(g, &is_on, e) < 0)
        return -1;
    return !is_on ? 0
                  : options_set(d->opt, OPTION_BINDING, g->origin, g->where, "isolated-virtual",
                                e);
}

static int prefix(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    (void)e;
    if (*g->text)
        d->opt->torchrun.prefix = g->text;
    return 0;
}

static int local_ranks(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    if (*g->text && !rank_set_is_valid(g->text))
        return bad(g, "a list of local ranks such as 0,2,5", e);
    d->opt->torchrun.local_ranks = *g->text ? g->text : NULL;
    return 0;
}

static int out_filters(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    (void)e;
    d->opt->torchrun.filters[0] = g->text;
    return 0;
}

static int err_filters(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    (void)e;
    d->opt->torchrun.filters[1] = g->text;
    return 0;
}

static int node_rank(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    uint64_t rank;
    if (str_parse_u64(str_from(g->text), 0, UINT16_MAX, &rank) < 0)
        return bad(g, "a number of a node, from 0 on", e);
    d->opt->node_rank = (int32_t)rank;
    return 0;
}

static int address(const struct torchrun_given *g, const char **out, struct err *e)
{
    struct rdzv_endpoint endpoint;
    if (rdzv_endpoint_parse(g->where, g->text, &endpoint, e) < 0)
        return -1;
    if (endpoint.port >= 0)
        return bad(g, "a host name or address alone", e);
    *out = g->text;
    return 0;
}

static int master_addr(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    return address(g, &d->opt->master_addr, e);
}

static int local_addr(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    return address(g, &d->opt->local_addr, e);
}

static int logs_specs(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    (void)d;
    return err_set(e, ERR_USAGE,
                   "%s: a plug-in in Python cannot be loaded; --log-dir, --tee and --redirects "
                   "say where output goes",
                   g->where);
}

static int numa_binding(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    static const char *const modes[][2] = {{"node", "node"},
                                           {"socket", "socket"},
                                           {"exclusive", "exclusive"},
                                           {"core-complex", "llc"}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(g->text, modes[i][0]) == 0)
            return options_set(d->opt, OPTION_CPU_BIND, g->origin, g->where, modes[i][1], e);
    return bad(g, "node, socket, exclusive or core-complex", e);
}

static int print_completion(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    d->opt->torchrun.shell = g->text;
    bool is_known = strcmp(g->text, "bash") == 0 || strcmp(g->text, "zsh") == 0
                    || strcmp(g->text, "fish") == 0;
    return is_known ? 0 : bad(g, "bash, zsh or fish", e);
}

/* ---- signals ---- */

/* Not those that stop, wake or tell of children, and not those that a fault sends. */
static bool can_end_a_job(int signo)
{
    static const int others[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP,
                                 SIGPIPE, SIGTTIN, SIGTTOU, SIGSEGV, SIGBUS,
                                 SIGFPE,  SIGILL,  SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (signo == others[i])
            return false;
    return true;
}

static int signals(struct draft *d, const struct torchrun_given *g, struct err *e)
{
    struct str rest = str_from(g->text), name;
    while (str_split(&rest, ',', &name)) {
        name = str_trim(name);
        int signo = signal_number(name);
        if (signo < 0)
            return err_set(e, ERR_USAGE,
                           "%s: '%.*s' is no signal; names are written SIGTERM,SIGUSR1",
                           g->where, name.n < 40 ? (int)name.n : 40, name.p);
        if (!can_end_a_job(signo))
            return err_set(e, ERR_USAGE, "%s: %.*s cannot end a job", g->where, STR_ARG(name));
        d->opt->end_signals |= UINT64_C(1) << signo;
    }
    return 0;
}

/* ---- the table ---- */

static const struct {
    apply_fn *fn; /* NULL: the option of muster takes the text as it is */
    enum option_id option;
} rules[] = {
    [TORCHRUN_NNODES] = {nnodes, OPTION_ID_COUNT},
    [TORCHRUN_NPROC] = {NULL, OPTION_NPROC},
    [TORCHRUN_RDZV_BACKEND] = {rdzv_backend, OPTION_ID_COUNT},
    [TORCHRUN_RDZV_ENDPOINT] = {rdzv_endpoint, OPTION_ID_COUNT},
    [TORCHRUN_RDZV_ID] = {NULL, OPTION_RDZV_ID},
    [TORCHRUN_RDZV_CONF] = {no_effect, OPTION_ID_COUNT}, /* once the backend is known */
    [TORCHRUN_STANDALONE] = {standalone, OPTION_ID_COUNT},
    [TORCHRUN_MAX_RESTARTS] = {NULL, OPTION_MAX_RESTARTS},
    [TORCHRUN_MONITOR_INTERVAL] = {seconds_above_zero, OPTION_ID_COUNT},
    [TORCHRUN_START_METHOD] = {start_method, OPTION_ID_COUNT},
    [TORCHRUN_EVENT_LOG_HANDLER] = {event_log_handler, OPTION_EVENTS},
    [TORCHRUN_ROLE] = {NULL, OPTION_ROLE},
    [TORCHRUN_MODULE] = {module, OPTION_MODULE},
    [TORCHRUN_NO_PYTHON] = {no_python, OPTION_ID_COUNT},
    [TORCHRUN_RUN_PATH] = {run_path, OPTION_ID_COUNT},
    [TORCHRUN_LOG_DIR] = {NULL, OPTION_LOG_DIR},
    [TORCHRUN_REDIRECTS] = {NULL, OPTION_REDIRECTS},
    [TORCHRUN_TEE] = {NULL, OPTION_TEE},
    [TORCHRUN_PREFIX] = {prefix, OPTION_ID_COUNT},
    [TORCHRUN_LOCAL_RANKS] = {local_ranks, OPTION_ID_COUNT},
    [TORCHRUN_OUT_FILTERS] = {out_filters, OPTION_ID_COUNT},
    [TORCHRUN_ERR_FILTERS] = {err_filters, OPTION_ID_COUNT},
    [TORCHRUN_NODE_RANK] = {node_rank, OPTION_ID_COUNT},
    [TORCHRUN_MASTER_ADDR] = {master_addr, OPTION_ID_COUNT},
    [TORCHRUN_MASTER_PORT] = {NULL, OPTION_MASTER_PORT},
    [TORCHRUN_LOCAL_ADDR] = {local_addr, OPTION_ID_COUNT},
    [TORCHRUN_LOGS_SPECS] = {logs_specs, OPTION_ID_COUNT},
    [TORCHRUN_NUMA_BINDING] = {numa_binding, OPTION_CPU_BIND},
    [TORCHRUN_SIGNALS] = {signals, OPTION_ID_COUNT},
    [TORCHRUN_SHUTDOWN_TIMEOUT] = {shutdown_timeout, OPTION_GRACE},
    [TORCHRUN_VIRTUAL_LOCAL_RANK] = {virtual_local_rank, OPTION_BINDING},
    [TORCHRUN_PRINT_COMPLETION] = {print_completion, OPTION_ID_COUNT},
    [TORCHRUN_EXIT_BARRIER_TIMEOUT] = {whole_seconds, OPTION_ID_COUNT},
    [TORCHRUN_HELP] = {no_effect, OPTION_HELP},
};
static_assert(sizeof rules / sizeof rules[0] == TORCHRUN_ID_COUNT, "one rule an option");

enum option_id torchrun_option_of(enum torchrun_id id)
{
    return rules[id].option;
}

/* ---- what follows from several ---- */

static int choose_interpreter(struct draft *d, struct err *e)
{
    struct options *opt = d->opt;
    bool is_module = d->is_module && !d->is_run_path;
    if (is_module && d->is_direct)
        return err_set(e, ERR_USAGE,
                       "--no-python and --module exclude each other: a module needs Python");
    opt->is_module = is_module;
    opt->interpreter = d->is_direct && !d->is_run_path ? INTERPRETER_NONE : INTERPRETER_PYTHON;
    return 0;
}

/* With static each node says which one it is; c10d's own counting does not look at it, and a
 * number beyond the last is that of a spare. */
static int check_node_rank(struct draft *d, struct err *e)
{
    struct options *opt = d->opt;
    if (opt->node_rank < 0 || (uint32_t)opt->node_rank < opt->nnodes_max)
        return 0;
    if (!d->is_static) {
        opt->node_rank = -1;
        return 0;
    }
    return err_set(e, ERR_USAGE, "%s %d: of %u node%s the last is %u",
                   d->all[TORCHRUN_NODE_RANK].where, opt->node_rank, opt->nnodes_max,
                   opt->nnodes_max == 1 ? "" : "s", opt->nnodes_max - 1);
}

/* A static rendezvous is where the endpoint says, or --master-addr and --master-port. */
static int check_static(struct draft *d, struct err *e)
{
    struct options *opt = d->opt;
    if (!opt->rdzv_endpoint) {
        if (opt->nnodes_max > 1 && !opt->master_port)
            opt->master_port = 29500;
        return 0;
    }
    if (d->endpoint.port < 0)
        return err_set(e, ERR_USAGE,
                       "%s: the static backend needs a port, as in %.80s:29500; c10d does not",
                       d->all[TORCHRUN_RDZV_ENDPOINT].where, opt->rdzv_endpoint);
    opt->master_port = (uint16_t)d->endpoint.port;
    return 0;
}

static int choose_rendezvous(struct draft *d, struct err *e)
{
    struct options *opt = d->opt;
    const struct torchrun_given *conf = &d->all[TORCHRUN_RDZV_CONF];
    if (d->is_static)
        opt->join_timeout_ms = 900000; /* torchrun's default there */
    if (conf->text && rdzv_conf_parse(conf->where, conf->text, d->is_static, opt, e) < 0)
        return -1;
    if (d->is_standalone && opt->nnodes_min > 1)
        return err_set(e, ERR_USAGE, "--standalone is one node, --nnodes says %u",
                       opt->nnodes_min);
    if (d->is_standalone) {
        opt->rdzv_endpoint = opt->master_addr = NULL;
        opt->job_id = NULL;
        opt->master_port = 0;
        opt->node_rank = -1;
        opt->nnodes_min = opt->nnodes_max = 1;
        return 0;
    }
    if (!opt->job_id)
        opt->job_id = "none"; /* the same on every node that names none */
    if (check_node_rank(d, e) < 0)
        return -1;
    if (d->is_static)
        return check_static(d, e);
    opt->master_addr = NULL; /* what c10d does not look at */
    opt->master_port = 0;
    if (opt->nnodes_max > 1 && !opt->rdzv_endpoint)
        return err_set(
            e, ERR_USAGE,
            "several nodes need --rdzv-endpoint HOST[:PORT], or each would be alone");
    return 0;
}

int torchrun_apply(const struct torchrun_given *given, struct options *opt, struct err *e)
{
    struct draft d = {.opt = opt, .all = given, .is_static = true};
    opt->nproc = 1;
    opt->role = "default";
    opt->torchrun.prefix = default_prefix;
    opt->beat_ms = 5000;
    opt->beats_missed = 3;
    opt->end_signals = UINT64_C(1) << SIGTERM | UINT64_C(1) << SIGINT | UINT64_C(1) << SIGHUP
                       | UINT64_C(1) << SIGQUIT;
    for (int id = 0; id < TORCHRUN_ID_COUNT; id++) {
        if (!given[id].text)
            continue;
        int rc = rules[id].fn ? rules[id].fn(&d, &given[id], e)
                              : options_set(opt, rules[id].option, given[id].origin,
                                            given[id].where, given[id].text, e);
        if (rc < 0)
            return -1;
    }
    return choose_interpreter(&d, e) < 0 ? -1 : choose_rendezvous(&d, e);
}
