#include "launcher/io/resolve.h"

#include <netdb.h>
#include <string.h>
#include <uv.h>

#include "base/clock.h"
#include "base/log.h"

enum { AGAIN_MS = 1000 };

struct query {
    uv_loop_t loop;
    uv_getaddrinfo_t request;
    uv_timer_t timer;
    const struct addr *where;
    uint64_t until_ms;
    struct addr *out;
    size_t n, max;
    int status; /* of the last answer, libuv's */
    bool was_said;
};

static void ask(struct query *q);

static void on_again(uv_timer_t *timer)
{
    ask(timer->data);
}

static void keep(struct query *q, const struct addrinfo *list, int family)
{
    for (; list && q->n < q->max; list = list->ai_next) {
        struct addr *a = &q->out[q->n];
        bool is_known = false;
        if (list->ai_family != family
            || getnameinfo(list->ai_addr, list->ai_addrlen, a->host, sizeof a->host, NULL, 0,
                           NI_NUMERICHOST)
                   != 0)
            continue;
        for (size_t i = 0; i < q->n; i++)
            is_known = is_known || addr_is_same_host(q->out[i].host, a->host);
        a->port = q->where->port;
        q->n += !is_known;
    }
}

static void on_answer(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
    struct query *q = request->data;
    q->status = status;
    keep(q, list, AF_INET);
    keep(q, list, AF_INET6);
    uv_freeaddrinfo(list);
    if (q->n || now_ms() >= q->until_ms) {
        uv_close((uv_handle_t *)&q->timer, NULL);
        return;
    }
    if (!q->was_said)
        log_info("", "%s is not known yet (%s); asking again", q->where->host,
                 uv_strerror(status));
    q->was_said = true;
    uv_timer_start(&q->timer, on_again, AGAIN_MS, 0);
}

static void ask(struct query *q)
{
    static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    q->request.data = q;
    int rc = uv_getaddrinfo(&q->loop, &q->request, on_answer, q->where->host, NULL, &hints);
    if (rc < 0) {
        q->status = rc;
        uv_close((uv_handle_t *)&q->timer, NULL);
    }
}

int resolve(const struct addr *where, uint64_t limit_ms, struct addr *out, size_t max,
            struct err *e)
{
    if (addr_is_numeric(where->host)) {
        out[0] = *where;
        return 1;
    }
    struct query q = {.where = where, .until_ms = now_ms() + limit_ms, .out = out, .max = max};
    int rc = uv_loop_init(&q.loop);
    if (rc < 0)
        return err_set(e, ERR_SYSTEM, "cannot make an event loop: %s", uv_strerror(rc));
    uv_timer_init(&q.loop, &q.timer);
    q.timer.data = &q;
    ask(&q);
    uv_run(&q.loop, UV_RUN_DEFAULT);
    uv_loop_close(&q.loop);
    if (q.n)
        return (int)q.n;
    return err_set(e, ERR_UNAVAILABLE, "no address is known for '%s': %s", where->host,
                   uv_strerror(q.status));
}
