#include "launcher/core/node_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/core/cpu_plan.h"
#include "launcher/core/streams.h"
#include "launcher/core/wrap.h"

struct ambient node_plan_ambient(const struct facts *facts)
{
    return (struct ambient){
        .cvd = facts_getenv(facts, "CUDA_VISIBLE_DEVICES"),
        .order = facts_getenv(facts, "CUDA_DEVICE_ORDER"),
        .mps = facts_getenv(facts, "CUDA_MPS_PIPE_DIRECTORY") != NULL,
    };
}

const struct inventory *node_plan_inventory(const struct facts *facts)
{
    const char *cvd = facts_getenv(facts, "CUDA_VISIBLE_DEVICES");
    bool is_empty = facts->inventory && facts->inventory->ndevices == 0;
    return is_empty && cvd && str_trim(str_from(cvd)).n ? NULL : facts->inventory;
}

int node_plan_resolve(const struct options *opt, const struct facts *facts, int n,
                      struct device_choice *choice, struct err *e)
{
    struct gpu_spec spec;
    struct require require;
    if (opt->gpu_require && gpu_require_parse(opt->gpu_require, &require, e) < 0)
        return -1;
    if (opt->gpus && gpu_spec_parse(opt->gpus, &spec, e) < 0)
        return -1;
    const struct request request = {
        .spec = opt->gpus ? &spec : NULL,
        .n = n,
        .procs_per_gpu = (int)opt->procs_per_gpu,
        .gpus_per_proc = (int)opt->gpus_per_proc,
        .dist = opt->dist,
        .binding = opt->binding,
        .format = opt->format,
        .require = opt->gpu_require ? &require : NULL,
        .ignore_visible = opt->ignore_visible,
        .strict_env = opt->strict_env,
        .skip_unhealthy = opt->skip_unhealthy,
    };
    const struct ambient ambient = node_plan_ambient(facts);
    int rc = device_resolve(&request, &ambient, node_plan_inventory(facts), choice, e);
    if (opt->gpus)
        gpu_spec_fini(&spec);
    return rc;
}

bool node_plan_needs_gpus(const struct options *opt)
{
    if (opt->gpus)
        return !str_eq(str_trim(str_from(opt->gpus)), "none");
    return !(opt->binding == BINDING_NONE && opt->nproc);
}

int node_plan_slots(const struct options *opt, const struct facts *facts, uint32_t *slots,
                    struct err *e)
{
    struct device_choice choice;
    if (node_plan_resolve(opt, facts, (int)opt->nproc, &choice, e) < 0)
        return -1;
    *slots = (uint32_t)choice.nranks;
    device_choice_fini(&choice);
    return 0;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n > k && strcmp(s + n - k, end) == 0;
}

/* The program with its interpreter: `train.py` and -m become python3 -u ... */
static char **build_argv(const struct options *opt, const struct facts *facts)
{
    size_t n = 0, k = 0;
    while (opt->program[n])
        n++;
    char **argv = mem_alloc(n + 4, sizeof *argv);
    if (opt->is_module || ends_with(opt->program[0], ".py")) {
        argv[k++] = mem_strdup(facts->python);
        argv[k++] = mem_strdup("-u");
        if (opt->is_module)
            argv[k++] = mem_strdup("-m");
    }
    for (size_t i = 0; i < n; i++)
        argv[k++] = mem_strdup(opt->program[i]);
    return argv;
}

static char *fact(const struct node_plan *plan, const struct facts *facts, uint32_t local_rank,
                  enum gpu_fact kind)
{
    struct buf text;
    buf_init(&text, 0);
    device_choice_fact(&plan->choice, facts->inventory, (int)local_rank, kind, &text);
    if (text.len)
        return buf_steal(&text);
    buf_fini(&text);
    return NULL;
}

static void plan_worker(struct node_plan *plan, const struct facts *facts, uint32_t local_rank)
{
    const struct rank_device *device = &plan->choice.ranks[local_rank];
    plan->workers[local_rank] = (struct worker_plan){
        .rank = plan->order.first_rank + local_rank,
        .local_rank = local_rank,
        .env_local_rank = device->local_rank,
        .cvd = device->cvd,
        .cuda_order = device->order,
        .mem_node = -1,
    };
    if (!facts->inventory || !plan->choice.units_known || device->first_unit < 0)
        return;
    struct worker_plan *w = &plan->workers[local_rank];
    w->gpu_uuid = fact(plan, facts, local_rank, GPU_FACT_UUID);
    w->gpu_pci = fact(plan, facts, local_rank, GPU_FACT_PCI_BUS_ID);
    w->gpu_index = fact(plan, facts, local_rank, GPU_FACT_INDEX);
}

/* --wrap and the terminal, once the ranks are known. */
static int plan_wrap(struct node_plan *plan, const struct options *opt,
                     const struct facts *facts, struct err *e)
{
    int64_t terminal = -1;
    if (streams_terminal(opt, facts, &plan->order, &terminal, e) < 0)
        return -1;
    for (uint32_t i = 0; i < plan->order.nworkers; i++) {
        struct worker_plan *w = &plan->workers[i];
        w->owns_terminal = w->rank == terminal;
        if (!streams_is_wrapped(opt, w->rank))
            continue;
        const struct wrap_fields fields = {w->rank, i, facts->host, plan->order.job_id};
        w->wrapped = wrap_build(opt->wrap, &fields, plan->argv);
    }
    return 0;
}

char *const *node_plan_argv(const struct node_plan *plan, uint32_t local_rank)
{
    char **wrapped = plan->workers[local_rank].wrapped;
    return wrapped ? wrapped : plan->argv;
}

struct node_plan *node_plan_build(const struct options *opt, const struct facts *facts,
                                  const struct order *order, struct err *e)
{
    struct node_plan *plan = mem_alloc(1, sizeof *plan);
    if (node_plan_resolve(opt, facts, (int)order->nworkers, &plan->choice, e) < 0) {
        free(plan);
        return NULL;
    }
    plan->order = *order;
    plan->order.job_id = mem_strdup(order->job_id);
    plan->order.master_addr = mem_strdup(order->master_addr);
    plan->binding = opt->binding;
    plan->argv = build_argv(opt, facts);
    plan->workers = mem_alloc(order->nworkers, sizeof *plan->workers);
    for (uint32_t i = 0; i < order->nworkers; i++)
        plan_worker(plan, facts, i);
    if (cpu_plan_build(opt->cpu_bind, facts, plan, e) == 0
        && plan_wrap(plan, opt, facts, e) == 0)
        return plan;
    node_plan_free(plan);
    return NULL;
}

void node_plan_free(struct node_plan *plan)
{
    if (!plan)
        return;
    for (uint32_t i = 0; i < plan->order.nworkers; i++) {
        free(plan->workers[i].gpu_uuid);
        free(plan->workers[i].gpu_pci);
        free(plan->workers[i].gpu_index);
        free(plan->workers[i].cpus);
        wrap_free(plan->workers[i].wrapped);
    }
    free(plan->workers);
    free(plan->omp_why);
    for (char **arg = plan->argv; *arg; arg++)
        free(*arg);
    free(plan->argv);
    device_choice_fini(&plan->choice);
    free((char *)(uintptr_t)plan->order.job_id);
    free((char *)(uintptr_t)plan->order.master_addr);
    free(plan);
}

void node_plan_gpu_format(const struct node_plan *plan, uint32_t local_rank, struct buf *out)
{
    const struct worker_plan *w = &plan->workers[local_rank];
    if (w->gpu_index)
        buf_addf(out, "GPU %s", w->gpu_index);
    if (w->gpu_uuid)
        buf_addf(out, " (%.12s)", w->gpu_uuid);
}
