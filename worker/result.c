#include "worker/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "worker/options.h"
#include "worker/status.h"

enum { RANKS_SHOWN = 32 };

void result_init(struct result *r)
{
    *r = (struct result){0};
    buf_init(&r->errors, 64 * 1024);
}

void result_fini(struct result *r)
{
    for (size_t i = 0; i < r->nrows; i++)
        free(r->rows[i].per_rank_us);
    free(r->rows);
    free(r->ranks);
    buf_fini(&r->errors);
}

struct result_row *result_add_row(struct result *r)
{
    array_grow(r->rows, r->nrows, r->rows_cap);
    struct result_row *row = &r->rows[r->nrows++];
    *row = (struct result_row){0};
    row->per_rank_us = mem_alloc(r->world_size, sizeof *row->per_rank_us);
    return row;
}

void result_head(const struct result *r, struct buf *out)
{
    buf_addf(out, "# muster-worker: %u rank%s on %u node%s, backend %s (%s)\n", r->world_size,
             r->world_size == 1 ? "" : "s", r->nodes, r->nodes == 1 ? "" : "s", r->backend,
             r->why);
    if (*r->nccl_version)
        buf_addf(out, "# NCCL %s from %s, CUDA driver %d, runtime %d\n", r->nccl_version,
                 r->nccl_path, r->cuda_driver, r->cuda_runtime);
    for (uint32_t i = 0; i < r->world_size && i < RANKS_SHOWN; i++) {
        const struct result_rank *k = &r->ranks[i];
        buf_addf(out, "#  rank %3u  %s  pid %-7s", k->rank, k->host, k->pid);
        if (k->device >= 0)
            buf_addf(out, " cuda:%d  %s  %s  %s\n", k->device, k->name, k->pci, k->gpu_uuid);
        else
            buf_adds(out, " no GPU, memory of the host\n");
    }
    if (r->world_size > RANKS_SHOWN)
        buf_addf(out, "#  and %u more ranks\n", r->world_size - RANKS_SHOWN);
    buf_adds(out, "#                                             out-of-place"
                  "                       in-place\n"
                  "#     size       count      type   op      time   algbw   busbw  wrong"
                  "      time   algbw   busbw  wrong\n"
                  "#      (B)  (elements)                     (us)  (GB/s)  (GB/s)       "
                  "      (us)  (GB/s)  (GB/s)\n");
}

static void placement(const struct result *r, const struct result_row *row, struct buf *out)
{
    char busbw[16] = "n/a", wrong[24] = "n/a";
    if (r->world_size > 1)
        snprintf(busbw, sizeof busbw, "%.2f", row->busbw);
    if (row->is_checked)
        snprintf(wrong, sizeof wrong, "%llu", (unsigned long long)row->wrong);
    buf_addf(out, "%10.*f %7.2f %7s %6s", row->mean_us < 1000 ? 2 : 1, row->mean_us, row->algbw,
             busbw, wrong);
}

void result_line(const struct result *r, const struct result_row *out_of_place,
                 const struct result_row *in_place, struct buf *out)
{
    buf_addf(out, "%10llu %11llu %9s %4s", (unsigned long long)out_of_place->bytes,
             (unsigned long long)out_of_place->count, type_name(out_of_place->type),
             op_name(out_of_place->op));
    placement(r, out_of_place, out);
    placement(r, in_place, out);
    buf_addc(out, '\n');
}

static const struct result_row *peak(const struct result *r)
{
    const struct result_row *best = NULL;
    for (size_t i = 0; i < r->nrows; i++)
        if (!best || r->rows[i].busbw > best->busbw)
            best = &r->rows[i];
    return best;
}

void result_verdict(const struct result *r, struct buf *out)
{
    const struct result_row *best = peak(r);
    if (!best) {
        buf_adds(out, "nothing was tested");
        return;
    }
    if (r->wrong)
        buf_addf(out, "WRONG DATA: %llu wrong elements", (unsigned long long)r->wrong);
    else if (r->compared_bytes)
        buf_addf(out, "verified: 0 wrong of %llu bytes compared",
                 (unsigned long long)r->compared_bytes);
    else
        buf_adds(out, "not verified: timed only");
    if (r->world_size == 1)
        buf_adds(out, "; busbw not applicable: one rank has no peer");
    else
        buf_addf(out, "; peak busbw %.2f GB/s", best->busbw);
    if (r->status == STATUS_SLOW)
        buf_adds(out, "; slower than demanded");
}

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

static void json_row(const struct result *r, const struct result_row *w, struct buf *out)
{
    buf_addf(out,
             "{\"collective\":\"allreduce\",\"dtype\":\"%s\",\"op\":\"%s\",\"root\":null,"
             "\"bytes\":%llu,\"count\":%llu,\"placement\":\"%s\",\"iters\":%u,\"time_us\":{",
             type_name(w->type), op_name(w->op), (unsigned long long)w->bytes,
             (unsigned long long)w->count, w->in_place ? "in-place" : "out-of-place", w->iters);
    json_key(out, "mean");
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
    buf_adds(out, "]},\"algbw\":");
    json_number(out, w->algbw);
    buf_adds(out, ",\"busbw\":");
    json_number(out, r->world_size > 1 ? w->busbw : (double)NAN);
    buf_adds(out, ",\"expected\":null,\"ratio\":null,\"wrong\":");
    if (w->is_checked)
        buf_addf(out, "%llu", (unsigned long long)w->wrong);
    else
        buf_adds(out, "null");
    buf_addf(out, ",\"verdict\":\"%s\"}",
             !w->is_checked ? "unchecked"
             : w->wrong     ? "wrong"
                            : "ok");
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

bool result_env_is_allowed(const char *name, size_t n)
{
    static const char *const prefixes[] = {"NCCL_", "CUDA_", "MUSTER_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (str_starts((struct str){name, n}, prefixes[i]))
            return true;
    return false;
}

bool result_env_is_secret(const char *name, size_t n)
{
    static const char *const words[] = {"TOKEN", "KEY", "SECRET", "PASS"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(name, n, words[i], strlen(words[i])))
            return true;
    return false;
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
    buf_addf(out, ",\"verdict\":{\"status\":\"%s\",\"exit\":%d,", r->status ? "fail" : "pass",
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
    buf_adds(out, "],\"pairs\":null}\n");
}
