#include "launcher/io/head_remotes.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/start_faults.h"

struct head_remotes {
    struct spread *spread;
    struct remotes *remotes;
    struct head_remotes_events events;
    struct start_faults faults;
    uint32_t nlinked;
    bool has_failed; /* and the job knows */
    struct err err;  /* which it was told */
};

static void tell_faults(struct head_remotes *hr)
{
    struct buf text;
    uint32_t node;
    enum err_code code;
    buf_init(&text, 0);
    while (start_faults_next(&hr->faults, &node, &code, &text)) {
        if (hr->has_failed) {
            log_error("remote", "%s", buf_str(&text));
        } else {
            hr->has_failed = true;
            err_set(&hr->err, code, "%s", buf_str(&text));
            hr->events.on_failed(hr->events.ctx, node, &hr->err);
        }
        buf_reset(&text);
    }
    buf_fini(&text);
    start_faults_fini(&hr->faults);
}

static void on_failed(void *ctx, uint32_t node, const char *host, const struct err *why)
{
    struct head_remotes *hr = ctx;
    start_faults_add(&hr->faults, node, host, why, now_ms());
    if (hr->faults.n + hr->nlinked >= spread_nodes(hr->spread)) /* all have been heard */
        hr->faults.due_ms = now_ms();
}

static void on_state(void *ctx, uint32_t node, const char *host, const char *state)
{
    const struct head_remotes *hr = ctx;
    (void)host;
    hr->events.on_state(hr->events.ctx, node, spread_host(hr->spread, node), state);
}

struct head_remotes *head_remotes_new(struct uv_loop_s *loop, struct spread *spread,
                                      const struct rlimit *limits,
                                      const struct head_remotes_events *events)
{
    struct head_remotes *hr = mem_alloc(1, sizeof *hr);
    const struct remotes_events own = {.ctx = hr, .on_failed = on_failed, .on_state = on_state};
    hr->spread = spread;
    hr->events = *events;
    hr->remotes = remotes_new(loop, limits, &own);
    return hr;
}

void head_remotes_start(struct head_remotes *hr, uint16_t port)
{
    if (spread_add(hr->spread, port, hr->remotes, &hr->err) == 0) {
        remotes_start(hr->remotes);
        return;
    }
    hr->has_failed = true;
    hr->events.on_failed(hr->events.ctx, 0, &hr->err);
}

int head_remotes_setup(struct head_remotes *hr, const struct wire_who *who, struct buf *out)
{
    struct err e;
    uint32_t node;
    if (spread_place(hr->spread, who, &node, &e) < 0
        || spread_setup(hr->spread, node, out, &e) < 0) {
        log_error("link", "%s: %s", who->host, e.text);
        return -1;
    }
    remotes_linked(hr->remotes, node);
    if (++hr->nlinked == spread_nodes(hr->spread))
        spread_started(hr->spread);
    return 0;
}

uint64_t head_remotes_deadline(const struct head_remotes *hr)
{
    return start_faults_due_ms(&hr->faults);
}

void head_remotes_tick(struct head_remotes *hr, uint64_t now_ms)
{
    if (now_ms >= start_faults_due_ms(&hr->faults))
        tell_faults(hr);
}

void head_remotes_close(struct head_remotes *hr)
{
    spread_started(hr->spread);
    remotes_close(hr->remotes);
    start_faults_fini(&hr->faults);
    free(hr);
}
