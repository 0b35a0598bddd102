#include "launcher/io/hosts_gpus_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/plan_text.h"
#include "launcher/io/json_text.h"

json_t *hosts_gpus_parse(const char *text, struct err *e)
{
    json_error_t why;
    json_t *root = json_loads(text, 0, &why);
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (schema && strcmp(schema, "muster-gpus/1") == 0
        && json_is_array(json_object_get(root, "gpus")))
        return root;
    json_decref(root);
    err_set(e, ERR_PROTOCOL, "its answer is none: %.80s",
            root ? "not of the schema muster-gpus/1" : why.text);
    return NULL;
}

void hosts_gpus_release(json_t *answer)
{
    json_decref(answer);
}

/* ---- one GPU */

static char *number_of(const json_t *value, const char *otherwise)
{
    if (json_is_integer(value))
        return mem_printf("%lld", (long long)json_integer_value(value));
    return mem_strdup(otherwise);
}

static char *cuda_of(const json_t *answer, const json_t *gpu)
{
    const json_t *ordinal = json_object_get(gpu, "cuda"),
                 *cuinit = json_object_get(answer, "cuinit");
    if (json_is_integer(ordinal))
        return mem_printf("cuda:%lld", (long long)json_integer_value(ordinal));
    return mem_strdup(!json_is_integer(cuinit)            ? "?"
                      : json_integer_value(cuinit) == 101 ? "error"
                                                          : "hidden");
}

static void add_ranks(const json_t *of, struct buf *out)
{
    const json_t *list = json_object_get(of, "ranks");
    for (size_t i = 0; i < json_array_size(list); i++)
        buf_addf(out, "%s%lld", out->len ? "," : "",
                 (long long)json_integer_value(json_array_get(list, i)));
}

/* Its own, and those of its MIG instances. */
static char *ranks_of(const json_t *gpu)
{
    const json_t *mig = json_object_get(gpu, "mig");
    struct buf text;
    buf_init(&text, 0);
    add_ranks(gpu, &text);
    for (size_t i = 0; i < json_array_size(mig); i++)
        add_ranks(json_array_get(mig, i), &text);
    if (!text.len)
        buf_addc(&text, '-');
    return buf_steal(&text);
}

static char *name_of(const json_t *gpu)
{
    size_t ninstances = json_array_size(json_object_get(gpu, "mig"));
    const char *name = json_string_value(json_object_get(gpu, "name"));
    struct buf text;
    buf_init(&text, 0);
    plan_text_value(name ? name : "?", &text);
    if (json_is_true(json_object_get(gpu, "mig_enabled")))
        buf_addf(&text, " (MIG on, %zu instance%s)", ninstances, ninstances == 1 ? "" : "s");
    return buf_steal(&text);
}

static char *use_of(const json_t *gpu)
{
    const json_t *n = json_object_get(gpu, "processes");
    if (json_is_true(json_object_get(gpu, "lost")))
        return mem_strdup("LOST: it has fallen off the bus");
    if (!json_is_integer(n))
        return mem_strdup("?");
    if (!json_integer_value(n))
        return mem_strdup("nobody");
    return mem_printf("%lld process%s", (long long)json_integer_value(n),
                      json_integer_value(n) == 1 ? "" : "es");
}

void hosts_gpus_read(const json_t *answer, struct hosts_gpus *out)
{
    const json_t *gpus = json_object_get(answer, "gpus");
    for (size_t i = 0; i < json_array_size(gpus); i++) {
        const json_t *gpu = json_array_get(gpus, i);
        array_grow(out->rows, out->nrows, out->cap);
        out->rows[out->nrows++] = (struct hosts_gpus_row){
            .cells = {[HOSTS_GPUS_INDEX] = number_of(json_object_get(gpu, "index"), "?"),
                      [HOSTS_GPUS_CUDA] = cuda_of(answer, gpu),
                      [HOSTS_GPUS_RANK] = ranks_of(gpu),
                      [HOSTS_GPUS_NAME] = name_of(gpu),
                      [HOSTS_GPUS_MEMORY] =
                          number_of(json_object_get(gpu, "memory_total_mib"), "-"),
                      [HOSTS_GPUS_USE] = use_of(gpu)}};
    }
}

void hosts_gpus_fini(struct hosts_gpus *h)
{
    for (size_t r = 0; r < h->nrows; r++)
        for (int c = 0; c < HOSTS_GPUS_COLUMN_COUNT; c++)
            free(h->rows[r].cells[c]);
    free(h->rows);
}

/* ---- the answer, and all */

void hosts_gpus_remark(const json_t *answer, int status, struct buf *out)
{
    const char *text = NULL;
    if (!json_array_size(json_object_get(answer, "gpus")))
        text = json_string_value(json_array_get(json_object_get(answer, "words"), 0));
    else if (status)
        text = json_string_value(json_object_get(answer, "refused"));
    if (text)
        plan_text_value(text, out);
}

void hosts_gpus_json(const struct hosts_gpus_entry *list, size_t n, struct buf *out)
{
    json_t *hosts = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(
            hosts, json_pack("{s:o, s:o, s:O?}", "host", json_text(list[i].host), "failed",
                             list[i].answer ? json_null() : json_text(list[i].why), "answer",
                             list[i].answer));
    json_t *root = json_pack("{s:s, s:o}", "schema", "muster-hosts-gpus/1", "hosts", hosts);
    char *json = json_dumps(root, JSON_INDENT(2));
    buf_adds(out, json ? json : "{}");
    buf_addc(out, '\n');
    free(json);
    json_decref(root);
}
