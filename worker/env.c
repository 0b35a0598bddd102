#include "worker/env.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "rendezvous/contract.h"

enum variable {
#define X(name, when, meaning) VAR_##name,
    CONTRACT_VARIABLES(X)
#undef X
        VAR_COUNT
};

static const char *const names[] = {
#define X(name, when, meaning) [VAR_##name] = #name,
    CONTRACT_VARIABLES(X)
#undef X
};
static_assert(sizeof names / sizeof names[0] == VAR_COUNT, "one name a variable");

struct source {
    const char *(*get)(void *ctx, const char *name);
    void *ctx;
};

static const char *value(const struct source *s, enum variable v)
{
    const char *text = s->get(s->ctx, names[v]);
    return text && *text ? text : NULL;
}

/* A number of the contract; fallback where the variable is absent. */
static int number(const struct source *s, enum variable v, uint64_t max, uint32_t fallback,
                  uint32_t *out, struct err *e)
{
    const char *text = value(s, v);
    uint64_t n = fallback;
    if (text && str_parse_u64(str_from(text), 0, max, &n) < 0)
        return err_set(e, ERR_USAGE, "%s=\"%s\" is not a number from 0 to %llu", names[v], text,
                       (unsigned long long)max);
    *out = (uint32_t)n;
    return 0;
}

static int demand(const struct source *s, const enum variable *list, size_t n, struct err *e)
{
    char missing[128] = "";
    for (size_t i = 0; i < n; i++)
        if (!value(s, list[i]))
            snprintf(missing + strlen(missing), sizeof missing - strlen(missing), " %s",
                     names[list[i]]);
    if (!*missing)
        return 0;
    return err_set(e, ERR_USAGE,
                   "not started by a launcher:%s not set; start it with: muster -n 2 "
                   "muster-worker",
                   missing);
}

static int read_ranks(struct env *env, const struct source *s, struct err *e)
{
    if (number(s, VAR_RANK, UINT32_MAX / 2, 0, &env->rank, e) < 0
        || number(s, VAR_WORLD_SIZE, UINT32_MAX / 2, 0, &env->world_size, e) < 0
        || number(s, VAR_LOCAL_WORLD_SIZE, UINT32_MAX / 2, env->world_size,
                  &env->local_world_size, e)
               < 0
        || number(s, VAR_GROUP_WORLD_SIZE, UINT32_MAX / 2, 0, &env->nodes, e) < 0
        || number(s, VAR_GROUP_RANK, UINT32_MAX / 2, 0, &env->node_rank, e) < 0
        || number(s, VAR_TORCHELASTIC_RESTART_COUNT, UINT32_MAX, 0, &env->generation, e) < 0)
        return -1;
    enum variable local =
        value(s, VAR_MUSTER_LOCAL_RANK) ? VAR_MUSTER_LOCAL_RANK : VAR_LOCAL_RANK;
    return number(s, local, UINT32_MAX / 2, env->rank, &env->local_rank, e);
}

static int criticise(struct env *env, struct err *e)
{
    if (env->world_size == 0)
        return err_set(e, ERR_USAGE, "WORLD_SIZE is 0");
    if (env->rank >= env->world_size)
        return err_set(e, ERR_USAGE, "RANK=%u, but WORLD_SIZE=%u: ranks go from 0 to %u",
                       env->rank, env->world_size, env->world_size - 1);
    if (env->local_world_size == 0 || env->local_world_size > env->world_size)
        return err_set(e, ERR_USAGE, "LOCAL_WORLD_SIZE=%u does not fit WORLD_SIZE=%u",
                       env->local_world_size, env->world_size);
    if (env->local_rank >= env->local_world_size)
        return err_set(e, ERR_USAGE, "local rank %u, but LOCAL_WORLD_SIZE=%u", env->local_rank,
                       env->local_world_size);
    if (env->nodes == 0)
        env->nodes = (env->world_size + env->local_world_size - 1) / env->local_world_size;
    if (env->nodes == 1 && env->local_world_size != env->world_size)
        return err_set(e, ERR_USAGE, "one node, but LOCAL_WORLD_SIZE=%u and WORLD_SIZE=%u",
                       env->local_world_size, env->world_size);
    if (env->node_rank >= env->nodes)
        return err_set(e, ERR_USAGE, "GROUP_RANK=%u, but %u nodes", env->node_rank, env->nodes);
    return 0;
}

static int read_store(struct env *env, const struct source *s, struct err *e)
{
    static const enum variable needed[] = {VAR_MASTER_ADDR, VAR_MASTER_PORT};
    uint32_t port = 0;
    bool has_store = value(s, VAR_MASTER_ADDR) && value(s, VAR_MASTER_PORT);
    if (env->world_size > 1 && demand(s, needed, 2, e) < 0)
        return -1;
    if (!has_store)
        return 0;
    if (number(s, VAR_MASTER_PORT, UINT16_MAX, 0, &port, e) < 0)
        return -1;
    const char *agent = value(s, VAR_TORCHELASTIC_USE_AGENT_STORE);
    if (agent && strcmp(agent, "True") != 0) {
        if (env->world_size == 1)
            return 0;
        return err_set(e, ERR_USAGE,
                       "TORCHELASTIC_USE_AGENT_STORE=%s: this launcher serves no store, and "
                       "muster-worker is only a client of one; start it with muster",
                       agent);
    }
    env->master_addr = value(s, VAR_MASTER_ADDR);
    env->master_port = (uint16_t)port;
    return 0;
}

static int read_device(struct env *env, const struct source *s, struct err *e)
{
    env->binding = value(s, VAR_MUSTER_BINDING);
    env->gpu_uuid = value(s, VAR_MUSTER_GPU_UUID);
    env->gpu_pci = value(s, VAR_MUSTER_GPU_PCI_BUS_ID);
    static const char *const first_device[] = {"isolated", "isolated-virtual", "rotated"};
    for (size_t i = 0; env->binding && i < sizeof first_device / sizeof *first_device; i++)
        if (strcmp(env->binding, first_device[i]) == 0) {
            env->cuda_ordinal = 0;
            return 0;
        }
    return number(s, VAR_LOCAL_RANK, UINT32_MAX / 2, env->local_rank, &env->cuda_ordinal, e);
}

int env_read(struct env *env, const char *(*get)(void *ctx, const char *name), void *ctx,
             struct err *e)
{
    static const enum variable needed[] = {VAR_RANK, VAR_WORLD_SIZE};
    const struct source s = {get, ctx};
    *env = (struct env){.job_id = ""};
    if (demand(&s, needed, 2, e) < 0 || read_ranks(env, &s, e) < 0 || criticise(env, e) < 0
        || read_store(env, &s, e) < 0)
        return -1;
    const char *job = value(&s, VAR_MUSTER_JOB_ID);
    if (!job)
        job = value(&s, VAR_TORCHELASTIC_RUN_ID);
    if (job)
        env->job_id = job;
    return read_device(env, &s, e);
}
