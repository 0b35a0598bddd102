#include "launcher/core/plan_render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "launcher/core/plan_env.h"
#include "launcher/core/plan_text.h"

int plan_cuda_ordinal(const struct node_plan *plan, uint32_t local_rank, int k)
{
    const struct rank_device *device = &plan->choice.ranks[local_rank];
    return device->dev < 0 || k >= plan->choice.gpus_per_proc ? -1 : device->dev + k;
}

/* ---- parts ---- */

static bool is_same_argv(char *const *a, char *const *b)
{
    while (*a && *b && strcmp(*a, *b) == 0)
        a++, b++;
    return !*a && !*b;
}

/* What stands before the program, neighbours with the same words on one line. */
static void add_wrapped(const struct node_plan *plan, struct buf *out)
{
    for (uint32_t i = 0, end; i < plan->order.nworkers; i = end) {
        const struct worker_plan *first = &plan->workers[i];
        end = i + 1;
        if (!first->wrapped)
            continue;
        while (end < plan->order.nworkers && plan->workers[end].wrapped
               && is_same_argv(first->wrapped, plan->workers[end].wrapped))
            end++;
        if (end - i == 1)
            buf_addf(out, "rank %-4u ", first->rank);
        else
            buf_addf(out, "ranks %u-%u ", first->rank, plan->workers[end - 1].rank);
        plan_text_words(first->wrapped, out);
    }
    for (uint32_t i = 0; i < plan->order.nworkers; i++)
        if (plan->workers[i].owns_terminal)
            buf_addf(out, "terminal  rank %u\n", plan->workers[i].rank);
}

static void add_head(const struct plan_view *v, struct buf *out)
{
    const struct order *o = &v->plan->order;
    buf_addf(out, "%u worker%s on %u node%s, binding %s; nothing was started\n\n",
             o->world_size, o->world_size == 1 ? "" : "s", o->nnodes, o->nnodes == 1 ? "" : "s",
             binding_name(v->plan->binding));
    buf_adds(out, "program   ");
    plan_text_words(v->plan->argv, out);
    if (strcmp(v->program, v->plan->argv[0]) != 0)
        buf_addf(out, "          which is %s\n", v->program);
    add_wrapped(v->plan, out);
    buf_addf(out, "store     %s, ", o->master_addr);
    if (v->opt->master_port)
        buf_addf(out, "port %u\n", o->master_port);
    else
        buf_adds(out, "any free port\n");
    char *dir = plan_log_dir(v->opt, v->plan);
    bool is_torchrun = v->plan->layout == LOG_LAYOUT_TORCHRUN;
    if (dir)
        buf_addf(out, "logs      %s/%s\n", dir,
                 is_torchrun ? "<local rank>/stdout.log and stderr.log"
                             : "rank-<rank>.out and .err");
    free(dir);
}

/* The k-th element of a comma list, "-" if there is none. */
static struct str element(const char *list, int k)
{
    struct str rest = str_from(list), part;
    while (str_split(&rest, ',', &part))
        if (k-- == 0)
            return part;
    return STR_LIT("-");
}

static void add_gpu(const struct plan_view *v, uint32_t r, int k, bool is_padded,
                    struct buf *out)
{
    const struct worker_plan *w = &v->plan->workers[r];
    struct str index = element(w->gpu_index, k), uuid = element(w->gpu_uuid, k),
               pci = element(w->gpu_pci, k);
    int dev = plan_cuda_ordinal(v->plan, r, k);
    buf_addf(out, "  %3.*s  %-40.*s  %-16.*s  ", STR_ARG(index), STR_ARG(uuid), STR_ARG(pci));
    char name[16] = "no GPU";
    if (dev >= 0)
        snprintf(name, sizeof name, "cuda:%d", dev);
    buf_addf(out, "%-*s", is_padded ? 7 : 0, name);
}

static void add_cpus(const struct worker_plan *w, struct buf *out)
{
    buf_addf(out, "  %s", w->cpus ? w->cpus : "any");
    if (w->cpus && w->mem_node >= 0)
        buf_addf(out, " (node %d)", w->mem_node);
}

static bool has_cpus(const struct node_plan *plan)
{
    for (uint32_t r = 0; r < plan->order.nworkers; r++)
        if (plan->workers[r].cpus)
            return true;
    return false;
}

static void add_ranks(const struct plan_view *v, struct buf *out)
{
    const struct node_plan *plan = v->plan;
    bool is_bound = has_cpus(plan);
    buf_addf(out, "\nnode %u, host %s\n  rank  GPU  %-40s  %-16s  in CUDA%s\n",
             plan->order.node_rank, v->facts->host, "UUID", "PCI bus id",
             is_bound ? "  CPUs (memory)" : "");
    for (uint32_t r = 0; r < plan->order.nworkers; r++) {
        for (int k = 0; k < plan->choice.gpus_per_proc; k++) {
            if (k == 0)
                buf_addf(out, "  %4u", plan->workers[r].rank);
            else
                buf_addf(out, "  %4s", "");
            add_gpu(v, r, k, k == 0 && is_bound, out);
            if (k == 0 && is_bound)
                add_cpus(&plan->workers[r], out);
            buf_addc(out, '\n');
        }
    }
    if (!is_bound)
        buf_adds(out, "  CPUs and memory: not bound\n");
}

static void add_vars(const struct plan_env *env, bool is_same, const char *title,
                     struct buf *out)
{
    bool is_first = true;
    for (size_t i = 0; i < env->nvars; i++) {
        const struct plan_var *var = &env->vars[i];
        if (var->is_same != is_same)
            continue;
        if (is_first)
            buf_addf(out, "\n%s\n", title);
        is_first = false;
        plan_text_name(var->name, out);
        struct plan_wrap w = plan_wrap_begin(out, PLAN_NAME_WIDTH + 2, PLAN_NAME_WIDTH + 2);
        for (uint32_t r = 0; r < (is_same ? 1 : env->nranks); r++)
            plan_wrap_add(&w, var->values[r] ? var->values[r] : "-");
        buf_addc(out, '\n');
    }
}

static void add_entries(const char *const *entries, size_t n, const char *title,
                        struct buf *out)
{
    if (n)
        buf_addf(out, "\n%s\n", title);
    for (size_t i = 0; i < n; i++) {
        buf_adds(out, "  ");
        plan_text_value(entries[i], out);
        buf_addc(out, '\n');
    }
}

static void add_environment(const struct plan_view *v, struct buf *out)
{
    struct plan_env env;
    char *dir = plan_log_dir(v->opt, v->plan);
    plan_env_init(&env, v->opt, v->facts, v->plan, dir);
    add_vars(&env, false, "environment, by rank", out);
    add_vars(&env, true, "environment of every worker", out);
    add_entries(env.hidden, env.nhidden,
                "hidden from workers (an outer launcher's, or meant "
                "for this muster)",
                out);
    if (v->opt->is_verbose)
        add_entries(env.passed, env.npassed, "passed on unchanged", out);
    else
        buf_addf(out, "  and %zu variables passed on unchanged (-v shows them)\n", env.npassed);
    plan_env_fini(&env);
    free(dir);
}

/* ---- where values came from ---- */

static void add_origins(const struct plan_view *v, struct buf *out)
{
    plan_text_origins(v->opt, out);
    const char *cvd = facts_getenv(v->facts, "CUDA_VISIBLE_DEVICES");
    if (!cvd)
        return;
    plan_text_name("GPUs to choose from", out);
    buf_adds(out, "CUDA_VISIBLE_DEVICES=");
    plan_text_value(cvd, out);
    buf_adds(out, " (see muster gpus)\n");
}

void plan_render(const struct plan_view *v, struct buf *out)
{
    add_head(v, out);
    add_ranks(v, out);
    add_environment(v, out);
    add_origins(v, out);
}
