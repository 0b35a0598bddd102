#include "launcher/io/metrics_server.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"
#include "launcher/core/callers.h"
#include "launcher/core/http_request.h"
#include "launcher/core/listen_addr.h"
#include "launcher/core/metrics_text.h"
#include "launcher/io/resolve.h"

enum {
    CALLERS_MAX = 16,
    BACKLOG = 16,
    CALL_MS = 20000,            /* one connection, from its beginning to its end */
    UNSENT_BYTES_MAX = 64 << 20 /* of all answers; one alone may be larger */
};

static const char text_type[] = "text/plain; charset=utf-8";
static const char pointer[] = "<!doctype html><title>muster</title>"
                              "<p>Figures of this job, for Prometheus: "
                              "<a href=\"/metrics\">/metrics</a>\n";

struct metrics_server {
    uv_tcp_t tcp;
    uv_timer_t timer; /* the first deadline of a caller */
    struct metrics_events events;
    struct list callers;       /* in the order in which they came */
    size_t ncallers, nhandles; /* nhandles: of all, with those that are being closed */
    size_t unsent;             /* bytes of answers that have not gone */
    bool is_closing;
    struct buf url;
};

/* One connection: a request, its answer, the end. */
struct caller {
    uv_tcp_t tcp;
    uv_write_t write;
    uv_shutdown_t shutdown;
    struct metrics_server *server;
    struct call call;
    char *request; /* HTTP_HEAD_MAX bytes; n of them have come */
    size_t n;
    bool is_head;
    bool is_written, has_ended; /* the kernel has the whole answer; it will say no more */
    struct buf answer;
};

/* ---- ends ---- */

static void on_closed(uv_handle_t *handle)
{
    struct metrics_server *s = handle->data;
    if (--s->nhandles)
        return;
    buf_fini(&s->url);
    free(s);
}

static void on_caller_closed(uv_handle_t *handle)
{
    struct caller *c = handle->data;
    handle->data = c->server;
    on_closed(handle);
    buf_fini(&c->answer);
    free(c->request);
    free(c);
}

static void hang_up(struct caller *c)
{
    if (uv_is_closing((uv_handle_t *)&c->tcp))
        return;
    list_remove(&c->call.link);
    c->server->ncallers--;
    uv_close((uv_handle_t *)&c->tcp, on_caller_closed);
}

static void on_timer(uv_timer_t *timer);

static void set_timer(struct metrics_server *s)
{
    uint64_t now = now_ms(), due = callers_deadline(&s->callers);
    if (due == UINT64_MAX)
        uv_timer_stop(&s->timer);
    else
        uv_timer_start(&s->timer, on_timer, due > now ? due - now : 0, 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct metrics_server *s = timer->data;
    struct call *late;
    while ((late = callers_late(&s->callers, now_ms())) != NULL)
        hang_up(list_entry(late, struct caller, call));
    set_timer(s);
}

/* ---- answers ---- */

/* What the client sends now is read and dropped, or closing would take the answer back. */
static void on_shut_down(uv_shutdown_t *shutdown, int status)
{
    struct caller *c = shutdown->data;
    if (status < 0 || c->has_ended)
        hang_up(c);
}

static void on_written(uv_write_t *write, int status)
{
    struct caller *c = write->data;
    c->server->unsent -= c->answer.len;
    buf_fini(&c->answer);
    c->is_written = true;
    c->shutdown.data = c;
    if (status < 0 || uv_shutdown(&c->shutdown, (uv_stream_t *)&c->tcp, on_shut_down) < 0)
        hang_up(c);
}

/* IMF-fixdate; names of days and months are those of the C locale, which muster keeps. */
static void date_format(char *out, size_t size)
{
    struct tm tm;
    time_t now = time(NULL);
    gmtime_r(&now, &tm);
    strftime(out, size, "%a, %d %b %Y %H:%M:%S GMT", &tm);
}

static void answer(struct caller *c, enum http_status status, const char *type, struct str body)
{
    char date[40];
    date_format(date, sizeof date);
    http_answer_format(status, type, body.n, date, &c->answer);
    if (!c->is_head)
        buf_add(&c->answer, body.p, body.n);
    c->call.is_waiting = false;
    c->call.is_answered = true;
    c->write.data = c;
    uv_buf_t bytes = uv_buf_init(c->answer.data, (unsigned)c->answer.len);
    if (uv_write(&c->write, (uv_stream_t *)&c->tcp, &bytes, 1, on_written) < 0)
        hang_up(c);
    else
        c->server->unsent += c->answer.len;
}

static void answer_status(struct caller *c, enum http_status status)
{
    struct buf body;
    buf_init(&body, 0);
    buf_addf(&body, "%s\n", http_status_text(status));
    answer(c, status, text_type, (struct str){body.data, body.len});
    buf_fini(&body);
}

static void answer_page(struct caller *c)
{
    struct buf body;
    buf_init(&body, 0);
    c->server->events.answer(c->server->events.ctx, &body);
    if (c->server->unsent && c->server->unsent + body.len > UNSENT_BYTES_MAX)
        answer_status(c, HTTP_BUSY);
    else
        answer(c, HTTP_OK, METRICS_CONTENT_TYPE, (struct str){buf_str(&body), body.len});
    buf_fini(&body);
}

void metrics_server_settle(struct metrics_server *s)
{
    for (struct list *at = s->callers.next, *next; at != &s->callers; at = next) {
        struct caller *c = list_entry(at, struct caller, call.link);
        next = at->next;
        if (c->call.is_waiting && !s->events.must_wait(s->events.ctx))
            answer_page(c);
    }
}

/* ---- requests ---- */

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct caller *c = handle->data;
    (void)size;
    if (c->call.is_answered || c->call.is_waiting)
        c->n = 0; /* it has said all that we want to know */
    *buf = uv_buf_init(c->request + c->n, (unsigned)(HTTP_HEAD_MAX - c->n));
}

static void take_request(struct caller *c, const struct http_request *request)
{
    c->is_head = request->is_head;
    if (str_eq(request->path, "/metrics")) {
        c->call.is_waiting = true;
        c->server->events.on_request(c->server->events.ctx);
    } else if (str_eq(request->path, "/")) {
        answer(c, HTTP_OK, "text/html; charset=utf-8", STR_LIT(pointer));
    } else {
        answer_status(c, HTTP_NOT_FOUND);
    }
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
    struct caller *c = stream->data;
    struct http_request request;
    enum http_status why;
    (void)bytes;
    bool is_owed = (c->call.is_waiting || c->call.is_answered) && !c->is_written;
    if (n == UV_EOF && is_owed) { /* half of the connection goes on */
        c->has_ended = true;
        uv_read_stop(stream);
        return;
    }
    if (n < 0) {
        hang_up(c);
        return;
    }
    if (c->call.is_answered || c->call.is_waiting)
        return;
    c->n += (size_t)n;
    switch (http_request_read((struct str){c->request, c->n}, &request, &why)) {
    case HTTP_MORE:
        return;
    case HTTP_WHOLE:
        take_request(c, &request);
        return;
    case HTTP_REFUSED:
        answer_status(c, why);
        return;
    }
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct metrics_server *s = stream->data;
    if (status < 0)
        return;
    struct caller *c = mem_alloc(1, sizeof *c);
    c->server = s;
    c->request = mem_alloc(HTTP_HEAD_MAX, 1);
    c->call.deadline_ms = now_ms() + CALL_MS;
    buf_init(&c->answer, 0);
    uv_tcp_init(stream->loop, &c->tcp);
    c->tcp.data = c;
    s->nhandles++;
    s->ncallers++;
    list_init(&c->call.link);
    list_push(&s->callers, &c->call.link);
    if (uv_accept(stream, (uv_stream_t *)&c->tcp) < 0
        || uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) < 0)
        hang_up(c);
    else if (s->ncallers > CALLERS_MAX) /* the new one itself, if all others have asked */
        hang_up(list_entry(callers_idle(&s->callers), struct caller, call));
    set_timer(s);
}

/* ---- life ---- */

static int listen_at(struct metrics_server *s, const struct addr *at)
{
    struct sockaddr_storage name;
    int rc = strchr(at->host, ':')
                 ? uv_ip6_addr(at->host, at->port, (struct sockaddr_in6 *)&name)
                 : uv_ip4_addr(at->host, at->port, (struct sockaddr_in *)&name);
    if (rc == 0)
        rc = uv_tcp_bind(&s->tcp, (const struct sockaddr *)&name, 0);
    return rc == 0 ? uv_listen((uv_stream_t *)&s->tcp, BACKLOG, on_connection) : rc;
}

static void set_url(struct metrics_server *s, struct addr at)
{
    struct sockaddr_storage name;
    int size = sizeof name;
    if (uv_tcp_getsockname(&s->tcp, (struct sockaddr *)&name, &size)
        == 0) /* same place in v6 */
        at.port = ntohs(((const struct sockaddr_in *)&name)->sin_port);
    buf_adds(&s->url, "http://");
    addr_format(&at, &s->url);
    buf_adds(&s->url, "/metrics");
}

static int open_at(struct metrics_server *s, const char *where, struct err *e)
{
    struct addr asked, at;
    if (listen_addr_parse(str_from(where), &asked, e) < 0
        || resolve(&asked, 0, &at, 1, e) < 0) {
        e->code = ERR_USAGE;
        return err_wrap(e, "--metrics %s", where);
    }
    int rc = listen_at(s, &at);
    if (rc < 0)
        return err_set(e, ERR_USAGE, "--metrics %s: cannot listen there: %s%s", where,
                       uv_strerror(rc),
                       rc == UV_EADDRINUSE ? "; port 0 takes any free one" : "");
    set_url(s, at);
    return 0;
}

struct metrics_server *metrics_server_open(uv_loop_t *loop, const char *where,
                                           const struct metrics_events *events, struct err *e)
{
    struct metrics_server *s = mem_alloc(1, sizeof *s);
    s->events = *events;
    list_init(&s->callers);
    buf_init(&s->url, 0);
    uv_tcp_init(loop, &s->tcp);
    uv_timer_init(loop, &s->timer);
    s->tcp.data = s->timer.data = s;
    s->nhandles = 2;
    if (open_at(s, where, e) == 0)
        return s;
    metrics_server_close(s);
    return NULL;
}

const char *metrics_server_url(const struct metrics_server *s)
{
    return buf_str(&s->url);
}

void metrics_server_close(struct metrics_server *s)
{
    if (!s || s->is_closing)
        return;
    s->is_closing = true;
    while (!list_is_empty(&s->callers)) {
        struct caller *c = list_first(&s->callers, struct caller, call.link);
        if (c->call.is_waiting)
            answer_page(c);
        hang_up(c); /* what the kernel has taken by now arrives */
    }
    uv_close((uv_handle_t *)&s->tcp, on_closed);
    uv_close((uv_handle_t *)&s->timer, on_closed);
}
