#include "launcher/io/pump.h"

#include <assert.h>

/* Steps until all queues are empty. */
static void run(struct pump *p)
{
    for (int i = 0; i < p->nmembers;)
        i = p->members[i].step(p->members[i].ctx) ? 0 : i + 1;
    for (int i = 0; i < p->nmembers; i++)
        p->members[i].settle(p->members[i].ctx);
}

static void on_prepare(uv_prepare_t *handle)
{
    run(handle->data);
}

static void on_check(uv_check_t *handle)
{
    run(handle->data);
}

void pump_init(struct pump *p, uv_loop_t *loop)
{
    p->nmembers = 0;
    uv_prepare_init(loop, &p->prepare);
    uv_check_init(loop, &p->check);
    p->prepare.data = p->check.data = p;
    uv_prepare_start(&p->prepare, on_prepare);
    uv_check_start(&p->check, on_check);
}

void pump_add(struct pump *p, bool (*step)(void *ctx), void (*settle)(void *ctx), void *ctx)
{
    assert(p->nmembers < PUMP_MEMBERS_MAX);
    p->members[p->nmembers].step = step;
    p->members[p->nmembers].settle = settle;
    p->members[p->nmembers++].ctx = ctx;
}

void pump_close(struct pump *p)
{
    uv_close((uv_handle_t *)&p->prepare, NULL);
    uv_close((uv_handle_t *)&p->check, NULL);
}
