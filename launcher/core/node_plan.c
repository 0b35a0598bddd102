#include "launcher/core/node_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/core/compat.h"
#include "launcher/core/cpu_plan.h"
#include "launcher/core/open_files.h"
#include "launcher/core/slots.h"
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

/* The inventory that the choice is made from, NULL = none: without a GPU in the machine, what
 * the environment lists is passed on as text, since nothing here can check it. */
static const struct inventory *inventory_of(const struct facts *facts)
{
    const char *cvd = facts_getenv(facts, "CUDA_VISIBLE_DEVICES");
    bool is_empty = facts->inventory && facts->inventory->ndevices == 0;
    return is_empty && cvd && str_trim(str_from(cvd)).n ? NULL : facts->inventory;
}

static int resolve(const struct options *opt, const struct facts *facts, int n,
                   enum binding binding, struct device_choice *choice, struct err *e)
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
        .binding = binding,
        .format = opt->format,
        .require = opt->gpu_require ? &require : NULL,
        .ignore_visible = opt->ignore_visible,
        .strict_env = opt->strict_env,
        .skip_unhealthy = opt->skip_unhealthy,
        .keeps_rest = opt->torchrun.is_on && !opt->gpus,
    };
    const struct ambient ambient = node_plan_ambient(facts);
    int rc = device_resolve(&request, &ambient, inventory_of(facts), choice, e);
    if (opt->gpus)
        gpu_spec_fini(&spec);
    return rc;
}

int node_plan_resolve(const struct options *opt, const struct facts *facts, int n,
                      struct device_choice *choice, struct err *e)
{
    return resolve(opt, facts, n, opt->binding, choice, e);
}

/* torchrun starts more workers than there are GPUs and leaves them to the program. */
static bool may_unbind(const struct options *opt, enum gpu_error why)
{
    return opt->torchrun.is_on && why == GPU_E_OVERSUBSCRIBED && !opt->gpus
           && opt->binding == BINDING_SHARED;
}

bool node_plan_needs_gpus(const struct options *opt)
{
    if (opt->gpus)
        return !str_eq(str_trim(str_from(opt->gpus)), "none");
    return !(opt->binding == BINDING_NONE && (opt->nproc || opt->nproc_source == NPROC_CPUS));
}

bool node_plan_needs_load(const struct options *opt)
{
    struct gpu_spec spec;
    struct err e; /* what is wrong with it is said when it is used */
    if (!opt->gpus || gpu_spec_parse(opt->gpus, &spec, &e) < 0)
        return false;
    bool needs = gpu_spec_has_auto(&spec);
    gpu_spec_fini(&spec);
    return needs;
}

/* Nobody has asked for GPUs, and there are none. */
static bool is_without_gpus(const struct facts *facts, enum gpu_error why)
{
    const char *cvd = facts_getenv(facts, "CUDA_VISIBLE_DEVICES");
    return (why == GPU_E_NO_DEVICES || why == GPU_E_NVML)
           && (!cvd || !str_trim(str_from(cvd)).n);
}

/* Of this host, whether they take part or not. */
static int all_slots(const struct options *opt, const struct facts *facts, uint32_t *slots,
                     struct err *e)
{
    struct device_choice choice;
    *slots = opt->nproc;
    if (!opt->nproc && opt->nproc_source == NPROC_CPUS)
        *slots = facts->ncpus;
    if (node_plan_resolve(opt, facts, (int)*slots, &choice, e) < 0) {
        if (may_unbind(opt, choice.error))
            return 0;
        if (*slots || opt->nproc_source != NPROC_AUTO || !is_without_gpus(facts, choice.error))
            return -1;
        *slots = facts->ncpus;
        return 0;
    }
    *slots = (uint32_t)choice.nranks;
    device_choice_fini(&choice);
    return 0;
}

int node_plan_slots(const struct options *opt, const struct facts *facts, uint32_t *slots,
                    struct err *e)
{
    uint32_t *list;
    if (all_slots(opt, facts, slots, e) < 0)
        return -1;
    if (!opt->slots)
        return 0;
    int rc = slots_choose(opt->slots, *slots, &list, slots, e);
    free(list);
    return rc;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n > k && strcmp(s + n - k, end) == 0;
}

static bool runs_python(const struct options *opt)
{
    switch (opt->interpreter) {
    case INTERPRETER_BY_NAME:
        return opt->is_module || ends_with(opt->program[0], ".py");
    case INTERPRETER_PYTHON:
        return true;
    case INTERPRETER_NONE:
        return false;
    }
    return false;
}

/* $PYTHON_EXEC is torchrun's name for it. */
static const char *python_of(const struct options *opt, const struct facts *facts)
{
    const char *python = opt->torchrun.is_on ? facts_getenv(facts, "PYTHON_EXEC") : NULL;
    return python && *python ? python : facts->python;
}

/* The program with its interpreter: `train.py` and -m become python3 -u ... */
static char **build_argv(const struct options *opt, const struct facts *facts)
{
    size_t n = 0, k = 0;
    while (opt->program[n])
        n++;
    char **argv = mem_alloc(n + 4, sizeof *argv);
    if (runs_python(opt)) {
        argv[k++] = mem_strdup(python_of(opt, facts));
        argv[k++] = mem_strdup("-u");
        if (opt->is_module)
            argv[k++] = mem_strdup("-m");
    }
    for (size_t i = 0; i < n; i++)
        argv[k++] = mem_strdup(opt->program[i]);
    return argv;
}

static const char macro[] = "${local_rank}"; /* torchrun's, in arguments */

static char *expand(const char *word, uint32_t local_rank)
{
    struct buf out;
    buf_init(&out, 0);
    for (const char *at; (at = strstr(word, macro)) != NULL; word = at + sizeof macro - 1) {
        buf_add(&out, word, (size_t)(at - word));
        buf_addf(&out, "%u", local_rank);
    }
    buf_adds(&out, word);
    return buf_steal(&out);
}

/* The plan's argv with this worker's local rank in it; NULL if no argument asks for it. */
static char **expand_argv(char *const *argv, uint32_t local_rank)
{
    size_t n = 0;
    bool is_used = false;
    for (; argv[n]; n++)
        is_used = is_used || (n > 0 && strstr(argv[n], macro));
    if (!is_used)
        return NULL;
    char **own = mem_alloc(n + 1, sizeof *own);
    for (size_t i = 0; i < n; i++)
        own[i] = i ? expand(argv[i], local_rank) : mem_strdup(argv[i]);
    return own;
}

static void free_argv(char **argv)
{
    for (char **arg = argv; arg && *arg; arg++)
        free(*arg);
    free(argv);
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
        w->wrapped = wrap_build(opt->wrap, &fields, w->argv ? w->argv : plan->argv);
    }
    return 0;
}

char *const *node_plan_argv(const struct node_plan *plan, uint32_t local_rank)
{
    const struct worker_plan *w = &plan->workers[local_rank];
    return w->wrapped ? w->wrapped : w->argv ? w->argv : plan->argv;
}

/* The GPUs of the slots that take part, as --gpus would name them; empty: there are none. */
static int name_gpus(const struct options *opt, const struct facts *facts, struct buf *out,
                     struct err *e)
{
    struct device_choice all;
    uint32_t total, n, *list;
    if (opt->procs_per_gpu > 1)
        return err_set(e, ERR_USAGE,
                       "--include and --exclude of single slots do not go together with "
                       "--procs-per-gpu: which GPU is shared would change");
    if (all_slots(opt, facts, &total, e) < 0
        || slots_choose(opt->slots, total, &list, &n, e) < 0)
        return -1;
    int rc = node_plan_resolve(opt, facts, (int)total, &all, e);
    if (rc == 0) {
        slots_gpus(list, n, &all, inventory_of(facts), out);
        device_choice_fini(&all);
    }
    free(list);
    return rc;
}

/* A part of the host's slots: GPUs as if all took part. */
static int choose_part(const struct options *opt, const struct facts *facts, uint32_t n,
                       struct node_plan *plan, struct err *e)
{
    struct options part = *opt;
    struct buf gpus;
    buf_init(&gpus, 0);
    int rc = name_gpus(opt, facts, &gpus, e);
    if (gpus.len) {
        part.gpus = buf_str(&gpus);
        part.gpu_require = NULL;
    }
    if (rc == 0)
        rc = node_plan_resolve(&part, facts, (int)n, &plan->choice, e);
    buf_fini(&gpus);
    return rc;
}

static int choose(const struct options *opt, const struct facts *facts, uint32_t n,
                  struct node_plan *plan, struct err *e)
{
    plan->binding = opt->binding;
    if (opt->slots)
        return choose_part(opt, facts, n, plan, e);
    if (node_plan_resolve(opt, facts, (int)n, &plan->choice, e) == 0)
        return 0;
    if (!may_unbind(opt, plan->choice.error))
        return -1;
    plan->is_unbound = true;
    plan->binding = BINDING_NONE;
    return resolve(opt, facts, (int)n, BINDING_NONE, &plan->choice, e);
}

struct node_plan *node_plan_build(const struct options *opt, const struct facts *facts,
                                  const struct order *order, struct err *e)
{
    struct node_plan *plan = mem_alloc(1, sizeof *plan);
    if (open_files_check_node(order->nworkers, facts->max_files, e) < 0
        || choose(opt, facts, order->nworkers, plan, e) < 0) {
        free(plan);
        return NULL;
    }
    plan->order = *order;
    plan->order.job_id = mem_strdup(order->job_id);
    plan->order.master_addr = mem_strdup(order->master_addr);
    plan->role = mem_strdup(opt->role ? opt->role : "default");
    plan->scheduler_env = opt->scheduler_env;
    if (opt->compat && compat_parse("--compat", opt->compat, &plan->compat, NULL) < 0)
        plan->compat = 0; /* it was checked when it was read */
    plan->layout = opt->torchrun.is_on ? LOG_LAYOUT_TORCHRUN : LOG_LAYOUT_RANK;
    plan->argv = build_argv(opt, facts);
    plan->workers = mem_alloc(order->nworkers, sizeof *plan->workers);
    for (uint32_t i = 0; i < order->nworkers; i++) {
        plan_worker(plan, facts, i);
        if (opt->torchrun.is_on)
            plan->workers[i].argv = expand_argv(plan->argv, i);
    }
    if (compat_check(plan->compat, order->nnodes, e) == 0
        && cpu_plan_build(opt->cpu_bind, facts, plan, e) == 0
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
        free_argv(plan->workers[i].argv);
    }
    free(plan->workers);
    free(plan->omp_why);
    free(plan->role);
    free_argv(plan->argv);
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
