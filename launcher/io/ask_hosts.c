#include "launcher/io/ask_hosts.h"

#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/ask_record.h"
#include "launcher/io/descriptors.h"
#include "launcher/io/remotes.h"

enum { ANSWER_MAX = 4 << 20 }; /* bytes of one host */

struct asker {
    uv_loop_t loop;
    uv_timer_t limit;
    struct spread *spread;
    struct remotes *remotes;
    struct host_answer *answers;
    uint32_t n, nleft;
};

static void close_all(struct asker *a)
{
    remotes_close(a->remotes);
    uv_close((uv_handle_t *)&a->limit, NULL);
}

/* Once a host: it has answered, or never will. */
static void is_heard(struct asker *a, uint32_t node)
{
    remotes_linked(a->remotes, node);
    if (--a->nleft == 0)
        close_all(a);
}

static void on_answer(void *ctx, uint32_t node, const char *line)
{
    struct asker *a = ctx;
    struct host_answer *answer = &a->answers[node];
    const char *text;
    int status;
    if (answer->is_whole || *answer->why || !ask_record_answer(line, &text, &status))
        return;
    if (text) {
        buf_addf(&answer->text, "%s\n", text);
        return;
    }
    answer->is_whole = !answer->text.overflowed;
    answer->status = status;
    if (!answer->is_whole)
        snprintf(answer->why, sizeof answer->why, "its answer is longer than %d MiB",
                 ANSWER_MAX >> 20);
    is_heard(a, node);
}

static int question(void *ctx, uint32_t node, struct buf *out, struct err *e)
{
    struct asker *a = ctx;
    return spread_question(a->spread, node, out, e);
}

static void on_failed(void *ctx, uint32_t node, const char *host, bool is_way,
                      const struct err *why)
{
    struct asker *a = ctx;
    struct host_answer *answer = &a->answers[node];
    (void)host;
    (void)is_way;
    if (answer->is_whole || *answer->why)
        return;
    snprintf(answer->why, sizeof answer->why, "%s", why->text);
    is_heard(a, node);
}

static void on_state(void *ctx, uint32_t node, const char *host, const char *state)
{
    (void)ctx;
    (void)node;
    log_debug("remote", "%s: %s", host, state);
}

static void on_limit(uv_timer_t *timer)
{
    struct asker *a = timer->data;
    for (uint32_t i = 0; i < a->n; i++) {
        struct host_answer *answer = &a->answers[i];
        if (!answer->is_whole && !*answer->why)
            snprintf(answer->why, sizeof answer->why, "no answer within %.0f s",
                     (double)uv_timer_get_repeat(timer) / 1000);
    }
    close_all(a);
}

static int start(struct asker *a, uint64_t limit_ms, struct err *e)
{
    const struct remotes_events events = {.ctx = a,
                                          .boot = question,
                                          .on_failed = on_failed,
                                          .on_state = on_state,
                                          .on_answer = on_answer};
    descriptors_keep();
    const struct rlimit nofile = descriptors_raise_limit();
    uv_timer_init(&a->loop, &a->limit);
    a->limit.data = a;
    a->remotes = remotes_new(&a->loop, &nofile, a->n, &events);
    if (spread_ask(a->spread, a->remotes, e) < 0) {
        close_all(a);
        return -1;
    }
    uv_timer_start(&a->limit, on_limit, limit_ms, limit_ms);
    remotes_start(a->remotes);
    return 0;
}

int ask_hosts(struct spread *s, uint64_t limit_ms, struct host_answer *out, struct err *e)
{
    struct asker a = {
        .spread = s, .answers = out, .n = spread_nodes(s), .nleft = spread_nodes(s)};
    int rc = uv_loop_init(&a.loop);
    if (rc < 0)
        return err_set(e, ERR_SYSTEM, "cannot make an event loop: %s", uv_strerror(rc));
    for (uint32_t i = 0; i < a.n; i++) {
        out[i] = (struct host_answer){.is_whole = false};
        buf_init(&out[i].text, ANSWER_MAX);
    }
    rc = start(&a, limit_ms, e);
    uv_run(&a.loop, UV_RUN_DEFAULT);
    int left = uv_loop_close(&a.loop);
    if (left < 0)
        log_error("remote", "handles were left open: %s", uv_strerror(left));
    for (uint32_t i = 0; rc < 0 && i < a.n; i++)
        host_answer_fini(&out[i]);
    return rc;
}

void host_answer_fini(struct host_answer *answer)
{
    buf_fini(&answer->text);
}
