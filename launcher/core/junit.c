#include "launcher/core/junit.h"

#include <string.h>

#include "base/str.h"
#include "launcher/core/signal_names.h"

static void escape_char(const char *p, size_t n, struct buf *out)
{
    static const struct {
        char c;
        const char *name;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
    for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++)
        if (*p == entities[i].c) {
            buf_adds(out, entities[i].name);
            return;
        }
    bool is_control = (unsigned char)*p < ' ' && *p != '\n' && *p != '\t';
    bool is_noncharacter =
        n == 3 && memcmp(p, "\xef\xbf", 2) == 0 && (unsigned char)p[2] > 0xbd;
    if (is_control || is_noncharacter)
        buf_addc(out, '?');
    else
        buf_add(out, p, n);
}

void junit_escape(const char *text, struct buf *out)
{
    for (size_t left = strlen(text); left;) {
        size_t n = str_utf8_len(text, left);
        if (n)
            escape_char(text, n, out);
        else
            buf_addc(out, '?');
        n = n ? n : 1;
        text += n;
        left -= n;
    }
}

static void attribute(const char *name, const char *value, struct buf *out)
{
    buf_addf(out, " %s=\"", name);
    junit_escape(value, out);
    buf_addc(out, '"');
}

static void seconds(uint64_t ms, struct buf *out)
{
    buf_addf(out, " time=\"%llu.%03llu\"", (unsigned long long)(ms / 1000),
             (unsigned long long)(ms % 1000));
}

enum outcome { PASSED, FAILED, STOPPED, UNKNOWN, OUTCOME_COUNT };

static enum outcome outcome_of(const struct job_rank *r)
{
    if (!r->has_ended)
        return r->pid ? UNKNOWN : STOPPED; /* never started: others kept it from that */
    if (r->end.kind == END_UNKNOWN)
        return UNKNOWN;
    if (r->was_stopped)
        return STOPPED;
    return worker_end_is_failure(&r->end) ? FAILED : PASSED;
}

static void result(const char *tag, const char *message, const char *detail, struct buf *out)
{
    buf_addf(out, "><%s", tag);
    attribute("message", message, out);
    buf_addc(out, '>');
    if (detail)
        junit_escape(detail, out);
    buf_addf(out, "</%s></testcase>\n", tag);
}

static void rank_case(uint32_t rank, const struct job_rank *r, const struct verdict *v,
                      struct buf *out)
{
    bool is_first = v->kind == VERDICT_WORKER && v->rank == rank;
    struct buf end;
    buf_init(&end, 0);
    worker_end_format(&r->end, &end);
    buf_addf(out, "  <testcase name=\"rank %u\"", rank);
    attribute("classname", r->host ? r->host : "unknown", out);
    seconds(r->after_ms, out);
    switch (outcome_of(r)) {
    case PASSED:
        buf_adds(out, "/>\n");
        break;
    case FAILED:
        if (is_first && v->error)
            buf_addf(&end, "; %s", v->error);
        if (is_first && v->cause)
            buf_addf(&end, "; %s", v->cause);
        result("failure", buf_str(&end), is_first ? v->tail : NULL, out);
        break;
    case STOPPED:
        result("skipped", "stopped by muster", NULL, out);
        break;
    case UNKNOWN:
        result("error", "its end is unknown", NULL, out);
        break;
    case OUTCOME_COUNT:
        break;
    }
    buf_fini(&end);
}

/* What ended the job beside its ranks, in words; NULL if nothing did. */
static const char *job_problem(const struct job *job, const struct err *err)
{
    const struct verdict *v = job ? job_verdict(job) : NULL;
    if (!v)
        return err ? err->text : "there was no job";
    switch (v->kind) {
    case VERDICT_OK:
    case VERDICT_WORKER:
        return NULL;
    case VERDICT_SIGNAL:
        return signal_name(v->signo);
    case VERDICT_ERROR:
    case VERDICT_NODE_LOST:
        return v->err.text;
    case VERDICT_TIME_LIMIT:
        return v->differs ? v->differs : "the time limit (--timeout) ended the job";
    case VERDICT_HANG:
        if (v->differs)
            return v->differs;
        return v->hang == HANG_SILENCE ? "no rank wrote anything (--silence-timeout)"
                                       : "a heartbeat did not come (--heartbeat-timeout)";
    }
    return NULL;
}

void junit_format(const struct job *job, const struct err *err, const struct options *opt,
                  uint64_t duration_ms, struct buf *out)
{
    uint32_t n = 0, counts[OUTCOME_COUNT] = {0};
    const struct job_rank *ranks = job ? job_ranks(job, &n) : NULL;
    const char *problem = job_problem(job, err);
    for (uint32_t i = 0; i < n; i++)
        counts[outcome_of(&ranks[i])]++;
    buf_adds(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"muster\"");
    if (opt->job_id)
        attribute("id", opt->job_id, out);
    buf_addf(out, " tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"%u\"", n + !!problem,
             counts[FAILED], counts[UNKNOWN] + !!problem, counts[STOPPED]);
    seconds(duration_ms, out);
    buf_adds(out, ">\n");
    for (uint32_t i = 0; i < n; i++)
        rank_case(i, &ranks[i], job_verdict(job), out);
    if (problem) {
        buf_adds(out, "  <testcase name=\"job\" classname=\"muster\"");
        seconds(duration_ms, out);
        result("error", problem, NULL, out);
    }
    buf_adds(out, "</testsuite>\n");
}
