#include "launcher/core/metrics_render.h"

#include <assert.h>

#include "launcher/core/metrics_families.h"

/* ---- labels ---- */

static void begin_job(struct metrics_text *t, const struct metrics_look *look, size_t i)
{
    (void)i;
    metrics_begin(t);
    metrics_label(t, "job_id", look->view->status->job_id);
}

static void begin_rank(struct metrics_text *t, const struct metrics_look *look, size_t i)
{
    begin_job(t, look, 0);
    metrics_label_number(t, "rank", i);
    metrics_label(t, "host", look->view->rows[i].rank->host);
}

/* dcgm-exporter's names, and whose GPU it is. */
static void begin_gpu(struct metrics_text *t, const struct metrics_look *look, size_t i)
{
    const struct control_rank *rank = look->view->rows[i].rank;
    metrics_begin(t);
    metrics_label(t, "gpu", rank->gpu_index);
    metrics_label(t, "UUID", rank->gpu_uuid);
    metrics_label(t, "Hostname", rank->host);
    metrics_label(t, "job_id", look->view->status->job_id);
    metrics_label_number(t, "rank", i);
}

static void begin_node(struct metrics_text *t, const struct metrics_look *look, size_t i)
{
    begin_job(t, look, 0);
    metrics_label_number(t, "node", i);
    metrics_label(t, "host", look->job->nodes[i].host);
}

static const char *const streams[] = {
    [METRICS_STDOUT] = "stdout",
    [METRICS_STDERR] = "stderr",
};
static_assert(sizeof streams / sizeof streams[0] == METRICS_STREAM_COUNT, "one row a stream");

static const char *const queries[] = {
#define X(name, ...) [WIRE_##name] = #name,
    WIRE_QUERIES(X)
#undef X
};

/* ---- families with labels of their own ---- */

static void add_infos(struct metrics_text *t, const struct metrics_look *look)
{
    metrics_family(t, "muster_build_info", METRICS_GAUGE, "The version of muster; always 1.");
    metrics_begin(t);
    metrics_label(t, "version", look->version);
    metrics_end(t, 1, METRICS_ONE);
    metrics_family(t, "muster_job_info", METRICS_GAUGE, "The job; always 1.");
    begin_job(t, look, 0);
    metrics_label(t, "program", look->job->program);
    metrics_end(t, 1, METRICS_ONE);
    metrics_family(t, "muster_job_state", METRICS_GAUGE,
                   "The state that the job is in, as a label; always 1.");
    begin_job(t, look, 0);
    metrics_label(t, "state", look->view->status->state);
    metrics_end(t, 1, METRICS_ONE);
}

static void add_requests(struct metrics_text *t, const struct metrics_look *look)
{
    metrics_family(t, "muster_store_requests_total", METRICS_COUNTER,
                   "Requests to the rendezvous store.");
    for (size_t i = 0; i < WIRE_QUERY_COUNT; i++) {
        if (!look->store.requests[i])
            continue;
        begin_job(t, look, 0);
        metrics_label(t, "query", queries[i]);
        metrics_end(t, look->store.requests[i], METRICS_ONE);
    }
}

static void add_node_states(struct metrics_text *t, const struct metrics_look *look)
{
    metrics_family(t, "muster_node_state", METRICS_GAUGE,
                   "The state that the node is in, as a label; always 1.");
    for (size_t i = 0; i < look->job->nnodes; i++) {
        begin_node(t, look, i);
        metrics_label(t, "state", look->job->nodes[i].state);
        metrics_end(t, 1, METRICS_ONE);
    }
}

static void add_rank_infos(struct metrics_text *t, const struct metrics_look *look)
{
    metrics_family(t, "muster_rank_info", METRICS_GAUGE,
                   "Where the rank is and which GPU it has; always 1.");
    for (size_t i = 0; i < look->view->nrows; i++) {
        const struct control_rank *rank = look->view->rows[i].rank;
        begin_rank(t, look, i);
        metrics_label_number(t, "node", rank->node);
        metrics_label_number(t, "local_rank", rank->local_rank);
        metrics_label_number(t, "pid", rank->pid);
        metrics_label(t, "gpu", rank->gpu_index);
        metrics_label(t, "UUID", rank->gpu_uuid);
        metrics_end(t, 1, METRICS_ONE);
    }
}

static void add_rank_states(struct metrics_text *t, const struct metrics_look *look)
{
    metrics_family(t, "muster_rank_state", METRICS_GAUGE,
                   "The state that the rank is in, as a label; always 1.");
    for (size_t i = 0; i < look->view->nrows; i++) {
        begin_rank(t, look, i);
        metrics_label(t, "state", rank_state_word(look->view->rows[i].rank->state));
        metrics_end(t, 1, METRICS_ONE);
    }
}

static void add_output(struct metrics_text *t, const struct metrics_look *look)
{
    metrics_family(t, "muster_rank_output_bytes_total", METRICS_COUNTER,
                   "What the rank has printed.");
    for (size_t i = 0; i < look->view->nrows; i++)
        for (size_t k = 0; k < METRICS_STREAM_COUNT; k++) {
            struct maybe_u64 bytes = look->counters[i].output_bytes[k];
            if (!bytes.is_known)
                continue;
            begin_rank(t, look, i);
            metrics_label(t, "stream", streams[k]);
            metrics_end(t, bytes.value, METRICS_ONE);
        }
}

/* ---- all of them ---- */

static void add_table(struct metrics_text *t, const struct metrics_look *look,
                      struct metrics_table table, size_t n,
                      void (*begin_one)(struct metrics_text *t, const struct metrics_look *look,
                                        size_t i))
{
    for (size_t f = 0; f < table.n; f++) {
        const struct metrics_family *row = &table.rows[f];
        metrics_family(t, row->name, row->type, row->help);
        for (size_t i = 0; i < n; i++) {
            struct maybe_u64 value = row->value(look, i);
            if (!value.is_known)
                continue;
            begin_one(t, look, i);
            metrics_end(t, value.value, row->unit);
        }
    }
}

void metrics_render(const struct metrics_look *look, struct buf *out)
{
    struct metrics_text t = {.out = out};
    size_t nranks = look->view->nrows, nnodes = look->job->nnodes;
    add_infos(&t, look);
    add_table(&t, look, metrics_of_job(), 1, begin_job);
    add_requests(&t, look);
    add_node_states(&t, look);
    add_table(&t, look, metrics_of_nodes(), nnodes, begin_node);
    add_rank_infos(&t, look);
    add_rank_states(&t, look);
    add_table(&t, look, metrics_of_ranks(), nranks, begin_rank);
    add_output(&t, look);
    add_table(&t, look, metrics_of_gpus(), nranks, begin_gpu);
}
