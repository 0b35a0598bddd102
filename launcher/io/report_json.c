#include "launcher/io/report_json.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/out_file.h"
#include "launcher/core/report.h"
#include "launcher/core/signal_names.h"
#include "launcher/core/symptom.h"
#include "launcher/io/json_text.h"

static const char *const kinds[] = {
    [VERDICT_OK] = "ok",
    [VERDICT_WORKER] = "worker",
    [VERDICT_SIGNAL] = "signal",
    [VERDICT_ERROR] = "error",
    [VERDICT_TIME_LIMIT] = "time_limit",
    [VERDICT_NODE_LOST] = "node_lost",
    [VERDICT_HANG] = "hang",
};

static const char *const limits[] = {
    [HANG_NONE] = NULL,
    [HANG_HEARTBEAT] = "heartbeat",
    [HANG_SILENCE] = "silence",
};
static_assert(sizeof limits / sizeof limits[0] == HANG_KIND_COUNT, "one name a kind");

static const char *const ends[] = {
    [END_EXIT] = "exit",
    [END_SIGNAL] = "signal",
    [END_EXEC] = "exec",
    [END_UNKNOWN] = "unknown",
};

static json_t *number(bool is_known, uint64_t n)
{
    return is_known ? json_integer((json_int_t)n) : json_null();
}

json_t *report_json_end(const struct worker_end *end)
{
    if (!end)
        return json_null();
    bool is_signal = end->kind == END_SIGNAL;
    return json_pack("{s:s, s:i, s:o, s:b}", "kind", ends[end->kind], "code", end->code,
                     "signal", json_text(is_signal ? signal_name(end->code) : NULL), "core",
                     (int)end->core);
}

static json_t *symptom_json(const struct verdict *v, const struct options *opt)
{
    const struct symptom *s = report_symptom(v, opt);
    return s ? json_pack("{s:s, s:s, s:s, s:s}", "id", s->id, "text", s->text, "cause",
                         symptom_cause(s), "fix", symptom_fix(s))
             : json_null();
}

json_t *report_json_verdict(const struct verdict *v, const struct options *opt)
{
    bool is_worker = v->kind == VERDICT_WORKER;
    bool is_hang = v->kind == VERDICT_HANG;
    bool is_ranks = is_worker || (is_hang && v->hang == HANG_HEARTBEAT);
    bool is_error = v->kind == VERDICT_ERROR || v->kind == VERDICT_NODE_LOST;
    json_t *o = json_object();
    json_object_set_new(o, "kind", json_string(kinds[v->kind]));
    json_object_set_new(o, "message", json_text(is_error ? v->err.text : NULL));
    json_object_set_new(o, "code", json_text(is_error ? err_name(v->err.code) : NULL));
    json_object_set_new(o, "signal",
                        json_text(v->kind == VERDICT_SIGNAL ? signal_name(v->signo) : NULL));
    json_object_set_new(o, "rank", number(is_ranks, v->rank));
    json_object_set_new(o, "local_rank", number(is_ranks, v->local_rank));
    json_object_set_new(o, "host", json_text(v->host));
    json_object_set_new(o, "gpu", json_text(v->gpu && *v->gpu ? v->gpu : NULL));
    json_object_set_new(o, "pid", number(is_ranks && v->pid, v->pid));
    json_object_set_new(o, "end", report_json_end(is_worker ? &v->end : NULL));
    json_object_set_new(o, "after_ms", number(v->kind != VERDICT_OK, v->after_ms));
    json_object_set_new(o, "tail", json_text(v->tail));
    json_object_set_new(o, "error", json_text(v->error));
    json_object_set_new(o, "cause", json_text(v->cause));
    json_object_set_new(o, "symptom", symptom_json(v, opt));
    json_object_set_new(o, "hang", json_text(is_hang ? limits[v->hang] : NULL));
    json_object_set_new(o, "quiet_ms", number(is_hang, v->quiet_ms));
    json_object_set_new(o, "differs", json_text(v->differs));
    json_object_set_new(o, "differing_rank", number(v->odd_rank.is_known, v->odd_rank.value));
    json_object_set_new(o, "stacks", json_text(v->stacks));
    return o;
}

static json_t *rank_json(uint32_t rank, const struct job_rank *r, const struct seen *seen)
{
    static const struct seen nothing = {0};
    const struct seen *s = seen ? seen : &nothing;
    json_t *o = json_object();
    json_object_set_new(o, "rank", json_integer(rank));
    json_object_set_new(o, "local_rank", json_integer(r->local_rank));
    json_object_set_new(o, "host", json_text(r->host));
    json_object_set_new(o, "pid", number(r->pid, r->pid));
    json_object_set_new(o, "end", report_json_end(r->has_ended ? &r->end : NULL));
    json_object_set_new(o, "after_ms", number(r->has_ended, r->after_ms));
    json_object_set_new(o, "was_stopped", json_boolean(r->was_stopped));
    json_object_set_new(o, "where", json_text(s->where));
    json_object_set_new(o, "step", number(s->step.is_known, s->step.value));
    json_object_set_new(o, "quiet_ms", number(s->quiet_ms.is_known, s->quiet_ms.value));
    json_object_set_new(o, "section", json_text(s->section));
    json_object_set_new(o, "status", json_text(s->status));
    return o;
}

static json_t *ranks_json(const struct job *job)
{
    json_t *a = json_array();
    uint32_t n = 0;
    const struct job_rank *ranks = job ? job_ranks(job, &n) : NULL;
    const struct seen *seen = n ? job_seen(job) : NULL;
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(a, rank_json(i, &ranks[i], seen ? &seen[i] : NULL));
    return a;
}

static json_t *program_json(const struct options *opt)
{
    json_t *a = json_array();
    for (char *const *word = opt->program; word && *word; word++)
        json_array_append_new(a, json_text(*word));
    return a;
}

json_t *report_json(const struct report_end *r)
{
    const struct verdict none = {.kind = r->err ? VERDICT_ERROR : VERDICT_OK,
                                 .err = r->err ? *r->err : (struct err){0}};
    json_t *o = json_object();
    json_object_set_new(o, "schema", json_string("muster.report/1"));
    json_object_set_new(o, "version", json_string(MUSTER_VERSION));
    json_object_set_new(o, "job", json_text(r->opt->job_id));
    json_object_set_new(o, "program", program_json(r->opt));
    json_object_set_new(o, "status", json_integer(r->status));
    json_object_set_new(o, "verdict",
                        report_json_verdict(r->job ? job_verdict(r->job) : &none, r->opt));
    json_object_set_new(o, "ranks", ranks_json(r->job));
    json_object_set_new(o, "attempts", json_integer(r->job ? job_generation(r->job) + 1 : 0));
    json_object_set_new(o, "max_restarts", json_integer(r->opt->max_restarts));
    json_object_set_new(o, "started_unix_ms", json_integer(r->started_unix_ms));
    json_object_set_new(o, "duration_ms", json_integer((json_int_t)r->duration_ms));
    return o;
}

/* ---- the file ---- */

int report_file_check(const char *option, const char *path, struct err *e)
{
    int why = out_file_check(path);
    return why ? err_set(e, ERR_USAGE, "%s: cannot write %s: %s", option, path, strerror(why))
               : 0;
}

int report_json_write(const struct report_end *r, struct err *e)
{
    json_t *report = report_json(r);
    char *dump = json_dumps(report, JSON_INDENT(2));
    char *text = mem_printf("%s\n", dump ? dump : "{}");
    int rc = out_file_write(r->opt->report, text, strlen(text), e);
    free(text);
    free(dump);
    json_decref(report);
    return rc;
}
