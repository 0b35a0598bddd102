#include "launcher/core/check_trace.h"

#include "base/mem.h"
#include "base/str.h"

void check_trace_record_key(uint32_t rank, struct buf *out)
{
    buf_addf(out, "mw/rank/%u", rank);
}

void check_trace_phase_key(uint32_t rank, enum check_phase phase, struct buf *out)
{
    buf_addf(out, "mw/0/%s/%u", check_phase_name(phase), rank);
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
