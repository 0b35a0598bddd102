#include "launcher/core/top_view.h"

#include <string.h>

static void add_key(const char *key, struct buf *out)
{
    buf_addf(out, ", \"%s\": ", key);
}

static void add_string(const char *key, const char *text, struct buf *out)
{
    add_key(key, out);
    if (text)
        buf_add_json(out, text, strlen(text));
    else
        buf_adds(out, "null");
}

static void add_number(const char *key, struct maybe_u64 n, struct buf *out)
{
    add_key(key, out);
    if (n.is_known)
        buf_addf(out, "%llu", (unsigned long long)n.value);
    else
        buf_adds(out, "null");
}

static void add_gpu(const struct gpu_sample *gpu, struct buf *out)
{
    struct buf words;
    add_number("gpu_util_percent", gpu->util, out);
    add_number("gpu_power_mw", gpu->power_mw, out);
    add_number("gpu_memory_used_bytes", gpu->used, out);
    add_number("gpu_memory_bytes", gpu->total, out);
    add_number("gpu_temperature_c", gpu->temp_c, out);
    buf_init(&words, 0);
    gpu_throttle_format(gpu->clock_events.value, &words);
    add_string("gpu_throttle", gpu->clock_events.is_known ? buf_str(&words) : NULL, out);
    buf_fini(&words);
}

static void add_rank(const struct top_row *row, size_t i, struct buf *out)
{
    const struct control_rank *rank = row->rank;
    buf_addf(out, "%s\n    {\"rank\": %zu", i ? "," : "", i);
    add_string("state", rank_state_word(rank->state), out);
    add_string("host", rank->host, out);
    add_number("local_rank", (struct maybe_u64){true, rank->local_rank}, out);
    add_number("pid", (struct maybe_u64){true, rank->pid}, out);
    add_string("gpu_index", rank->gpu_index, out);
    add_string("gpu_uuid", rank->gpu_uuid, out);
    add_number("starts", (struct maybe_u64){true, rank->starts}, out);
    add_gpu(&rank->sample.gpu, out);
    add_number("nvlink_tx_bytes_per_s", row->nvlink.tx, out);
    add_number("nvlink_rx_bytes_per_s", row->nvlink.rx, out);
    add_number("pcie_tx_bytes_per_s", row->pcie.tx, out);
    add_number("pcie_rx_bytes_per_s", row->pcie.rx, out);
    add_number("cpu_percent", row->cpu, out);
    add_number("rss_bytes", rank->sample.rss, out);
    add_number("step", rank->step, out);
    add_key("steps_per_s", out);
    if (row->steps_per_ks.is_known)
        buf_addf(out, "%llu.%03llu", (unsigned long long)(row->steps_per_ks.value / 1000),
                 (unsigned long long)(row->steps_per_ks.value % 1000));
    else
        buf_adds(out, "null");
    buf_addf(out, ", \"is_known\": %s, \"differs\": %s}", row->is_unknown ? "false" : "true",
             row->is_odd ? "true" : "false");
}

void top_view_json(const struct top_view *v, struct buf *out)
{
    const struct control_status *s = v->status;
    buf_adds(out, "{\"schema\": \"muster.top/1\"");
    add_string("id", s->job_id, out);
    add_string("program", s->program, out);
    add_string("state", s->state, out);
    add_number("pid", (struct maybe_u64){true, s->pid}, out);
    add_number("restarts", (struct maybe_u64){true, s->generation}, out);
    add_number("uptime_ms", (struct maybe_u64){true, s->uptime_ms}, out);
    add_string("differs", v->odd.len ? buf_str(&v->odd) : NULL, out);
    add_string("note", v->note.len ? buf_str(&v->note) : NULL, out);
    buf_adds(out, ", \"ranks\": [");
    for (size_t i = 0; i < v->nrows; i++)
        add_rank(&v->rows[i], i, out);
    buf_adds(out, v->nrows ? "\n]}\n" : "]}\n");
}
