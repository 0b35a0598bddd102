#include "launcher/core/plan_render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "launcher/core/plan_env.h"

enum { WIDTH = 100, NAME_WIDTH = 33 };

int plan_cuda_ordinal(const struct node_plan *plan, uint32_t local_rank, int k)
{
    const struct rank_device *device = &plan->choice.ranks[local_rank];
    return device->dev < 0 || k >= plan->choice.gpus_per_proc ? -1 : device->dev + k;
}

/* ---- small words ---- */

/* An argument as a shell would have to read it. */
static void add_word(const char *word, struct buf *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789%+,-./:=@_";
    if (*word && !word[strspn(word, plain)]) {
        buf_adds(out, word);
        return;
    }
    buf_addc(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buf_adds(out, "'\\''");
        else
            buf_addc(out, *word);
    }
    buf_addc(out, '\'');
}

/* A value on one line, whatever is in it. */
static void add_value(const char *value, struct buf *out)
{
    for (; *value; value++)
        buf_addc(out, (unsigned char)*value < ' ' ? '?' : *value);
}

/* Words behind each other, broken at WIDTH and then indented. */
struct wrap {
    struct buf *out;
    size_t column, indent;
    bool is_first;
};

static struct wrap wrap_begin(struct buf *out, size_t column, size_t indent)
{
    return (struct wrap){out, column, indent, true};
}

static void wrap_add(struct wrap *w, const char *word)
{
    size_t n = strlen(word);
    if (!w->is_first && w->column + 2 + n > WIDTH) {
        buf_addf(w->out, ",\n%*s", (int)w->indent, "");
        w->column = w->indent;
    } else if (!w->is_first) {
        buf_adds(w->out, ", ");
        w->column += 2;
    }
    w->is_first = false;
    add_value(word, w->out);
    w->column += n;
}

/* ---- parts ---- */

static void add_words(char *const *words, struct buf *out)
{
    for (; *words; words++) {
        add_word(*words, out);
        buf_addc(out, words[1] ? ' ' : '\n');
    }
}

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
        add_words(first->wrapped, out);
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
    add_words(v->plan->argv, out);
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

static void add_name(const char *name, struct buf *out)
{
    buf_addf(out, "  %-*s", NAME_WIDTH, name);
    if (strlen(name) >= NAME_WIDTH)
        buf_addc(out, ' ');
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
        add_name(var->name, out);
        struct wrap w = wrap_begin(out, NAME_WIDTH + 2, NAME_WIDTH + 2);
        for (uint32_t r = 0; r < (is_same ? 1 : env->nranks); r++)
            wrap_add(&w, var->values[r] ? var->values[r] : "-");
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
        add_value(entries[i], out);
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

static bool is_set(const struct options *opt, int id)
{
    return opt->origin[id] != ORIGIN_DEFAULT && id != OPTION_HELP;
}

static void add_set_option(const struct options *opt, enum option_id id, struct buf *out)
{
    struct buf left, from;
    buf_init(&left, 0);
    buf_init(&from, 0);
    buf_addf(&left, "--%s ", options_name(id));
    options_value_format(opt, id, &left);
    options_origin_format(opt, id, &from);
    add_name(buf_str(&left), out);
    buf_addf(out, "%s\n", buf_str(&from));
    buf_fini(&left);
    buf_fini(&from);
}

static void add_origins(const struct plan_view *v, struct buf *out)
{
    const struct options *opt = v->opt;
    buf_adds(out, "\nwhere values came from\n");
    for (int id = 0; id < OPTION_ID_COUNT; id++)
        if (is_set(opt, id))
            add_set_option(opt, (enum option_id)id, out);
    buf_adds(out, "  defaults: ");
    struct wrap w = wrap_begin(out, 12, 4);
    for (int id = 0; id < OPTION_ID_COUNT; id++) {
        if (is_set(opt, id) || id == OPTION_HELP || id == OPTION_JSON)
            continue;
        struct buf word;
        buf_init(&word, 0);
        buf_addf(&word, "%s ", options_name((enum option_id)id));
        size_t n = word.len;
        options_value_format(opt, (enum option_id)id, &word);
        if (word.len == n)
            buf_adds(&word, "-");
        wrap_add(&w, buf_str(&word));
        buf_fini(&word);
    }
    buf_addc(out, '\n');
    const char *cvd = facts_getenv(v->facts, "CUDA_VISIBLE_DEVICES");
    if (cvd) {
        add_name("GPUs to choose from", out);
        buf_adds(out, "CUDA_VISIBLE_DEVICES=");
        add_value(cvd, out);
        buf_adds(out, " (see muster gpus)\n");
    }
}

void plan_render(const struct plan_view *v, struct buf *out)
{
    add_head(v, out);
    add_ranks(v, out);
    add_environment(v, out);
    add_origins(v, out);
}
