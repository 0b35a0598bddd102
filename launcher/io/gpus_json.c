#include "launcher/io/gpus_json.h"
#include "launcher/io/json_text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* null for what is not known. */
static json_t *text(const char *s)
{
    return json_text(s && *s ? s : NULL);
}

static json_t *number(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

static json_t *ranks(const char *list)
{
    json_t *a = json_array();
    struct str rest = str_from(list), part;
    uint64_t n;
    while (str_split(&rest, ',', &part))
        if (str_parse_u64(part, 0, INT32_MAX, &n) == 0)
            json_array_append_new(a, json_integer((json_int_t)n));
    return a;
}

static json_t *pids(const struct device *d)
{
    json_t *a = json_array();
    for (int i = 0; i < d->npids; i++)
        json_array_append_new(a, json_integer(d->pids[i]));
    return a;
}

static json_t *mode(const struct device *d)
{
    switch (d->mode) {
    case COMPUTE_DEFAULT:
        return json_string("DEFAULT");
    case COMPUTE_PROHIBITED:
        return json_string("PROHIBITED");
    case COMPUTE_EXCLUSIVE_PROCESS:
        return json_string("EXCLUSIVE_PROCESS");
    }
    return json_null();
}

static json_t *gpu(const struct gpus_view *v, const struct gpus_row *row)
{
    const struct device *d = &v->inv->devices[row->unit.device];
    json_int_t total = (json_int_t)(d->mem_total >> 20),
               used = (json_int_t)((d->mem_total - d->mem_free) >> 20);
    json_t *o =
        json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "index", d->index, "uuid",
                  text(d->uuid), "pci", text(d->pci), "minor", number(d->minor), "numa",
                  number(d->numa), "name", text(d->name), "cuda", number(row->position));
    json_object_set_new(o, "ranks", ranks(row->ranks));
    json_object_set_new(o, "memory_total_mib", total ? json_integer(total) : json_null());
    json_object_set_new(o, "memory_used_mib", total ? json_integer(used) : json_null());
    json_object_set_new(o, "utilization_percent", number(d->util));
    json_object_set_new(o, "processes", number(d->nprocs));
    json_object_set_new(o, "pids", pids(d));
    json_object_set_new(o, "compute_mode", mode(d));
    json_object_set_new(o, "lost", json_boolean(d->lost));
    json_object_set_new(o, "mig_enabled", json_boolean(d->mig_enabled));
    json_object_set_new(o, "mig", json_array());
    return o;
}

static json_t *instance(const struct gpus_view *v, const struct gpus_row *row)
{
    const struct mig *m = &v->inv->devices[row->unit.device].mig[row->unit.mig];
    json_int_t total = (json_int_t)(m->mem_total >> 20);
    return json_pack("{s:i, s:i, s:i, s:o, s:o, s:o, s:o}", "slot", m->slot, "gi", m->gi, "ci",
                     m->ci, "uuid", text(m->uuid), "memory_total_mib",
                     total ? json_integer(total) : json_null(), "cuda", number(row->position),
                     "ranks", ranks(row->ranks));
}

static json_t *gpus(const struct gpus_view *v)
{
    json_t *a = json_array(), *parent = NULL;
    for (int i = 0; i < v->nrows; i++) {
        if (v->rows[i].unit.mig < 0) {
            parent = gpu(v, &v->rows[i]);
            json_array_append_new(a, parent);
        } else {
            json_array_append_new(json_object_get(parent, "mig"), instance(v, &v->rows[i]));
        }
    }
    return a;
}

static json_t *environment(const struct gpus_view *v)
{
    static const char *const names[] = {
        "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES",
        "SLURM_JOB_GPUS",       "SLURM_STEP_GPUS",   "CUDA_MPS_PIPE_DIRECTORY",
    };
    json_t *o = json_object();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = facts_getenv(v->facts, names[i]);
        if (value) /* "" is not the same as unset */
            json_object_set_new(o, names[i], *value ? text(value) : json_string(""));
    }
    return o;
}

static json_t *warnings(const struct gpus_view *v)
{
    json_t *a = json_array();
    for (int i = 0; v->has_choice && i < v->choice.nnotes; i++)
        json_array_append_new(a, json_pack("{s:s, s:o}", "class",
                                           gpu_warning_name(v->choice.notes[i].kind), "text",
                                           text(v->choice.notes[i].text)));
    return a;
}

/* What cuInit would return here; null where that cannot be known. */
static json_t *cuinit(const struct gpus_view *v)
{
    if (!v->inv || (!v->has_seen && v->fault.class != GPU_E_AMBIENT_BAD))
        return json_null();
    return json_integer(!v->has_seen ? 101 : v->seen.nunits ? 0 : 100);
}

void gpus_json(const struct gpus_view *v, struct buf *out)
{
    json_t *words = json_array();
    for (size_t i = 0; i < v->nwords; i++)
        json_array_append_new(words, text(v->words[i]));
    json_t *root = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "schema", "muster-gpus/1", "host",
        text(v->facts->host), "source", text(v->source.name), "gpus", gpus(v), "environment",
        environment(v), "cuinit", cuinit(v), "binding", binding_name(v->opt->binding),
        "refused", v->has_choice ? json_null() : text(v->refusal.text), "warnings", warnings(v),
        "words", words);
    char *json = json_dumps(root, JSON_INDENT(2));
    buf_adds(out, json ? json : "{}");
    buf_addc(out, '\n');
    free(json);
    json_decref(root);
}
