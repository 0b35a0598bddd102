#include "launcher/cmd/engines.h"

#include <unistd.h>

#include "base/log.h"
#include "launcher/core/hostfile.h"
#include "launcher/core/option_checks.h"
#include "launcher/io/above.h"

static void say_found(const struct engine_view *view)
{
    struct buf text;
    buf_init(&text, 0);
    engine_format(view, &text);
    if (text.len)
        log_debug("engine", "%s", buf_str(&text));
    buf_fini(&text);
}

/* Our place in the engine's own list of nodes. */
static int64_t place_of(const struct engine_view *view)
{
    struct host_list list;
    struct err e;
    char host[256] = "";
    if (!view->nodelist
        || hostfile_parse_option(view->nodelist, "SLURM_STEP_NODELIST", &list, NULL, &e) < 0)
        return ENGINE_UNKNOWN;
    gethostname(host, sizeof host - 1);
    int64_t place = engine_place(view, &list, host);
    host_list_fini(&list);
    return place;
}

static int find_node_rank(struct options *opt, const struct engine_view *view, struct err *e)
{
    uint32_t rank;
    const char *from;
    int64_t place = view->node == ENGINE_UNKNOWN && view->completion_index == ENGINE_UNKNOWN
                        ? place_of(view)
                        : ENGINE_UNKNOWN;
    if (engine_node_rank(view, ENGINE_UNKNOWN, place, &rank, &from, e) < 0)
        return -1;
    if (rank >= opt->nnodes_max)
        return err_set(
            e, ERR_USAGE,
            "--node-rank auto: %s says %u, but of %u nodes (--nnodes) the last is %u", from,
            rank, opt->nnodes_max, opt->nnodes_max - 1);
    opt->node_rank = (int32_t)rank;
    log_info("", "--node-rank auto: %u, from %s", rank, from);
    return 0;
}

int engines_find(struct options *opt, struct engine_found *out, struct err *e)
{
    engine_detect((const char *const *)environ, getpid(), &out->view);
    out->launch = options_has_endpoint(opt) ? START_MANUAL : START_LOCAL;
    if (opt->torchrun.is_on) /* it starts one node, whatever surrounds it */
        return 0;
    if (out->view.ntasks > 1 && !options_has_endpoint(opt) && !above_is_launcher())
        engine_detect((const char *const[]){NULL}, getpid(), &out->view); /* stale words */
    say_found(&out->view);
    const struct engine_request request = {.launch = opt->engine,
                                           .has_hosts = options_has_hosts(opt),
                                           .has_endpoint = opt->rdzv_endpoint != NULL,
                                           .nnodes = opt->nnodes_max};
    if (engine_choose(&out->view, &request, &out->launch, e) < 0
        || (out->launch == START_MANUAL && engine_check_tasks(&out->view, opt->nproc, e) < 0))
        return -1;
    bool is_started =
        out->launch == START_SSH || out->launch == START_SLURM || out->launch == START_MPI;
    if (option_checks_launch(opt, out->launch, e) < 0)
        return -1;
    if (is_started && !options_has_hosts(opt))
        opt->hosts = out->view.nodelist;
    if (opt->node_rank == NODE_RANK_AUTO && !is_started)
        return find_node_rank(opt, &out->view, e);
    return 0;
}
