#include "launcher/core/log_paths.h"

static const char *name_of(enum log_layout layout, enum log_kind kind)
{
    bool is_torchrun = layout == LOG_LAYOUT_TORCHRUN;
    switch (kind) {
    case LOG_KIND_OUT:
        return is_torchrun ? "stdout.log" : "out";
    case LOG_KIND_ERR:
        return is_torchrun ? "stderr.log" : "err";
    case LOG_KIND_ERROR_JSON:
        return "error.json";
    case LOG_KIND_FILTERED_OUT:
        return "filtered_stdout.log";
    case LOG_KIND_FILTERED_ERR:
        return "filtered_stderr.log";
    }
    return "";
}

static bool is_of_all(enum log_kind kind)
{
    return kind == LOG_KIND_FILTERED_OUT || kind == LOG_KIND_FILTERED_ERR;
}

void log_path_format(enum log_layout layout, const char *dir, enum log_kind kind, uint32_t rank,
                     uint32_t local_rank, struct buf *out)
{
    const char *name = name_of(layout, kind);
    if (is_of_all(kind))
        buf_addf(out, "%s/%s", dir, name);
    else if (layout == LOG_LAYOUT_TORCHRUN)
        buf_addf(out, "%s/%u/%s", dir, local_rank, name);
    else
        buf_addf(out, "%s/rank-%u.%s", dir, rank, name);
}

bool log_worker_dir_format(enum log_layout layout, const char *dir, uint32_t local_rank,
                           struct buf *out)
{
    if (layout != LOG_LAYOUT_TORCHRUN)
        return false;
    buf_addf(out, "%s/%u", dir, local_rank);
    return true;
}

void log_attempt_format(enum log_layout layout, uint32_t attempt, uint32_t again,
                        struct buf *out)
{
    buf_addf(out, "%s%u", layout == LOG_LAYOUT_TORCHRUN ? "attempt_" : "", attempt);
    if (again)
        buf_addf(out, ".%u", again);
}

void log_job_name_format(const char *job_id, struct buf *out)
{
    for (const char *p = job_id; *p; p++)
        buf_addc(out, *p == '/' || (p == job_id && *p == '.') ? '_' : *p);
}
