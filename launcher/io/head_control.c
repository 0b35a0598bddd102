#include "launcher/io/head_control.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "launcher/io/control_server.h"
#include "launcher/io/driver_node.h"
#include "launcher/io/head_metrics.h"

static void on_request(void *ctx, enum control_verb verb)
{
    struct event ev;
    if (job_control_event(verb, &ev))
        driver_head_post(ctx, &ev);
}

static bool must_wait(void *ctx, enum control_verb verb)
{
    const struct driver_head *d = ctx;
    return job_control_must_wait(d->job, verb);
}

struct control_facts head_control_facts(const struct driver_head *d, const char *cwd)
{
    struct control_facts facts = {
        .now_ms = now_ms(),
        .began_ms = d->began_ms,
        .pid = (uint32_t)getpid(),
        .cwd = cwd,
        .metrics = d->metrics ? head_metrics_url(d->metrics) : NULL,
    };
    if (d->local) {
        facts.node = driver_node_machine(d->local);
        facts.log_dir = driver_node_log_dir(d->local, &facts.layout);
    }
    return facts;
}

static void answer_request(void *ctx, enum control_verb verb, struct buf *out)
{
    const struct driver_head *d = ctx;
    char *cwd = getcwd(NULL, 0);
    const struct control_facts facts = head_control_facts(d, cwd);
    job_control_answer(d->job, verb, &facts, out);
    free(cwd);
}

void head_control_open(struct driver_head *d)
{
    const struct control_events events = {d, on_request, must_wait, answer_request};
    struct err e;
    d->began_ms = now_ms();
    if (d->opt->is_plan)
        return;
    d->control = control_server_open(&d->loop, d->opt->job_id, &events, &e);
    if (!d->control)
        log_debug("control", "muster ps and the like will not see this job: %s", e.text);
}
