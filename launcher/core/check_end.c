#include "launcher/core/check_end.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/core/check_trace.h"
#include "launcher/core/report.h"

enum { STATUS_PHASE = 12 }; /* of worker/status.h: a rank did not come */

static const char speaker[] = "muster-worker: ";
static const char warning[] = "muster-worker: warning: "; /* not why it ended */

struct str check_end_words(const char *tail)
{
    struct str rest = str_from(tail), line, found = {NULL, 0};
    while (tail && str_split(&rest, '\n', &line))
        if (str_starts(line, speaker) && !str_starts(line, warning))
            found = (struct str){line.p + sizeof speaker - 1, line.n - (sizeof speaker - 1)};
    return found;
}

/* "muster: rank 1 failed first: exit 10  (host a, ...)" without its beginning. */
static void add_first_line(const struct job *job, const struct options *opt, struct buf *line)
{
    struct buf report;
    buf_init(&report, 0);
    report_format(job, opt, &report);
    struct str rest = str_from(buf_str(&report)), first;
    if (report.len && str_split(&rest, '\n', &first)) {
        static const char prefix[] = "muster: ";
        size_t skip = str_starts(first, prefix) ? sizeof prefix - 1 : 0;
        buf_add(line, first.p + skip, first.n - skip);
    }
    buf_fini(&report);
}

static void add_last_phase(uint32_t rank, const struct check_result *r, struct buf *line)
{
    int last = rank < r->nranks ? check_rank_last_phase(&r->ranks[rank]) : -1;
    if (last >= 0)
        buf_addf(line, "; its last phase: %s", check_phase_name((enum check_phase)last));
}

void check_end_line(const struct job *job, const struct options *opt,
                    const struct check_result *r, struct buf *line)
{
    const struct verdict *v = job_verdict(job);
    struct str words =
        v->kind == VERDICT_WORKER ? check_end_words(v->tail) : (struct str){NULL, 0};
    bool is_late =
        v->kind == VERDICT_WORKER && v->end.kind == END_EXIT && v->end.code == STATUS_PHASE;
    struct buf missing;
    buf_init(&missing, 0);
    size_t nmissing = is_late ? check_trace_missing(r, &missing) : 0;
    /* The rank that failed first need not be the one that spoke, nor its last line all. */
    if (nmissing > 1 || (nmissing && !words.n))
        buf_add(line, missing.data, missing.len);
    else
        buf_add(line, words.p, words.n);
    buf_fini(&missing);
    if (line->len)
        return;
    add_first_line(job, opt, line);
    if (v->kind == VERDICT_WORKER)
        add_last_phase(v->rank, r, line);
}

void check_end_evidence(const struct job *job, struct check_result *r)
{
    const struct verdict *v = job_verdict(job);
    struct str words = check_end_words(v->tail), rest = str_from(v->tail), line;
    while (v->tail && str_split(&rest, '\n', &line)) {
        if (!line.n || line.p + line.n == words.p + words.n)
            continue;
        char *text = mem_printf("rank %u: %.*s", v->rank, STR_ARG(line));
        check_text_add(&r->errors, text);
        free(text);
    }
}
