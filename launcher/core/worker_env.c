#include "launcher/core/worker_env.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/core/compat.h"
#include "launcher/core/options.h"
#include "launcher/core/torchrun_options.h"
#include "rendezvous/contract.h"

enum variable {
#define X(name, when, meaning) VAR_##name,
    CONTRACT_VARIABLES(X)
#undef X
        VARIABLE_COUNT
};

static const struct {
    const char *name;
    enum contract_when when;
} variables[] = {
#define X(name, when, meaning) [VAR_##name] = {#name, CONTRACT_##when},
    CONTRACT_VARIABLES(X)
#undef X
};
static_assert(sizeof variables / sizeof variables[0] == VARIABLE_COUNT, "one row a variable");

static const char *const hidden[] = {
#define X(pattern) pattern,
    CONTRACT_HIDDEN(X)
#undef X
};

struct worker_env {
    const struct facts *facts;
    const struct node_plan *plan;
    const char *error_dir;
    const char *notify;    /* address of the notify socket, NULL = none */
    const uint16_t *ports; /* of the presets, NULL = not known */
    const char **shared;   /* inherited entries that pass unchanged */
    size_t nshared;
    bool is_inherited[VARIABLE_COUNT]; /* contract variables that the environment has */
    struct buf values;                 /* NAME=VALUE\0 of the current worker */
    char **envp;
};

bool worker_env_is_hidden(const char *variable)
{
    size_t len = strcspn(variable, "=");
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        size_t n = strlen(hidden[i]);
        if (hidden[i][n - 1] == '*' ? len >= n - 1 && strncmp(variable, hidden[i], n - 1) == 0
                                    : len == n && strncmp(variable, hidden[i], n) == 0)
            return true;
    }
    return false;
}

/* ---- an outer launcher's task identity ---- */

/* Ours or torchrun's, whoever wrote them: they are written anew. */
static bool is_own_name(const char *entry)
{
    return strncmp(entry, "TORCHELASTIC_", 13) == 0 || strncmp(entry, "RANK=", 5) == 0
           || strncmp(entry, "LOCAL_RANK=", 11) == 0 || strncmp(entry, "NODE_RANK=", 10) == 0;
}

/* Whether an inherited number is absent or what the one worker of this node has. */
static bool agrees(const struct facts *facts, const char *name, uint32_t value)
{
    const char *text = facts_getenv(facts, name);
    uint64_t v;
    return !text || (str_parse_u64(str_from(text), 0, UINT32_MAX, &v) == 0 && v == value);
}

/* With several workers one set of numbers cannot be right for all. */
static bool has_slurm_right(const struct facts *facts, const struct node_plan *plan)
{
    const struct order *o = &plan->order;
    return o->nworkers == 1 && facts_getenv(facts, "SLURM_PROCID")
           && agrees(facts, "SLURM_PROCID", o->first_rank) && agrees(facts, "SLURM_LOCALID", 0)
           && agrees(facts, "SLURM_NODEID", o->node_rank)
           && agrees(facts, "SLURM_NTASKS", o->world_size)
           && agrees(facts, "SLURM_NPROCS", o->world_size);
}

/* PMI's descriptors end with muster, so its variables never agree. */
static bool is_kept(const struct facts *facts, const struct node_plan *plan, const char *entry)
{
    switch (plan->scheduler_env) {
    case SCHEDULER_ENV_AUTO:
        return strncmp(entry, "SLURM_", 6) == 0 && has_slurm_right(facts, plan);
    case SCHEDULER_ENV_KEEP:
        return !is_own_name(entry);
    case SCHEDULER_ENV_HIDE:
        return false;
    }
    return false;
}

/* Meant for this muster, under either name. */
static bool is_option(const char *entry)
{
    return options_is_fallback(entry) || torchrun_options_is_variable(entry);
}

static int find_variable(const char *entry)
{
    size_t len = strcspn(entry, "=");
    for (int i = 0; i < VARIABLE_COUNT; i++)
        if (strncmp(entry, variables[i].name, len) == 0 && variables[i].name[len] == '\0')
            return i;
    return -1;
}

static bool is_passed_on(const struct facts *facts, const struct node_plan *plan,
                         const char *entry)
{
    return !is_option(entry) && !compat_is_own(plan->compat, entry)
           && (!worker_env_is_hidden(entry) || is_kept(facts, plan, entry));
}

struct worker_env *worker_env_new(const struct facts *facts, const struct node_plan *plan,
                                  const char *error_dir)
{
    struct worker_env *env = mem_alloc(1, sizeof *env);
    env->facts = facts;
    env->plan = plan;
    env->error_dir = error_dir;
    buf_init(&env->values, 0);
    size_t n = 0;
    while (facts->environment[n])
        n++;
    env->shared = mem_alloc(n + 1, sizeof *env->shared);
    env->envp =
        mem_alloc(n + VARIABLE_COUNT + compat_variables(plan->compat) + 1, sizeof *env->envp);
    for (size_t i = 0; i < n; i++) {
        const char *entry = facts->environment[i];
        int var = find_variable(entry);
        bool is_passed = var < 0 ? is_passed_on(facts, plan, entry)
                                 : variables[var].when == CONTRACT_UNSET
                                       || variables[var].when == CONTRACT_BINDING;
        if (var >= 0 && is_passed)
            env->is_inherited[var] = true;
        /* What a binding writes is decided worker by worker. */
        if (is_passed && !(var >= 0 && variables[var].when == CONTRACT_BINDING))
            env->shared[env->nshared++] = entry;
    }
    return env;
}

void worker_env_set_notify(struct worker_env *env, const char *address)
{
    env->notify = address;
}

void worker_env_set_ports(struct worker_env *env, const uint16_t *ports)
{
    env->ports = ports;
}

void worker_env_free(struct worker_env *env)
{
    if (!env)
        return;
    buf_fini(&env->values);
    free(env->shared);
    free(env->envp);
    free(env);
}

/* Appends the value and returns true, or returns false where this worker does not get the
 * variable. */
static bool add_value(const struct worker_env *env, const struct worker_plan *w,
                      enum variable var, struct buf *out)
{
    const struct node_plan *plan = env->plan;
    const struct order *o = &plan->order;
    switch (var) {
    case VAR_RANK:
    case VAR_ROLE_RANK:
        return buf_addf(out, "%u", w->rank), true;
    case VAR_LOCAL_RANK:
        return buf_addf(out, "%d", w->env_local_rank), true;
    case VAR_MUSTER_LOCAL_RANK:
        return buf_addf(out, "%u", w->local_rank), true;
    case VAR_WORLD_SIZE:
    case VAR_ROLE_WORLD_SIZE:
        return buf_addf(out, "%u", o->world_size), true;
    case VAR_LOCAL_WORLD_SIZE:
    case VAR_LOCAL_SIZE:
        return buf_addf(out, "%u", o->nworkers), true;
    case VAR_NODE_RANK:
    case VAR_GROUP_RANK:
    case VAR_CROSS_RANK:
        return buf_addf(out, "%u", o->node_rank), true;
    case VAR_GROUP_WORLD_SIZE:
    case VAR_CROSS_SIZE:
        return buf_addf(out, "%u", o->nnodes), true;
    case VAR_ROLE_NAME:
        return buf_adds(out, plan->role), true;
    case VAR_MASTER_ADDR:
        return buf_adds(out, o->master_addr), true;
    case VAR_MASTER_PORT:
        return buf_addf(out, "%u", o->master_port), true;
    case VAR_TORCHELASTIC_RUN_ID:
    case VAR_MUSTER_JOB_ID:
        return buf_adds(out, o->job_id), true;
    case VAR_TORCHELASTIC_RESTART_COUNT:
        return buf_addf(out, "%u", o->generation), true;
    case VAR_TORCHELASTIC_MAX_RESTARTS:
        return buf_addf(out, "%u", o->max_restarts), true;
    case VAR_TORCHELASTIC_USE_AGENT_STORE:
        return buf_adds(out, "True"), true;
    case VAR_TORCHELASTIC_ERROR_FILE:
        if (env->error_dir)
            log_path_format(plan->layout, env->error_dir, LOG_KIND_ERROR_JSON, w->rank,
                            w->local_rank, out);
        return env->error_dir || plan->layout == LOG_LAYOUT_TORCHRUN; /* there it is empty */
    case VAR_CUDA_VISIBLE_DEVICES:
        return w->cvd && (buf_adds(out, w->cvd), true);
    case VAR_CUDA_DEVICE_ORDER:
        return w->cuda_order && (buf_adds(out, w->cuda_order), true);
    case VAR_MUSTER_BINDING:
        return buf_adds(out, binding_name(plan->binding)), true;
    case VAR_MUSTER_GPU_UUID:
        return w->gpu_uuid && (buf_adds(out, w->gpu_uuid), true);
    case VAR_MUSTER_GPU_PCI_BUS_ID:
        return w->gpu_pci && (buf_adds(out, w->gpu_pci), true);
    case VAR_MUSTER_GPU_INDEX:
        return w->gpu_index && (buf_adds(out, w->gpu_index), true);
    case VAR_MUSTER_NOTIFY_SOCKET:
        return env->notify && (buf_adds(out, env->notify), true);
    case VAR_TORCH_NCCL_ASYNC_ERROR_HANDLING:
    case VAR_PYTHONUNBUFFERED:
    case VAR_PYTHONFAULTHANDLER:
        return !env->is_inherited[var] && (buf_adds(out, "1"), true);
    case VAR_OMP_NUM_THREADS:
        return !env->is_inherited[var] && (buf_addf(out, "%u", w->omp_threads), true);
    case VARIABLE_COUNT:
        break;
    }
    return false;
}

/* The inherited entry of a binding variable that this worker's plan leaves alone. */
static char *inherited_entry(const struct worker_env *env, enum variable var)
{
    for (const char *const *v = env->facts->environment; *v; v++)
        if (find_variable(*v) == (int)var)
            return (char *)(uintptr_t)*v; /* execve does not write */
    return NULL;
}

char *const *worker_env_build(struct worker_env *env, uint32_t local_rank)
{
    const struct worker_plan *w = &env->plan->workers[local_rank];
    size_t offsets[VARIABLE_COUNT], n = env->nshared, nown = 0;
    memcpy(env->envp, env->shared, n * sizeof *env->envp);
    buf_reset(&env->values);
    for (int var = 0; var < VARIABLE_COUNT; var++) {
        size_t start = env->values.len;
        buf_adds(&env->values, variables[var].name);
        buf_addc(&env->values, '=');
        if (add_value(env, w, (enum variable)var, &env->values)) {
            buf_addc(&env->values, '\0');
            offsets[nown++] = start;
            continue;
        }
        env->values.len = start;
        if (variables[var].when == CONTRACT_BINDING && env->is_inherited[var])
            env->envp[n++] = inherited_entry(env, (enum variable)var);
    }
    size_t compat = env->values.len;
    compat_format(env->plan, local_rank, env->ports, &env->values);
    for (size_t i = 0; i < nown; i++)
        env->envp[n++] = env->values.data + offsets[i];
    for (; compat < env->values.len; compat += strlen(env->values.data + compat) + 1)
        env->envp[n++] = env->values.data + compat;
    env->envp[n] = NULL;
    return env->envp;
}
