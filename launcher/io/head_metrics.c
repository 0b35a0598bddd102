#include "launcher/io/head_metrics.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/metrics_counters.h"
#include "launcher/io/driver_node.h"
#include "launcher/io/head_control.h"
#include "launcher/io/metrics_server.h"
#include "launcher/io/remote_output.h"

enum { FRESH_MS = 1000 };

struct head_metrics {
    struct metrics_server *server;
    struct driver_head *driver;
    struct control_status before, now; /* the last two looks */
    uint64_t looked_ms;                /* when the later one was */
    struct metrics_counters counters;
    uint64_t began_ms, unix_offset_ms;
    struct buf page; /* of the last look; empty = there was none */
};

static bool is_fresh(const struct head_metrics *m)
{
    return m->page.len && now_ms() - m->looked_ms < FRESH_MS;
}

/* A scrape is a look at the job, as that of `muster top`. */
static void on_request(void *ctx)
{
    const struct head_metrics *m = ctx;
    struct event ev;
    if (!is_fresh(m) && job_control_event(CONTROL_SAMPLE, &ev))
        driver_head_post(m->driver, &ev);
}

static bool must_wait(void *ctx)
{
    const struct head_metrics *m = ctx;
    return !is_fresh(m) && job_control_must_wait(m->driver->job, CONTROL_SAMPLE);
}

/* ---- a look ---- */

static void look_again(struct head_metrics *m)
{
    const struct control_facts facts = head_control_facts(m->driver, NULL);
    control_status_fini(&m->before);
    m->before = m->now;
    m->looked_ms = facts.now_ms;
    job_control_look(m->driver->job, CONTROL_SAMPLE, &facts, &m->now);
}

static struct maybe_u64 bytes_of(const struct driver_head *d, size_t rank, enum output_fd fd)
{
    if (d->output)
        return remote_output_bytes(d->output, (uint32_t)rank, fd);
    return d->local ? driver_node_output_bytes(d->local, (uint32_t)rank, fd)
                    : (struct maybe_u64){0};
}

static void count(struct head_metrics *m)
{
    metrics_counters_resize(&m->counters, m->now.nranks);
    for (size_t i = 0; i < m->now.nranks; i++) {
        const struct control_rank *rank = &m->now.ranks[i];
        struct maybe_u64 *bytes = m->counters.ranks[i].output_bytes;
        metrics_counters_cpu(&m->counters, i, rank->pid, rank->sample.cpu_ms);
        bytes[METRICS_STDOUT] = bytes_of(m->driver, i, OUTPUT_OUT);
        bytes[METRICS_STDERR] = bytes_of(m->driver, i, OUTPUT_ERR);
    }
}

static struct store_metrics look_at_store(const struct port *port)
{
    struct port_counts counts;
    port_counts(port, &counts);
    struct store_metrics store = {.connections = counts.connections,
                                  .keys = counts.keys,
                                  .bytes = counts.bytes,
                                  .accepted = counts.all.accepted,
                                  .refused = counts.all.refused};
    memcpy(store.requests, counts.all.requests, sizeof store.requests);
    return store;
}

static void render(struct head_metrics *m)
{
    struct top_view view;
    struct job_metrics job;
    const struct metrics_look look = {.view = &view,
                                      .job = &job,
                                      .counters = m->counters.ranks,
                                      .store = look_at_store(m->driver->port),
                                      .version = MUSTER_VERSION,
                                      .now_ms = m->looked_ms,
                                      .began_ms = m->began_ms,
                                      .unix_offset_ms = m->unix_offset_ms};
    top_view_init(&view, &m->before, &m->now);
    job_metrics_look(m->driver->job, m->looked_ms, &job);
    buf_reset(&m->page);
    metrics_render(&look, &m->page);
    job_metrics_fini(&job);
    top_view_fini(&view);
}

static void add_page(void *ctx, struct buf *out)
{
    struct head_metrics *m = ctx;
    if (!is_fresh(m)) {
        look_again(m);
        count(m);
        render(m);
    }
    buf_add(out, m->page.data, m->page.len);
}

/* ---- life ---- */

static uint64_t unix_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int head_metrics_open(struct driver_head *d, struct err *e)
{
    if (!d->opt->metrics || d->opt->is_plan)
        return 0;
    struct head_metrics *m = mem_alloc(1, sizeof *m);
    const struct metrics_events events = {m, on_request, must_wait, add_page};
    m->driver = d;
    m->began_ms = now_ms();
    m->unix_offset_ms = unix_ms() - m->began_ms;
    buf_init(&m->page, 0);
    m->server = metrics_server_open(&d->loop, d->opt->metrics, &events, e);
    if (!m->server) {
        free(m);
        return -1;
    }
    d->metrics = m;
    log_info("metrics", "metrics: %s", head_metrics_url(m));
    return 0;
}

const char *head_metrics_url(const struct head_metrics *m)
{
    return metrics_server_url(m->server);
}

void head_metrics_settle(struct head_metrics *m)
{
    metrics_server_settle(m->server);
}

void head_metrics_close(struct head_metrics *m)
{
    if (!m)
        return;
    metrics_server_close(m->server); /* asks for nothing afterwards */
    control_status_fini(&m->before);
    control_status_fini(&m->now);
    metrics_counters_fini(&m->counters);
    buf_fini(&m->page);
    free(m);
}
