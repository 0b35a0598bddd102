#include "launcher/core/check_trace.h"

#include "base/mem.h"
#include "base/str.h"

void check_trace_record_key(uint32_t rank, struct buf *out)
{
    buf_addf(out, "mw/rank/%u", rank);
}

void check_trace_phase_key(uint32_t rank, enum check_phase phase, struct buf *out)
{
    buf_addf(out, "mw/0/%s%s/%u", check_phase_name(phase),
             phase == CHECK_PHASE_warm ? ".0" : "", rank);
}

static void take_text(char **to, struct str value)
{
    if (!*to)
        *to = mem_printf("%.*s", value.n < 256 ? (int)value.n : 256, value.p);
}

static void take(struct check_rank *rank, struct str key, struct str value)
{
    uint64_t n;
    if (str_eq(key, "host"))
        take_text(&rank->host, value);
    else if (str_eq(key, "gpu"))
        take_text(&rank->gpu_uuid, value);
    else if (str_eq(key, "pci"))
        take_text(&rank->pci, value);
    else if (str_eq(key, "name"))
        take_text(&rank->name, value);
    else if (str_parse_u64(value, 0, UINT32_MAX, &n) < 0)
        return;
    else if (str_eq(key, "pid") && !rank->pid)
        rank->pid = (uint32_t)n;
    else if (str_eq(key, "local_rank") && !rank->local_rank)
        rank->local_rank = (uint32_t)n;
    else if (str_eq(key, "device") && rank->device < 0 && n < 1024)
        rank->device = (int)n;
}

void check_trace_record(const char *text, struct check_rank *rank)
{
    struct str rest = str_from(text), line, key;
    while (str_split(&rest, '\n', &line))
        if (str_split(&line, '=', &key) && line.p)
            take(rank, key, line);
}

void check_trace_phase(const char *text, enum check_phase phase, struct check_rank *rank)
{
    struct str rest = str_from(text), line;
    uint64_t ms;
    if (str_split(&rest, '\n', &line) && str_parse_u64(line, 1, INT64_MAX, &ms) == 0)
        rank->reached_ms[phase] = ms;
}

static int furthest(const struct check_result *r)
{
    int most = -1;
    for (size_t i = 0; i < r->nranks; i++) {
        int last = check_rank_last_phase(&r->ranks[i]);
        most = last > most ? last : most;
    }
    return most;
}

static void add_rank(const struct check_rank *k, struct buf *out)
{
    buf_addf(out, "rank %u (host %s, local rank %u", k->rank, k->host ? k->host : "unknown",
             k->local_rank);
    if (k->gpu_uuid)
        buf_addf(out, ", %s", k->gpu_uuid);
    if (k->pid)
        buf_addf(out, ", pid %u", k->pid);
    buf_addc(out, ')');
}

size_t check_trace_missing(const struct check_result *r, struct buf *out)
{
    enum { NAMED = 4 };
    int phase = furthest(r), last = -1;
    size_t n = 0;
    for (size_t i = 0; phase >= 0 && i < r->nranks; i++) {
        const struct check_rank *k = &r->ranks[i];
        if (k->reached_ms[phase] || ++n > NAMED)
            continue;
        buf_adds(out, n > 1 ? ", " : "");
        add_rank(k, out);
        last = check_rank_last_phase(k);
    }
    if (!n)
        return 0;
    if (n > NAMED)
        buf_addf(out, " and %zu more", n - NAMED);
    buf_addf(out, " %s not reached %s", n == 1 ? "has" : "have",
             check_phase_name((enum check_phase)phase));
    if (n == 1 && last >= 0)
        buf_addf(out, "; last phase %s", check_phase_name((enum check_phase)last));
    return n;
}
