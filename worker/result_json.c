#include "worker/result.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

static void json_key(struct buf *out, const char *key)
{
    buf_addf(out, "\"%s\":", key);
}

static void json_string(struct buf *out, const char *key, const char *value)
{
    json_key(out, key);
    buf_add_json(out, value, strlen(value));
}

static void json_number(struct buf *out, double v)
{
    if (isfinite(v))
        buf_addf(out, "%.6g", v);
    else
        buf_adds(out, "null");
}

static void json_time(struct buf *out, uint64_t ms)
{
    buf_addf(out, "%llu.%03llu", (unsigned long long)ms / 1000, (unsigned long long)ms % 1000);
}

/* null for what was not measured. */
static void json_measured(struct buf *out, double v)
{
    json_number(out, v > 0 ? v : (double)NAN);
}

static void json_times(const struct result *r, const struct result_row *w, struct buf *out)
{
    buf_adds(out, "\"time_us\":{\"mean\":");
    json_number(out, w->mean_us);
    buf_adds(out, ",\"min\":");
    json_number(out, w->min_us);
    buf_adds(out, ",\"max\":");
    json_number(out, w->max_us);
    buf_adds(out, ",\"per_rank\":[");
    for (uint32_t i = 0; i < r->world_size; i++) {
        if (i)
            buf_addc(out, ',');
        json_number(out, w->per_rank_us[i]);
    }
    buf_adds(out, "]}");
}

static const char *const verdict_words[] = {
#define X(name, word) [ROW_##name] = word,
    ROW_VERDICTS(X)
#undef X
};

static void json_row(const struct result *r, const struct result_row *w, struct buf *out)
{
    buf_addc(out, '{');
    json_string(out, "collective", collective_name(w->collective));
    buf_addf(out, ",\"dtype\":\"%s\",\"op\":", type_name(w->type));
    if (collective_reduces(w->collective))
        buf_addf(out, "\"%s\"", op_name(w->op));
    else
        buf_adds(out, "null");
    buf_adds(out, ",\"root\":");
    if (collective_is_rooted(w->collective))
        buf_addf(out, "%u", w->root);
    else
        buf_adds(out, "null");
    buf_addf(out, ",\"bytes\":%llu,\"count\":%llu,\"placement\":\"%s\",\"iters\":%u,",
             (unsigned long long)w->bytes, (unsigned long long)w->count,
             w->in_place ? "in-place" : "out-of-place", w->iters);
    json_times(r, w, out);
    buf_adds(out, ",\"algbw\":");
    json_number(out, w->algbw);
    buf_adds(out, ",\"busbw\":");
    json_number(out, r->world_size > 1 ? w->busbw : (double)NAN);
    buf_adds(out, ",\"expected\":");
    json_measured(out, w->expected);
    buf_adds(out, ",\"ratio\":");
    json_number(out, w->expected > 0 ? w->ratio : (double)NAN);
    buf_adds(out, ",\"wrong\":");
    if (w->is_checked)
        buf_addf(out, "%llu", (unsigned long long)w->wrong);
    else
        buf_adds(out, "null");
    buf_addf(out, ",\"verdict\":\"%s\"}", verdict_words[w->verdict]);
}

/* null where nothing of it was measured. */
static void json_square(const struct links *l, const char *key, const double *square,
                        struct buf *out)
{
    double sum = 0;
    size_t n = l->n;
    for (size_t i = 0; i < n * n; i++)
        sum += square[i];
    json_key(out, key);
    if (!(sum > 0)) {
        buf_adds(out, "null");
        return;
    }
    for (size_t a = 0; a < n; a++) {
        buf_adds(out, a ? "],[" : "[[");
        for (size_t b = 0; b < n; b++) {
            if (b)
                buf_addc(out, ',');
            json_measured(out, square[a * n + b]);
        }
    }
    buf_adds(out, "]]");
}

static void json_outlier(const struct links_outlier *o, struct buf *out)
{
    buf_addf(out, "{\"a\":%u,\"b\":", o->a);
    if (o->kind == LINKS_LINK)
        buf_addf(out, "%u", o->b);
    else
        buf_adds(out, "null");
    buf_adds(out, ",\"ratio\":");
    json_number(out, o->median > 0 ? o->gbs / o->median : (double)NAN);
    buf_addf(out, ",\"kind\":\"%s\"}", o->kind == LINKS_LINK ? "link" : "rank");
}

static void json_pairs(const struct links *l, struct buf *out)
{
    if (l->n == 0) {
        buf_adds(out, "null");
        return;
    }
    buf_addf(out, "{\"bytes\":%llu,", (unsigned long long)l->bytes);
    json_square(l, "uni", l->uni, out);
    buf_addc(out, ',');
    json_square(l, "bidi", l->bidi, out);
    buf_addc(out, ',');
    json_square(l, "latency_us", l->latency_us, out);
    buf_adds(out, ",\"outliers\":[");
    for (size_t i = 0; i < l->noutliers; i++) {
        if (i)
            buf_addc(out, ',');
        json_outlier(&l->outliers[i], out);
    }
    buf_adds(out, "]}");
}

static void json_isolate(const struct result *r, struct buf *out)
{
    const struct result_isolate *s = &r->isolate;
    if (!s->without) {
        buf_adds(out, "null");
        return;
    }
    buf_addf(out, "{\"bytes\":%llu,\"with_all\":", (unsigned long long)s->bytes);
    json_measured(out, s->with_all);
    buf_adds(out, ",\"without\":[");
    for (uint32_t i = 0; i < r->world_size; i++) {
        if (i)
            buf_addc(out, ',');
        json_measured(out, s->without[i]);
    }
    buf_adds(out, "]}");
}

static void json_rank(const struct result_rank *k, struct buf *out)
{
    uint64_t pid = 0;
    str_parse_u64(str_from(k->pid), 0, UINT32_MAX, &pid);
    buf_addf(out, "{\"rank\":%u,", k->rank);
    json_string(out, "host", k->host);
    buf_addf(out, ",\"pid\":%llu,\"local_rank\":%u,\"device\":", (unsigned long long)pid,
             k->local_rank);
    if (k->device >= 0) {
        buf_addf(out, "%d,", k->device);
        json_string(out, "gpu_uuid", k->gpu_uuid);
        buf_addc(out, ',');
        json_string(out, "pci", k->pci);
        buf_addc(out, ',');
        json_string(out, "name", k->name);
    } else {
        buf_adds(out, "null,\"gpu_uuid\":null,\"pci\":null,\"name\":null");
    }
    buf_adds(out, ",\"init_s\":");
    json_number(out, k->init_s);
    buf_addc(out, '}');
}

static void json_env(const struct result *r, struct buf *out)
{
    bool first = true;
    buf_addc(out, '{');
    for (char **v = r->env; v && *v; v++) {
        size_t n = strcspn(*v, "=");
        if (!result_env_is_allowed(*v, n) || (*v)[n] != '=')
            continue;
        const char *value = result_env_is_secret(*v, n) ? "***" : *v + n + 1;
        if (!first)
            buf_addc(out, ',');
        first = false;
        buf_add_json(out, *v, n);
        buf_addc(out, ':');
        buf_add_json(out, value, strlen(value));
    }
    buf_addc(out, '}');
}

static void json_errors(const struct result *r, struct buf *out)
{
    struct str rest = {r->errors.data, r->errors.len}, line;
    bool first = true;
    buf_addc(out, '[');
    while (r->errors.len && str_split(&rest, '\n', &line)) {
        if (line.n == 0)
            continue;
        if (!first)
            buf_addc(out, ',');
        first = false;
        buf_add_json(out, line.p, line.n);
    }
    buf_addc(out, ']');
}

static void json_head(const struct result *r, struct buf *out)
{
    struct buf text;
    buf_init(&text, 0);
    result_verdict(r, &text);
    buf_adds(out, "{\"schema\":\"muster.check/1\",");
    json_string(out, "muster", MUSTER_VERSION);
    buf_adds(out, ",\"started\":");
    json_time(out, r->started_ms);
    buf_adds(out, ",\"duration_s\":");
    json_number(out, r->duration_s);
    buf_addf(out, ",\"verdict\":{\"status\":\"%s\",\"exit\":%d,",
             r->status      ? "fail"
             : r->is_warned ? "warn"
                            : "pass",
             r->status);
    json_string(out, "text", buf_str(&text));
    buf_adds(out, "},\"job\":{");
    json_string(out, "id", r->job_id);
    buf_addf(out, ",\"world_size\":%u,\"nodes\":%u,", r->world_size, r->nodes);
    json_string(out, "backend", r->backend);
    buf_adds(out, "},\"nccl\":");
    if (*r->nccl_version) {
        buf_addc(out, '{');
        json_string(out, "version", r->nccl_version);
        buf_addc(out, ',');
        json_string(out, "path", r->nccl_path);
        buf_addf(out, "},\"cuda\":{\"driver\":%d,\"runtime\":%d}", r->cuda_driver,
                 r->cuda_runtime);
    } else {
        buf_adds(out, "null,\"cuda\":null");
    }
    buf_fini(&text);
}

void result_json(const struct result *r, struct buf *out)
{
    json_head(r, out);
    buf_adds(out, ",\"env\":");
    json_env(r, out);
    buf_adds(out, ",\"ranks\":[");
    for (uint32_t i = 0; i < r->world_size; i++) {
        if (i)
            buf_addc(out, ',');
        json_rank(&r->ranks[i], out);
    }
    buf_adds(out, "],\"preflight\":[],\"errors\":");
    json_errors(r, out);
    buf_adds(out, ",\"results\":[");
    for (size_t i = 0; i < r->nrows; i++) {
        if (i)
            buf_addc(out, ',');
        json_row(r, &r->rows[i], out);
    }
    buf_adds(out, "],\"pairs\":");
    json_pairs(&r->links, out);
    buf_adds(out, ",\"isolate\":");
    json_isolate(r, out);
    buf_adds(out, "}\n");
}
