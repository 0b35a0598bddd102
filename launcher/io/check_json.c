#include "launcher/io/check_json.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/io/json_text.h"

static const char schema[] = "muster.check/1";

/* More than any group has; a matrix is square. */
enum { RANKS_MAX = 1 << 20, MATRIX_MAX = 4096 };

/* ---- reading ---- */

static char *text_of(const json_t *o, const char *key)
{
    return mem_strdup(json_string_value(json_object_get(o, key)));
}

static double number_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static uint64_t count_of(const json_t *o, const char *key, uint64_t most)
{
    const json_t *v = json_object_get(o, key);
    json_int_t n = json_is_integer(v) ? json_integer_value(v) : 0;
    return n > 0 && (uint64_t)n <= most ? (uint64_t)n : 0;
}

static double or_zero(double v)
{
    return isfinite(v) ? v : 0;
}

static void read_rank(const json_t *o, struct check_rank *k)
{
    const json_t *device = json_object_get(o, "device");
    double init = number_of(o, "init_s");
    json_int_t ordinal = json_is_integer(device) ? json_integer_value(device) : -1;
    k->local_rank = (uint32_t)count_of(o, "local_rank", UINT32_MAX);
    k->pid = (uint32_t)count_of(o, "pid", UINT32_MAX);
    k->device = ordinal >= 0 && ordinal < 1024 ? (int)ordinal : -1;
    k->init_s = init >= 0 ? init : -1;
    k->host = text_of(o, "host");
    k->gpu_uuid = text_of(o, "gpu_uuid");
    k->pci = text_of(o, "pci");
    k->name = text_of(o, "name");
}

/* Ranks stand in their order; an entry that says otherwise is not believed. */
static void read_ranks(const json_t *root, struct check_result *r)
{
    const json_t *list = json_object_get(root, "ranks");
    size_t n = json_array_size(list);
    if (!n || n > RANKS_MAX)
        return;
    check_result_set_ranks(r, n);
    for (size_t i = 0; i < n; i++)
        read_rank(json_array_get(list, i), &r->ranks[i]);
}

static void read_times(const json_t *o, struct check_row *row)
{
    const json_t *list = json_object_get(o, "per_rank");
    size_t n = json_array_size(list);
    row->mean_us = number_of(o, "mean");
    row->min_us = number_of(o, "min");
    row->max_us = number_of(o, "max");
    row->per_rank_us = mem_alloc(n, sizeof *row->per_rank_us);
    for (row->nper_rank = 0; row->nper_rank < n; row->nper_rank++) {
        const json_t *v = json_array_get(list, row->nper_rank);
        row->per_rank_us[row->nper_rank] = json_is_number(v) ? json_number_value(v) : 0;
    }
}

static void read_row(const json_t *o, struct check_row *row)
{
    const char *placement = json_string_value(json_object_get(o, "placement"));
    row->collective = text_of(o, "collective");
    row->dtype = text_of(o, "dtype");
    row->op = text_of(o, "op");
    row->is_in_place = placement && strcmp(placement, "in-place") == 0;
    row->bytes = count_of(o, "bytes", INT64_MAX);
    row->count = count_of(o, "count", INT64_MAX);
    row->iters = (uint32_t)count_of(o, "iters", UINT32_MAX);
    row->is_checked = json_is_integer(json_object_get(o, "wrong"));
    row->wrong = count_of(o, "wrong", INT64_MAX);
    row->algbw = number_of(o, "algbw");
    row->busbw = number_of(o, "busbw");
    read_times(json_object_get(o, "time_us"), row);
}

static void read_rows(const json_t *root, struct check_result *r)
{
    const json_t *list = json_object_get(root, "results");
    size_t cap = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        read_row(json_array_get(list, i), check_result_add_row(r, &cap));
}

static void read_matrix(const json_t *list, struct check_matrix *m)
{
    size_t n = json_array_size(list);
    if (!n || n > MATRIX_MAX)
        return;
    check_matrix_set(m, n);
    for (size_t a = 0; a < n; a++) {
        const json_t *row = json_array_get(list, a);
        for (size_t b = 0; b < n; b++) {
            const json_t *v = json_array_get(row, b);
            if (json_is_number(v))
                m->at[a * n + b] = json_number_value(v);
        }
    }
}

static int32_t rank_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    json_int_t n = json_is_integer(v) ? json_integer_value(v) : -1;
    return n >= 0 && n < RANKS_MAX ? (int32_t)n : -1;
}

static void read_pairs(const json_t *root, struct check_pairs *p)
{
    const json_t *o = json_object_get(root, "pairs"), *list = json_object_get(o, "outliers");
    p->bytes = count_of(o, "bytes", INT64_MAX);
    read_matrix(json_object_get(o, "uni"), &p->uni);
    read_matrix(json_object_get(o, "bidi"), &p->bidi);
    read_matrix(json_object_get(o, "latency_us"), &p->latency);
    p->outliers = mem_alloc(json_array_size(list), sizeof *p->outliers);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        struct check_outlier found = {.a = rank_of(v, "a"),
                                      .b = rank_of(v, "b"),
                                      .ratio = or_zero(number_of(v, "ratio"))};
        if (found.a < 0)
            continue;
        found.kind = text_of(v, "kind");
        p->outliers[p->noutliers++] = found;
    }
}

static void read_isolate(const json_t *root, struct check_isolate *s)
{
    const json_t *o = json_object_get(root, "isolate"), *list = json_object_get(o, "without");
    size_t n = json_array_size(list);
    if (!n || n > MATRIX_MAX)
        return;
    s->bytes = count_of(o, "bytes", INT64_MAX);
    s->with_all = or_zero(number_of(o, "with_all"));
    s->without = mem_alloc(n, sizeof *s->without);
    for (s->n = 0; s->n < n; s->n++) {
        const json_t *v = json_array_get(list, s->n);
        s->without[s->n] = json_is_number(v) ? json_number_value(v) : 0;
    }
}

static void read_texts(const json_t *list, struct check_text *out)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text)
            check_text_add(out, text);
    }
}

static void read_job(const json_t *root, struct check_result *r)
{
    const json_t *job = json_object_get(root, "job"), *nccl = json_object_get(root, "nccl"),
                 *cuda = json_object_get(root, "cuda");
    r->job_id = text_of(job, "id");
    r->backend = text_of(job, "backend");
    r->world_size = (uint32_t)count_of(job, "world_size", UINT32_MAX);
    r->nodes = (uint32_t)count_of(job, "nodes", UINT32_MAX);
    r->nccl_version = text_of(nccl, "version");
    r->nccl_path = text_of(nccl, "path");
    r->cuda_driver = (int)count_of(cuda, "driver", INT32_MAX);
    r->cuda_runtime = (int)count_of(cuda, "runtime", INT32_MAX);
    r->started_s = or_zero(number_of(root, "started"));
    r->duration_s = or_zero(number_of(root, "duration_s"));
}

/* A new reference, or NULL with ERR_PROTOCOL. */
static json_t *load(const char *text, size_t len, struct err *e)
{
    json_error_t why;
    json_t *root = json_loadb(text, len, 0, &why);
    const char *found = json_string_value(json_object_get(root, "schema"));
    if (root && found && strcmp(found, schema) == 0)
        return root;
    if (!root)
        err_set(e, ERR_PROTOCOL, "the worker's result is no JSON: %s, line %d", why.text,
                why.line);
    else
        err_set(e, ERR_PROTOCOL, "the worker's result is not of schema %s", schema);
    json_decref(root);
    return NULL;
}

int check_json_read(const char *text, size_t len, struct check_result *r, struct err *e)
{
    json_t *root = load(text, len, e);
    if (!root)
        return -1;
    read_job(root, r);
    read_ranks(root, r);
    read_rows(root, r);
    read_pairs(root, &r->pairs);
    read_isolate(root, &r->isolate);
    read_texts(json_object_get(root, "errors"), &r->errors);
    r->is_tested = true;
    json_decref(root);
    return 0;
}

/* ---- writing ---- */

static void set(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

static json_t *real_or_null(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *texts_json(const struct check_text *list)
{
    json_t *a = json_array();
    for (size_t i = 0; i < list->n; i++)
        json_array_append_new(a, json_text(list->items[i]));
    return a;
}

static json_t *preflight_json(const struct finding_list *list)
{
    struct buf text;
    buf_init(&text, 0);
    finding_list_json(list, &text);
    json_t *a = json_loads(buf_str(&text), 0, NULL);
    buf_fini(&text);
    return a ? a : json_array();
}

static json_t *verdict_json(const struct check_result *r)
{
    return json_pack("{s:s, s:i, s:o}", "status", check_verdict_word(r->verdict), "exit",
                     r->status, "text", json_text(r->verdict_text));
}

static json_t *expected_json(const struct check_result *r)
{
    if (!r->expected_why)
        return json_null();
    return json_pack("{s:o, s:o}", "busbw",
                     r->expected_gbs > 0 ? json_real(r->expected_gbs) : json_null(), "why",
                     json_text(r->expected_why));
}

static json_t *reached_json(const struct check_rank *k)
{
    json_t *o = json_object();
    for (int i = 0; i < CHECK_PHASE_COUNT; i++)
        if (k->reached_ms[i])
            set(o, check_phase_name((enum check_phase)i),
                json_integer((json_int_t)k->reached_ms[i]));
    return o;
}

static json_t *rank_json(const struct check_rank *k)
{
    json_t *o = json_object();
    set(o, "rank", json_integer(k->rank));
    set(o, "host", json_text(k->host));
    set(o, "pid", k->pid ? json_integer(k->pid) : json_null());
    set(o, "local_rank", json_integer(k->local_rank));
    set(o, "device", k->device >= 0 ? json_integer(k->device) : json_null());
    set(o, "gpu_uuid", json_text(k->gpu_uuid));
    set(o, "pci", json_text(k->pci));
    set(o, "name", json_text(k->name));
    set(o, "init_s", k->init_s >= 0 ? json_real(k->init_s) : json_null());
    return o;
}

/* The same keys without a worker's object. */
static json_t *empty_object(const struct check_result *r)
{
    json_t *o = json_object(), *ranks = json_array();
    set(o, "schema", json_string(schema));
    set(o, "muster", json_string(MUSTER_VERSION));
    set(o, "job",
        json_pack("{s:o, s:i, s:i, s:n}", "id", json_text(r->job_id), "world_size",
                  (int)r->world_size, "nodes", (int)r->nodes, "backend"));
    set(o, "nccl", json_null());
    set(o, "cuda", json_null());
    set(o, "env", json_object());
    for (size_t i = 0; i < r->nranks; i++)
        json_array_append_new(ranks, rank_json(&r->ranks[i]));
    set(o, "ranks", ranks);
    set(o, "results", json_array());
    set(o, "pairs", json_null());
    return o;
}

/* What was judged, into what was measured: rows stand in the same order. */
static void judge_rows(const struct check_result *r, const json_t *list)
{
    for (size_t i = 0; i < r->nrows && i < json_array_size(list); i++) {
        json_t *o = json_array_get(list, i);
        if (!json_is_object(o))
            continue;
        set(o, "expected", real_or_null(r->rows[i].expected));
        set(o, "ratio", real_or_null(r->rows[i].ratio));
        set(o, "verdict", json_string(check_verdict_word(r->rows[i].verdict)));
    }
}

static void time_ranks(const struct check_result *r, const json_t *list)
{
    for (size_t i = 0; i < r->nranks && i < json_array_size(list); i++)
        if (json_is_object(json_array_get(list, i)))
            set(json_array_get(list, i), "reached_ms", reached_json(&r->ranks[i]));
}

void check_json_write(const struct check_result *r, const char *text, size_t len,
                      struct buf *out)
{
    json_t *root = len ? load(text, len, NULL) : NULL;
    if (!root)
        root = empty_object(r);
    set(root, "started", json_real(r->started_s));
    set(root, "duration_s", json_real(r->duration_s));
    set(root, "verdict", verdict_json(r));
    set(root, "expected", expected_json(r));
    set(root, "preflight", preflight_json(&r->preflight));
    set(root, "errors", texts_json(&r->errors));
    set(root, "notes", texts_json(&r->notes));
    judge_rows(r, json_object_get(root, "results"));
    time_ranks(r, json_object_get(root, "ranks"));
    char *dump = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(13));
    buf_adds(out, dump ? dump : "{}");
    buf_addc(out, '\n');
    free(dump);
    json_decref(root);
}
