#include "launcher/io/plan_json.h"
#include "launcher/io/json_text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/core/plan_env.h"
#include "launcher/core/streams.h"

static json_t *texts(char *const *list)
{
    json_t *a = json_array();
    for (; *list; list++)
        json_array_append_new(a, json_text(*list));
    return a;
}

static json_t *element(const char *list, int k)
{
    struct str rest = str_from(list), part;
    while (str_split(&rest, ',', &part))
        if (k-- == 0)
            return json_stringn(part.p, part.n);
    return json_null();
}

static json_t *gpus(const struct plan_view *v, uint32_t r)
{
    const struct worker_plan *w = &v->plan->workers[r];
    json_t *a = json_array();
    for (int k = 0; w->gpu_index && k < v->plan->choice.gpus_per_proc; k++) {
        struct str index = STR_LIT(""), rest = str_from(w->gpu_index);
        for (int i = 0; i <= k; i++)
            str_split(&rest, ',', &index);
        uint64_t n = 0;
        str_parse_u64(index, 0, INT32_MAX, &n);
        json_array_append_new(a,
                              json_pack("{s:I, s:o, s:o, s:i}", "index", (json_int_t)n, "uuid",
                                        element(w->gpu_uuid, k), "pci", element(w->gpu_pci, k),
                                        "cuda", plan_cuda_ordinal(v->plan, r, k)));
    }
    return a;
}

static json_t *environment(const struct plan_env *env, uint32_t r)
{
    json_t *o = json_object();
    for (size_t i = 0; i < env->nvars; i++)
        if (env->vars[i].values[r])
            json_object_set_new(o, env->vars[i].name, json_text(env->vars[i].values[r]));
    return o;
}

static json_t *names(const char *const *entries, size_t n)
{
    json_t *a = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(a, json_stringn(entries[i], strcspn(entries[i], "=")));
    return a;
}

static json_t *log_file(const struct plan_view *v, const char *dir, uint32_t r,
                        enum log_kind kind)
{
    unsigned stream = kind == LOG_KIND_OUT ? STREAM_OUT : STREAM_ERR;
    if (!dir || !(streams_logged(v->opt, r) & stream))
        return json_null();
    struct buf path;
    buf_init(&path, 0);
    log_path_format(v->plan->layout, dir, kind, v->plan->workers[r].rank, r, &path);
    json_t *j = json_text(buf_str(&path));
    buf_fini(&path);
    return j;
}

static json_t *worker(const struct plan_view *v, const struct plan_env *env, const char *dir,
                      uint32_t r)
{
    const struct worker_plan *w = &v->plan->workers[r];
    json_t *o =
        json_pack("{s:i, s:i, s:i, s:o, s:o, s:o}", "rank", (int)w->rank, "local_rank",
                  (int)w->local_rank, "node", (int)v->plan->order.node_rank, "host",
                  json_text(v->facts->host), "gpus", gpus(v, r), "cpus", json_text(w->cpus));
    json_object_set_new(o, "mem_node",
                        w->cpus && w->mem_node >= 0 ? json_integer(w->mem_node) : json_null());
    json_object_set_new(o, "wrapped", w->wrapped ? texts(w->wrapped) : json_null());
    json_object_set_new(o, "owns_terminal", json_boolean(w->owns_terminal));
    json_object_set_new(o, "environment", environment(env, r));
    json_object_set_new(o, "stdout", log_file(v, dir, r, LOG_KIND_OUT));
    json_object_set_new(o, "stderr", log_file(v, dir, r, LOG_KIND_ERR));
    return o;
}

json_t *plan_json_options(const struct options *opt)
{
    json_t *o = json_object();
    struct buf value, from;
    buf_init(&value, 0);
    buf_init(&from, 0);
    for (int id = 0; id < OPTION_ID_COUNT; id++) {
        if (id == OPTION_HELP || id == OPTION_JSON)
            continue;
        buf_reset(&value);
        buf_reset(&from);
        options_value_format(opt, (enum option_id)id, &value);
        options_origin_format(opt, (enum option_id)id, &from);
        json_object_set_new(o, options_name((enum option_id)id),
                            json_pack("{s:o, s:s}", "value",
                                      value.len ? json_text(buf_str(&value)) : json_null(),
                                      "from", buf_str(&from)));
    }
    buf_fini(&value);
    buf_fini(&from);
    return o;
}

static json_t *warnings(const struct device_choice *c)
{
    json_t *a = json_array();
    for (int i = 0; i < c->nnotes; i++)
        json_array_append_new(a, json_pack("{s:s, s:o}", "class",
                                           gpu_warning_name(c->notes[i].kind), "text",
                                           json_text(c->notes[i].text)));
    return a;
}

void plan_json(const struct plan_view *v, struct buf *out)
{
    const struct node_plan *plan = v->plan;
    char *dir = plan_log_dir(v->opt, plan);
    struct plan_env env;
    plan_env_init(&env, v->opt, v->facts, plan, dir);
    json_t *workers = json_array();
    for (uint32_t r = 0; r < plan->order.nworkers; r++)
        json_array_append_new(workers, worker(v, &env, dir, r));
    json_t *root = json_pack(
        "{s:s, s:i, s:i, s:s, s:o, s:o, s:o, s:o}", "schema", "muster-plan/1", "world_size",
        (int)plan->order.world_size, "nodes", (int)plan->order.nnodes, "binding",
        binding_name(plan->binding), "program", json_text(v->program), "argv",
        texts(plan->argv), "master_addr", json_text(plan->order.master_addr), "master_port",
        v->opt->master_port ? json_integer(v->opt->master_port) : json_null());
    json_object_set_new(root, "workers", workers);
    json_object_set_new(root, "hidden", names(env.hidden, env.nhidden));
    json_object_set_new(root, "passed", names(env.passed, env.npassed));
    json_object_set_new(root, "options", plan_json_options(v->opt));
    json_object_set_new(root, "warnings", warnings(&plan->choice));
    char *json = json_dumps(root, JSON_INDENT(2));
    buf_adds(out, json ? json : "{}");
    buf_addc(out, '\n');
    free(json);
    json_decref(root);
    plan_env_fini(&env);
    free(dir);
}
