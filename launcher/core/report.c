#include "launcher/core/report.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/str.h"
#include "launcher/core/signal_names.h"
#include "launcher/core/symptom.h"

enum {
    SOON_MS = 1000,
    ALSO_MAX = 4, /* ranks that are named */
};

void report_ranks(const struct job_rank *ranks, uint32_t n,
                  bool (*is_member)(const struct job_rank *rank), struct buf *out)
{
    bool is_first = true;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_member(&ranks[i]))
            continue;
        uint32_t last = i;
        while (last + 1 < n && is_member(&ranks[last + 1]))
            last++;
        buf_addf(out, "%s%u", is_first ? "" : ", ", i);
        if (last > i)
            buf_addf(out, last > i + 1 ? "-%u" : ", %u", last);
        is_first = false;
        i = last;
    }
}

static void seconds(uint64_t ms, struct buf *out)
{
    buf_addf(out, "%llu.%03llu s", (unsigned long long)(ms / 1000),
             (unsigned long long)(ms % 1000));
}

static bool was_stopped(const struct job_rank *rank)
{
    return rank->pid && rank->was_stopped && rank->end.kind != END_UNKNOWN;
}

static bool ended_well(const struct job_rank *rank)
{
    return rank->has_ended && !rank->was_stopped && !worker_end_is_failure(&rank->end);
}

static bool is_lost(const struct job_rank *r)
{
    return r->is_lost;
}

static bool is_left(const struct job_rank *rank)
{
    return rank->pid && !rank->is_lost && (!rank->has_ended || rank->end.kind == END_UNKNOWN);
}

static uint32_t count(const struct job_rank *ranks, uint32_t n,
                      bool (*is_member)(const struct job_rank *rank))
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++)
        k += is_member(&ranks[i]);
    return k;
}

static void group(const char *label, const struct job_rank *ranks, uint32_t n,
                  bool (*is_member)(const struct job_rank *rank), struct buf *out)
{
    uint32_t k = count(ranks, n, is_member);
    if (!k)
        return;
    buf_addf(out, "  %s: rank%s ", label, k == 1 ? "" : "s");
    report_ranks(ranks, n, is_member, out);
    buf_addc(out, '\n');
}

/* What is behind a program that was found and yet could not be executed. */
static void exec_hint(int sys, struct buf *out)
{
    if (sys == ENOENT)
        buf_adds(out,
                 "  the interpreter that its first line names, or its loader, is missing\n");
    else if (sys == ENOEXEC)
        buf_adds(out, "  it is no binary of this machine; a script needs a #! line\n");
    else if (sys == EMFILE || sys == ENFILE)
        buf_adds(out, "  raise the limit of open files (ulimit -n)\n");
    else if (sys == EAGAIN)
        buf_adds(out,
                 "  the limit of processes was hit (ulimit -u, or the cgroup's pids.max)\n");
    else if (sys == E2BIG)
        buf_adds(out, "  arguments and environment together are too long\n");
}

static void worker_line(const struct verdict *v, const struct options *opt, struct buf *out)
{
    buf_addf(out, "muster: rank %u failed first: ", v->rank);
    if (v->end.kind == END_EXEC)
        buf_addf(out, "%s ", opt->program[0]);
    worker_end_format(&v->end, out);
    if (v->end.kind == END_EXIT && v->end.code > 128 && v->end.code < 128 + 32)
        buf_adds(out, " (an exit code, not a signal)");
    buf_addf(out, "  (host %s, local rank %u", v->host ? v->host : "unknown", v->local_rank);
    if (v->gpu && *v->gpu)
        buf_addf(out, ", %s", v->gpu);
    if (v->pid)
        buf_addf(out, ", pid %u", v->pid);
    buf_adds(out, ", after ");
    seconds(v->after_ms, out);
    buf_adds(out, ")\n");
}

const struct symptom *report_symptom(const struct verdict *v, const struct options *opt)
{
    const struct symptom *s = symptom_find(v->error);
    if (!s)
        s = symptom_find(v->tail);
    if (!s && v->kind == VERDICT_WORKER && v->end.kind == END_EXIT && opt->program)
        s = symptom_of_worker(opt->program[0], v->end.code);
    return s;
}

static void symptom_lines(const struct verdict *v, const struct options *opt, struct buf *out)
{
    const struct symptom *s = report_symptom(v, opt);
    if (s)
        buf_addf(out, "  %s: %s (muster explain %s)\n    %s\n", s->text, symptom_cause(s),
                 s->id, symptom_fix(s));
}

/* Why it ended, as far as the kernel tells or the kind of its end does. */
static void cause_line(const struct verdict *v, struct buf *out)
{
    const char *custom = v->end.kind == END_EXIT ? symptom_exit_code(v->end.code) : NULL;
    if (custom)
        buf_addf(out, "  exit %d: %s\n", v->end.code, custom);
    if (v->cause)
        buf_addf(out, "  %s\n", v->cause);
    else if (v->end.kind == END_SIGNAL && v->end.code == SIGKILL)
        buf_adds(out, "  muster did not send it, and no memory limit was hit that muster can "
                      "see: a person, a scheduler's limit or the kernel (see dmesg)\n");
}

static void tail_lines(const char *tail, struct buf *out)
{
    if (!tail || !*tail)
        return;
    buf_adds(out, "  last lines of its stderr:\n");
    struct str rest = str_from(tail), line;
    while (str_split(&rest, '\n', &line))
        if (line.n)
            buf_addf(out, "    %.*s\n", STR_ARG(line));
}

/* Other ranks without a heartbeat by the time they were looked at: whoever waits for the first
 * sends none either. */
static void late_line(const struct job *job, uint32_t first, uint64_t limit_ms, struct buf *out)
{
    uint32_t n, k = 0;
    job_ranks(job, &n);
    const struct seen *seen = job_seen(job);
    for (uint32_t i = 0; seen && i < n; i++)
        k += i != first && seen[i].quiet_ms.is_known && seen[i].quiet_ms.value >= limit_ms;
    if (k)
        buf_addf(out, "  %u other rank%s as late when the stacks were taken\n", k,
                 k == 1 ? " was" : "s were");
}

static void hang_line(const struct job *job, const struct options *opt, struct buf *out)
{
    const struct verdict *v = job_verdict(job);
    if (v->hang == HANG_SILENCE) {
        buf_adds(out, "muster: no rank has written anything for ");
        seconds(v->quiet_ms, out);
        buf_adds(out, " (--silence-timeout)\n");
        return;
    }
    buf_addf(out, "muster: rank %u has sent no heartbeat for ", v->rank);
    seconds(v->quiet_ms, out);
    buf_addf(out, " (--heartbeat-timeout; host %s, local rank %u, pid %u)\n",
             v->host ? v->host : "unknown", v->local_rank, v->pid);
    late_line(job, v->rank, opt->heartbeat_ms, out);
}

/* What the look at all ranks before the stop has found. */
static void look_lines(const struct verdict *v, struct buf *out)
{
    if (v->differs)
        buf_addf(out, "  %s\n", v->differs);
    if (v->stacks)
        buf_addf(out, "  stacks: %s\n", v->stacks);
}

static void first_line(const struct job *job, const struct options *opt, struct buf *out)
{
    const struct verdict *v = job_verdict(job);
    switch (v->kind) {
    case VERDICT_OK:
        return;
    case VERDICT_WORKER:
        worker_line(v, opt, out);
        if (v->end.kind == END_EXEC)
            exec_hint(v->end.code, out);
        cause_line(v, out);
        if (v->error)
            buf_addf(out, "  %s\n", v->error);
        tail_lines(v->tail, out);
        symptom_lines(v, opt, out);
        return;
    case VERDICT_SIGNAL:
        buf_addf(out, "muster: ended by signal %d (%s)\n", v->signo, signal_name(v->signo));
        return;
    case VERDICT_ERROR:
    case VERDICT_NODE_LOST:
        buf_addf(out, "muster: %s\n", v->err.text);
        return;
    case VERDICT_TIME_LIMIT:
        buf_adds(out, "muster: the time limit of ");
        seconds(opt->timeout_ms, out);
        buf_adds(out, " (--timeout) ended the job\n");
        look_lines(v, out);
        return;
    case VERDICT_HANG:
        hang_line(job, opt, out);
        look_lines(v, out);
        return;
    }
}

/* Ended badly soon after the first, and not in the way that the stop ends workers: it may have
 * failed for the same reason. */
static bool failed_too(const struct job *job, const struct job_rank *r)
{
    uint64_t gone_ms;
    int signo = job_stop_signal(job, &gone_ms);
    const struct verdict *v = job_verdict(job);
    if (v->kind != VERDICT_WORKER || !r->was_stopped || !worker_end_is_failure(&r->end)
        || r->after_ms > v->after_ms + SOON_MS)
        return false;
    switch (r->end.kind) {
    case END_EXIT:
        return r->end.code != 128 + signo && r->end.code != 128 + SIGKILL;
    case END_SIGNAL:
        return r->end.code != signo && r->end.code != SIGKILL;
    case END_EXEC:
        return true;
    case END_UNKNOWN:
        return false;
    }
    return false;
}

static void also_failed(const struct job *job, const struct job_rank *ranks, uint32_t n,
                        struct buf *out)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!failed_too(job, &ranks[i]) || ++k > ALSO_MAX)
            continue;
        buf_addf(out, "%srank %u (", k == 1 ? "  also failed: " : ", ", i);
        worker_end_format(&ranks[i].end, out);
        buf_addf(out, ", %llu ms later)",
                 (unsigned long long)(ranks[i].after_ms - job_verdict(job)->after_ms));
    }
    if (k > ALSO_MAX)
        buf_addf(out, " and %u more", k - ALSO_MAX);
    if (k)
        buf_addc(out, '\n');
}

static void stopped_line(const struct job *job, const struct job_rank *ranks, uint32_t n,
                         struct buf *out)
{
    uint64_t gone_ms;
    int signo = job_stop_signal(job, &gone_ms);
    const struct verdict *v = job_verdict(job);
    uint32_t nstopped = 0;
    for (uint32_t i = 0; i < n; i++)
        nstopped += was_stopped(&ranks[i]) && !failed_too(job, &ranks[i]);
    if (!signo || !nstopped)
        return;
    buf_addf(out, "  stopped by muster: %u %s%s (%s), all gone after ", nstopped,
             v->kind == VERDICT_WORKER ? "other" : "worker", nstopped == 1 ? "" : "s",
             signal_name(signo));
    seconds(gone_ms, out);
    buf_addc(out, '\n');
}

void report_format(const struct job *job, const struct options *opt, struct buf *out)
{
    const struct verdict *v = job_verdict(job);
    if (v->kind == VERDICT_OK)
        return;
    first_line(job, opt, out);
    uint32_t n;
    const struct job_rank *ranks = job_ranks(job, &n);
    if (v->kind == VERDICT_ERROR)
        return;
    also_failed(job, ranks, n, out);
    stopped_line(job, ranks, n, out);
    group("had ended well", ranks, n, ended_well, out);
    group("lost with their node", ranks, n, is_lost, out);
    group("left behind", ranks, n, is_left, out);
    if (opt->max_restarts)
        buf_addf(out, "  attempt %u of %u\n", job_generation(job) + 1, opt->max_restarts + 1);
    buf_addf(out, "  exit status %d\n", verdict_exit_status(v));
}
