#include "launcher/core/engine_detect.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "launcher/core/env_find.h"

/* Steps from here on are no srun of a user: batch script, interactive shell, extern. */
static const int64_t RESERVED_STEPS = 0xfffffff0;

static const char *const names[] = {
    [ENGINE_NONE] = "nobody", [ENGINE_SLURM] = "Slurm", [ENGINE_OPENMPI] = "Open MPI",
    [ENGINE_HYDRA] = "Hydra", [ENGINE_FLUX] = "Flux",
};
static_assert(sizeof names / sizeof names[0] == ENGINE_COUNT, "one name an engine");

static const char *name_of(enum engine engine)
{
    return names[engine];
}

static int64_t number(const char *const *environment, const char *name)
{
    uint64_t v;
    if (str_parse_u64(str_from(env_find_set(environment, name)), 0, UINT32_MAX, &v) != 0)
        return ENGINE_UNKNOWN;
    return (int64_t)v;
}

static const char *first_text(const char *const *environment, const char *a, const char *b)
{
    const char *value = env_find_set(environment, a);
    return value ? value : env_find_set(environment, b);
}

/* One task a node: then the task's number is the node's. */
static void one_a_node(struct engine_view *v, const char *variable)
{
    bool is_one = v->local_ntasks == 1 || (v->nnodes > 0 && v->nnodes == v->ntasks);
    if (!is_one || v->task == ENGINE_UNKNOWN)
        return;
    v->node = v->task;
    v->nnodes = v->ntasks;
    v->node_variable = variable;
}

static void see_openmpi(const char *const *env, struct engine_view *v)
{
    const char *variable =
        env_find_set(env, "OMPI_COMM_WORLD_RANK") ? "OMPI_COMM_WORLD_RANK" : "PMIX_RANK";
    v->engine = ENGINE_OPENMPI;
    v->task = number(env, variable);
    v->ntasks = number(env, "OMPI_COMM_WORLD_SIZE");
    v->local_task = number(env, "OMPI_COMM_WORLD_LOCAL_RANK");
    v->local_ntasks = number(env, "OMPI_COMM_WORLD_LOCAL_SIZE");
    v->node_name = env_find_set(env, "PMIX_HOSTNAME");
    one_a_node(v, variable);
}

static void see_hydra(const char *const *env, struct engine_view *v)
{
    v->engine = ENGINE_HYDRA;
    v->task = number(env, "PMI_RANK");
    v->ntasks = number(env, "PMI_SIZE");
    v->local_task = number(env, "MPI_LOCALRANKID");
    v->local_ntasks = number(env, "MPI_LOCALNRANKS");
    one_a_node(v, "PMI_RANK");
}

static void see_flux(const char *const *env, struct engine_view *v)
{
    v->engine = ENGINE_FLUX;
    v->task = number(env, "FLUX_TASK_RANK");
    v->ntasks = number(env, "FLUX_JOB_SIZE");
    v->local_task = number(env, "FLUX_TASK_LOCAL_ID");
    v->nnodes = number(env, "FLUX_JOB_NNODES");
    one_a_node(v, "FLUX_TASK_RANK");
}

/* Tasks on our node: the value is read only where it speaks of every node alike, "2" or
 * "2(x3)". */
static int64_t tasks_here(const char *value)
{
    struct str s = str_from(value), n;
    uint64_t v;
    if (!s.n || memchr(s.p, ',', s.n))
        return ENGINE_UNKNOWN;
    str_split(&s, '(', &n);
    return str_parse_u64(n, 1, UINT32_MAX, &v) == 0 ? (int64_t)v : ENGINE_UNKNOWN;
}

static void see_slurm_task(const char *const *env, struct engine_view *v)
{
    v->engine = ENGINE_SLURM;
    v->task = number(env, "SLURM_PROCID");
    v->ntasks = number(env, "SLURM_STEP_NUM_TASKS");
    v->local_task = number(env, "SLURM_LOCALID");
    v->local_ntasks = tasks_here(env_find_set(env, "SLURM_STEP_TASKS_PER_NODE"));
    v->nnodes = number(env, "SLURM_STEP_NUM_NODES");
    v->node_name = env_find_set(env, "SLURMD_NODENAME");
    v->nodelist = first_text(env, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST");
    bool is_one = v->local_ntasks == 1 || (v->nnodes > 0 && v->nnodes == v->ntasks);
    if (!is_one)
        return;
    v->node = number(env, "SLURM_NODEID");
    v->node_variable = "SLURM_NODEID";
}

static bool is_slurm_task(const char *const *env)
{
    int64_t step = number(env, "SLURM_STEP_ID"), ntasks = number(env, "SLURM_STEP_NUM_TASKS");
    int64_t all = number(env, "SLURM_NTASKS"), task = number(env, "SLURM_PROCID");
    return step >= 0 && step < RESERVED_STEPS && ntasks > 0 && task >= 0 && task < ntasks
           && (all == ENGINE_UNKNOWN || all == ntasks);
}

static void see_allocation(const char *const *env, struct engine_view *v)
{
    v->nodelist = first_text(env, "SLURM_JOB_NODELIST", "SLURM_NODELIST");
    v->in_allocation = v->job_id && v->nodelist;
    v->node_name = env_find_set(env, "SLURMD_NODENAME");
}

void engine_detect(const char *const *environment, int64_t pid, struct engine_view *out)
{
    *out = (struct engine_view){.task = ENGINE_UNKNOWN,
                                .ntasks = ENGINE_UNKNOWN,
                                .local_task = ENGINE_UNKNOWN,
                                .local_ntasks = ENGINE_UNKNOWN,
                                .node = ENGINE_UNKNOWN,
                                .nnodes = ENGINE_UNKNOWN};
    bool is_task = is_slurm_task(environment);
    bool is_own_task = is_task && number(environment, "SLURM_TASK_PID") == pid;
    out->job_id = first_text(environment, "SLURM_JOB_ID", "SLURM_JOBID");
    out->gpus_on_node = number(environment, "SLURM_GPUS_ON_NODE");
    out->completion_index = number(environment, "JOB_COMPLETION_INDEX");
    bool has_flux = number(environment, "FLUX_TASK_RANK") >= 0;
    bool has_pmi = number(environment, "PMI_RANK") >= 0;
    bool is_hydra = has_pmi
                    && (env_find_set(environment, "HYDI_CONTROL_FD")
                        || env_find_set(environment, "MPI_LOCALRANKID"));
    if (is_own_task)
        see_slurm_task(environment, out);
    else if (number(environment, "OMPI_COMM_WORLD_RANK") >= 0)
        see_openmpi(environment, out);
    else if (is_hydra || (has_pmi && !has_flux && !is_task))
        see_hydra(environment, out);
    else if (has_flux)
        see_flux(environment, out);
    else if (is_task)
        see_slurm_task(environment, out);
    else if (number(environment, "PMIX_RANK") >= 0)
        see_openmpi(environment, out);
    else
        see_allocation(environment, out);
}

static void add_of(struct buf *out, const char *what, int64_t i, int64_t n)
{
    if (i == ENGINE_UNKNOWN)
        return;
    buf_addf(out, ", %s %lld", what, (long long)i);
    if (n != ENGINE_UNKNOWN)
        buf_addf(out, " of %lld", (long long)n);
}

void engine_format(const struct engine_view *view, struct buf *out)
{
    size_t before = out->len;
    if (view->engine != ENGINE_NONE) {
        buf_addf(out, "started by %s", name_of(view->engine));
        add_of(out, "task", view->task, view->ntasks);
        add_of(out, "node", view->node, view->nnodes);
        if (view->node_name)
            buf_addf(out, " (%s)", view->node_name);
    } else if (view->in_allocation) {
        buf_addf(out, "in Slurm allocation %s of %s", view->job_id, view->nodelist);
    }
    if (view->completion_index != ENGINE_UNKNOWN)
        buf_addf(out, "%sindex %lld of a Kubernetes Indexed Job", out->len > before ? ", " : "",
                 (long long)view->completion_index);
}

/* A list of one node, which is ours: nothing to start elsewhere. */
static bool is_alone_here(const struct engine_view *view)
{
    return view->node_name && strcmp(view->node_name, view->nodelist) == 0;
}

static int refuse_request(enum engine_start launch, const char *why, struct err *e)
{
    return err_set(e, ERR_USAGE, "--engine %s: %s", engine_start_name(launch), why);
}

/* What was asked for by name has to be possible. */
static int check_request(const struct engine_view *view, const struct engine_request *r,
                         struct err *e)
{
    bool has_nodes = r->has_hosts || view->in_allocation;
    bool starts = r->launch == START_SSH || r->launch == START_SLURM || r->launch == START_MPI;
    if (starts && r->has_endpoint)
        return refuse_request(r->launch,
                              "muster starts the nodes itself; --rdzv-endpoint is for nodes "
                              "that are started one by one",
                              e);
    if (r->launch == START_SLURM && !view->in_allocation)
        return refuse_request(r->launch,
                              "this is no Slurm allocation; start muster under salloc, or in a "
                              "script for sbatch",
                              e);
    if (starts && !has_nodes)
        return refuse_request(r->launch, "on which hosts? --hostfile FILE or --hosts LIST", e);
    if (r->launch == START_MANUAL && r->has_hosts)
        return refuse_request(r->launch,
                              "nobody starts the hosts of a list then; leave the list out, or "
                              "--engine",
                              e);
    if (r->launch == START_MANUAL && !r->has_endpoint && r->nnodes > 1)
        return refuse_request(r->launch, "the nodes meet at --rdzv-endpoint HOST:PORT", e);
    return 0;
}

static enum engine_start choose(const struct engine_view *view, const struct engine_request *r)
{
    if (r->launch != START_AUTO && r->launch != START_MANUAL)
        return r->launch;
    if (r->launch == START_AUTO && view->in_allocation
        && (r->has_hosts || !is_alone_here(view)))
        return START_SLURM;
    if (r->has_hosts)
        return START_SSH;
    return r->nnodes > 1 ? START_MANUAL : START_LOCAL;
}

int engine_choose(const struct engine_view *view, const struct engine_request *request,
                  enum engine_start *out, struct err *e)
{
    if (check_request(view, request, e) < 0)
        return -1;
    if (request->has_endpoint) {
        *out = START_MANUAL;
        return 0;
    }
    if (view->engine != ENGINE_NONE && view->ntasks > 1)
        return err_set(
            e, ERR_USAGE,
            "%s started %lld tasks, and each would be a job of its own; start muster "
            "once (under Slurm in the batch script, without srun), or give all of "
            "them the same --rdzv-endpoint HOST:PORT",
            name_of(view->engine), (long long)view->ntasks);
    *out = choose(view, request);
    return 0;
}

int engine_check_tasks(const struct engine_view *view, uint32_t nproc, struct err *e)
{
    if (nproc <= 1 || view->local_ntasks <= 1)
        return 0;
    return err_set(e, ERR_USAGE,
                   "%s started %lld tasks on this node, and -n %u would make %lld workers of "
                   "them; start one task a node (srun --ntasks-per-node=1), or leave -n out",
                   name_of(view->engine), (long long)view->local_ntasks, nproc,
                   (long long)view->local_ntasks * nproc);
}

int64_t engine_place(const struct engine_view *view, const struct host_list *list,
                     const char *host)
{
    const struct host *found = view->node_name ? host_list_find(list, view->node_name) : NULL;
    if (!found && host)
        found = host_list_find(list, host);
    return found ? found - list->hosts : ENGINE_UNKNOWN;
}

int engine_node_rank(const struct engine_view *view, int64_t given, int64_t place,
                     uint32_t *rank, const char **from, struct err *e)
{
    const struct {
        const char *name;
        int64_t value;
    } sources[] = {
        {"JOB_COMPLETION_INDEX", view->completion_index},
        {view->node_variable, view->node},
        {"the place in the host list", place},
    };
    *from = "--node-rank";
    int64_t found = given;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0] && given == ENGINE_UNKNOWN; i++) {
        if (sources[i].value == ENGINE_UNKNOWN || sources[i].value == found)
            continue;
        if (found != ENGINE_UNKNOWN)
            return err_set(
                e, ERR_USAGE,
                "--node-rank auto: %s says %lld, %s says %lld; give the number itself", *from,
                (long long)found, sources[i].name, (long long)sources[i].value);
        found = sources[i].value;
        *from = sources[i].name;
    }
    if (found == ENGINE_UNKNOWN)
        return err_set(e, ERR_USAGE,
                       "--node-rank auto: neither the environment nor the host list says which "
                       "node this is; give the number itself");
    *rank = (uint32_t)found;
    return 0;
}
