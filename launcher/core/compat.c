#include "launcher/core/compat.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "launcher/core/node_plan.h"
#include "rendezvous/contract.h"

static const char *const presets[] = {[COMPAT_JAX] = "jax",
                                      [COMPAT_ACCELERATE_CPU] = "accelerate-cpu",
                                      [COMPAT_TF] = "tf",
                                      [COMPAT_PADDLE] = "paddle"};
static_assert(sizeof presets / sizeof presets[0] == COMPAT_COUNT, "one name a preset");

enum variable {
#define X(preset, name, meaning) VAR_##name,
    CONTRACT_COMPAT(X)
#undef X
        VARIABLE_COUNT
};

static const struct {
    enum compat_preset preset;
    const char *name;
} variables[] = {
#define X(preset, name, meaning) [VAR_##name] = {COMPAT_##preset, #name},
    CONTRACT_COMPAT(X)
#undef X
};
static_assert(sizeof variables / sizeof variables[0] == VARIABLE_COUNT, "one row a variable");

static bool has(unsigned set, enum compat_preset preset)
{
    return set >> preset & 1;
}

/* ---- the list ---- */

static int fail_preset(const char *where, struct str word, struct err *e)
{
    if (str_eq(word, "horovod"))
        return err_set(
            e, ERR_USAGE,
            "%s: horovod needs a rendezvous server of its own, which muster does not "
            "have; horovodrun starts it",
            where);
    return err_set(e, ERR_USAGE,
                   "%s: '%.*s' is no preset; known are jax, accelerate-cpu, tf, paddle", where,
                   word.n < 40 ? (int)word.n : 40, word.p);
}

int compat_parse(const char *where, const char *list, unsigned *set, struct err *e)
{
    struct str rest = str_from(list), word;
    *set = 0;
    if (strcmp(list, "none") == 0)
        return 0;
    while (str_split(&rest, ',', &word)) {
        int i = 0;
        word = str_trim(word);
        while (i < COMPAT_COUNT && !str_eq(word, presets[i]))
            i++;
        if (i == COMPAT_COUNT)
            return fail_preset(where, word, e);
        *set |= 1u << i;
    }
    return 0;
}

/* ---- ports: JAX's, then one a worker for TensorFlow, then Paddle's, then one a worker ---- */

static uint32_t ports_of(enum compat_preset preset, uint32_t n)
{
    switch (preset) {
    case COMPAT_JAX:
        return 1;
    case COMPAT_ACCELERATE_CPU:
        return 0;
    case COMPAT_TF:
        return n;
    case COMPAT_PADDLE:
        return n + 1;
    case COMPAT_COUNT:
        break;
    }
    return 0;
}

/* Of the presets before one. */
static uint32_t ports_before(unsigned set, enum compat_preset preset, uint32_t n)
{
    uint32_t sum = 0;
    for (int i = 0; i < (int)preset; i++)
        if (has(set, (enum compat_preset)i))
            sum += ports_of((enum compat_preset)i, n);
    return sum;
}

uint32_t compat_ports(unsigned set, uint32_t n)
{
    return ports_before(set, COMPAT_COUNT, n);
}

int compat_check(unsigned set, uint32_t nnodes, struct err *e)
{
    for (int i = 0; i < COMPAT_COUNT && nnodes > 1; i++)
        if (has(set, (enum compat_preset)i) && ports_of((enum compat_preset)i, 1))
            return err_set(e, ERR_USAGE,
                           "--compat=%s is for one node so far: the ports of its workers are "
                           "not known on others; this job has %u nodes",
                           presets[i], nnodes);
    return 0;
}

/* ---- variables ---- */

bool compat_is_own(unsigned set, const char *entry)
{
    size_t n = strcspn(entry, "=");
    for (int i = 0; i < VARIABLE_COUNT; i++)
        if (has(set, variables[i].preset) && strncmp(entry, variables[i].name, n) == 0
            && variables[i].name[n] == '\0')
            return true;
    return false;
}

uint32_t compat_variables(unsigned set)
{
    uint32_t n = 0;
    for (int i = 0; i < VARIABLE_COUNT; i++)
        n += has(set, variables[i].preset);
    return n;
}

struct worker {
    const struct node_plan *plan;
    const struct worker_plan *w;
    const uint16_t *ports; /* of the preset; NULL = not known */
};

static void add_endpoint(const struct worker *k, uint32_t port, struct buf *out)
{
    bool is_ipv6 = strchr(k->plan->order.master_addr, ':') != NULL;
    buf_addf(out, is_ipv6 ? "[%s]:" : "%s:", k->plan->order.master_addr);
    if (k->ports)
        buf_addf(out, "%u", k->ports[port]);
    else
        buf_adds(out, "(free port)");
}

/* Of each worker: the ports from first on. */
static void add_endpoints(const struct worker *k, uint32_t first, const char *quote,
                          struct buf *out)
{
    for (uint32_t i = 0; i < k->plan->order.nworkers; i++) {
        buf_addf(out, "%s%s", i ? "," : "", quote);
        add_endpoint(k, first + i, out);
        buf_adds(out, quote);
    }
}

/* What CUDA calls the GPUs of this worker under the binding. */
static bool add_devices(const struct worker *k, struct buf *out)
{
    const struct device_choice *choice = &k->plan->choice;
    int first =
        k->w->local_rank < (uint32_t)choice->nranks ? choice->ranks[k->w->local_rank].dev : -1;
    if (first < 0 || !k->w->gpu_index) /* none, or nobody knows */
        return false;
    int n = choice->gpus_per_proc > 0 ? choice->gpus_per_proc : 1;
    for (int i = 0; i < n; i++)
        buf_addf(out, "%s%d", i ? "," : "", first + i);
    return true;
}

static bool add_value(const struct worker *k, enum variable var, struct buf *out)
{
    const struct order *o = &k->plan->order;
    switch (var) {
    case VAR_JAX_COORDINATOR_ADDRESS:
    case VAR_PADDLE_MASTER:
        return add_endpoint(k, 0, out), true;
    case VAR_JAX_NUM_PROCESSES:
    case VAR_PADDLE_TRAINERS_NUM:
    case VAR_PADDLE_GLOBAL_SIZE:
        return buf_addf(out, "%u", o->world_size), true;
    case VAR_JAX_PROCESS_ID:
    case VAR_PADDLE_TRAINER_ID:
    case VAR_PADDLE_GLOBAL_RANK:
        return buf_addf(out, "%u", k->w->rank), true;
    case VAR_JAX_LOCAL_DEVICE_IDS:
    case VAR_FLAGS_selected_gpus:
        return add_devices(k, out);
    case VAR_ACCELERATE_USE_CPU:
        return buf_adds(out, "true"), true;
    case VAR_TF_CONFIG:
        buf_adds(out, "{\"cluster\": {\"worker\": [");
        add_endpoints(k, 0, "\"", out);
        buf_addf(out, "]}, \"task\": {\"type\": \"worker\", \"index\": %u}}", k->w->rank);
        return true;
    case VAR_PADDLE_TRAINER_ENDPOINTS:
        return add_endpoints(k, 1, "", out), true;
    case VAR_PADDLE_CURRENT_ENDPOINT:
        return add_endpoint(k, 1 + k->w->local_rank, out), true;
    case VAR_PADDLE_LOCAL_RANK:
    case VAR_PADDLE_RANK_IN_NODE:
        return buf_addf(out, "%u", k->w->local_rank), true;
    case VAR_PADDLE_LOCAL_SIZE:
        return buf_addf(out, "%u", o->nworkers), true;
    case VAR_PADDLE_NNODES:
        return buf_addf(out, "%u", o->nnodes), true;
    case VARIABLE_COUNT:
        break;
    }
    return false;
}

void compat_format(const struct node_plan *plan, uint32_t local_rank, const uint16_t *ports,
                   struct buf *out)
{
    for (int i = 0; i < VARIABLE_COUNT; i++) {
        enum compat_preset preset = variables[i].preset;
        size_t start = out->len;
        if (!has(plan->compat, preset))
            continue;
        uint32_t before = ports_before(plan->compat, preset, plan->order.nworkers);
        const struct worker k = {plan, &plan->workers[local_rank],
                                 ports ? ports + before : NULL};
        buf_addf(out, "%s=", variables[i].name);
        if (add_value(&k, (enum variable)i, out))
            buf_addc(out, '\0');
        else
            out->len = start;
    }
}
