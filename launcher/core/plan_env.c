#include "launcher/core/plan_env.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/worker_env.h"

static const char private_dir[] = "(a private folder)";

char *plan_log_dir(const struct options *opt, const struct node_plan *plan)
{
    if (!opt->log_dir)
        return NULL;
    struct buf path;
    buf_init(&path, 0);
    buf_addf(&path, "%s/", opt->log_dir);
    log_job_name_format(plan->order.job_id, &path);
    buf_adds(&path, plan->layout == LOG_LAYOUT_TORCHRUN ? "_(random)/" : "/");
    log_attempt_format(plan->layout, plan->order.generation, 0, &path);
    return buf_steal(&path);
}

static bool is_inherited(const struct facts *facts, const char *entry)
{
    for (const char *const *v = facts->environment; *v; v++)
        if (*v == entry) /* worker_env passes on the very pointers */
            return true;
    return false;
}

static struct plan_var *find_var(struct plan_env *env, const char *entry, size_t *cap)
{
    size_t n = strcspn(entry, "=");
    for (size_t i = 0; i < env->nvars; i++)
        if (strncmp(env->vars[i].name, entry, n) == 0 && !env->vars[i].name[n])
            return &env->vars[i];
    array_grow(env->vars, env->nvars, *cap);
    struct plan_var *var = &env->vars[env->nvars++];
    *var = (struct plan_var){.name = mem_printf("%.*s", (int)n, entry),
                             .values = mem_alloc(env->nranks, sizeof *var->values)};
    return var;
}

/* The dry run's own port says nothing about the next run's. */
static char *value_of(const struct options *opt, const struct plan_var *var, const char *entry)
{
    if (!opt->master_port && strcmp(var->name, "MASTER_PORT") == 0)
        return mem_strdup("(any free port)");
    return mem_strdup(entry + strcspn(entry, "=") + 1);
}

static bool is_same(const struct plan_var *var, uint32_t nranks)
{
    for (uint32_t i = 0; i < nranks; i++)
        if (!var->values[i] || strcmp(var->values[i], var->values[0]) != 0)
            return false;
    return true;
}

/* Inherited entries that a worker's environment has are passed on; the rest is hidden, but for
 * what muster writes anew. */
static void sort_inherited(struct plan_env *env, const struct facts *facts, char *const *worker)
{
    size_t n = 0;
    while (facts->environment[n])
        n++;
    env->hidden = mem_alloc(n + 1, sizeof *env->hidden);
    env->passed = mem_alloc(n + 1, sizeof *env->passed);
    for (size_t i = 0; i < n; i++) {
        const char *entry = facts->environment[i];
        size_t len = strcspn(entry, "=");
        bool has_name = false, has_entry = false;
        for (char *const *w = worker; *w; w++) {
            has_entry |= *w == entry;
            has_name |= strncmp(*w, entry, len) == 0 && (*w)[len] == '=';
        }
        if (has_entry)
            env->passed[env->npassed++] = entry;
        else if (!has_name)
            env->hidden[env->nhidden++] = entry;
    }
}

void plan_env_init(struct plan_env *env, const struct options *opt, const struct facts *facts,
                   const struct node_plan *plan, const char *log_dir)
{
    *env = (struct plan_env){.nranks = plan->order.nworkers};
    struct worker_env *made = worker_env_new(facts, plan, log_dir ? log_dir : private_dir);
    size_t cap = 0;
    for (uint32_t r = 0; r < env->nranks; r++) {
        char *const *worker = worker_env_build(made, r);
        if (r == 0)
            sort_inherited(env, facts, worker);
        for (; *worker; worker++) {
            if (is_inherited(facts, *worker))
                continue;
            struct plan_var *var = find_var(env, *worker, &cap);
            var->values[r] = value_of(opt, var, *worker);
        }
    }
    worker_env_free(made);
    for (size_t i = 0; i < env->nvars; i++)
        env->vars[i].is_same = is_same(&env->vars[i], env->nranks);
}

void plan_env_fini(struct plan_env *env)
{
    for (size_t i = 0; i < env->nvars; i++) {
        for (uint32_t r = 0; r < env->nranks; r++)
            free(env->vars[i].values[r]);
        free(env->vars[i].values);
        free(env->vars[i].name);
    }
    free(env->vars);
    free(env->hidden);
    free(env->passed);
}
