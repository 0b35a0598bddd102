#include "launcher/io/control_server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"
#include "launcher/core/callers.h"
#include "launcher/io/control_folder.h"

enum {
    CALLERS_MAX = 16,
    BACKLOG = 16,
    CALL_MS = 10000 /* for a caller to say what it wants; again for it to take the answer */
};

struct control_server {
    uv_pipe_t pipe;
    uv_timer_t timer; /* the first deadline of a caller */
    struct control_events events;
    struct list callers;       /* in the order in which they came */
    size_t ncallers, nhandles; /* nhandles: of all, with those that are being closed */
    bool is_closing;
    char path[sizeof((struct sockaddr_un *)NULL)->sun_path];
};

/* One connection: a request, its answer, the end. */
struct caller {
    uv_pipe_t pipe;
    uv_write_t write;
    struct control_server *server;
    struct call call;
    char request[CONTROL_REQUEST_MAX];
    size_t n;
    enum control_verb verb;
    struct buf answer;
};

/* ---- ends ---- */

static void on_closed(uv_handle_t *handle)
{
    struct control_server *s = handle->data;
    if (--s->nhandles == 0)
        free(s);
}

static void on_caller_closed(uv_handle_t *handle)
{
    struct caller *c = handle->data;
    handle->data = c->server;
    on_closed(handle);
    buf_fini(&c->answer);
    free(c);
}

static void hang_up(struct caller *c)
{
    if (uv_is_closing((uv_handle_t *)&c->pipe))
        return;
    list_remove(&c->call.link);
    c->server->ncallers--;
    uv_close((uv_handle_t *)&c->pipe, on_caller_closed);
}

static void on_timer(uv_timer_t *timer);

static void set_timer(struct control_server *s)
{
    uint64_t now = now_ms(), due = callers_deadline(&s->callers);
    if (due == UINT64_MAX)
        uv_timer_stop(&s->timer);
    else
        uv_timer_start(&s->timer, on_timer, due > now ? due - now : 0, 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct control_server *s = timer->data;
    struct call *late;
    while ((late = callers_late(&s->callers, now_ms())) != NULL)
        hang_up(list_entry(late, struct caller, call));
    set_timer(s);
}

static void set_deadline(struct caller *c)
{
    c->call.deadline_ms = now_ms() + CALL_MS;
    set_timer(c->server);
}

/* ---- requests and answers ---- */

static void on_written(uv_write_t *write, int status)
{
    (void)status;
    hang_up(write->data);
}

static void send_answer(struct caller *c)
{
    uv_buf_t bytes = uv_buf_init(c->answer.data, (unsigned)c->answer.len);
    c->call.is_waiting = false;
    c->call.is_answered = true;
    c->write.data = c;
    if (uv_write(&c->write, (uv_stream_t *)&c->pipe, &bytes, 1, on_written) < 0)
        hang_up(c);
    else
        set_deadline(c);
}

static void refuse(struct caller *c, const char *why)
{
    control_refusal_format(why, &c->answer);
    send_answer(c);
}

static void answer(struct caller *c)
{
    struct control_server *s = c->server;
    s->events.answer(s->events.ctx, c->verb, &c->answer);
    send_answer(c);
}

static void take_request(struct caller *c, size_t n)
{
    struct err e;
    const struct control_events *events = &c->server->events;
    if (control_request_parse((struct str){c->request, n}, &c->verb, &e) < 0) {
        refuse(c, e.text);
        return;
    }
    c->call.is_waiting = true;
    c->call.deadline_ms = UINT64_MAX; /* it is muster's turn */
    events->on_request(events->ctx, c->verb);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    struct caller *c = handle->data;
    *out = uv_buf_init(c->request + c->n, (unsigned)(sizeof c->request - c->n));
}

/* Whether both directions have ended, and not only the caller's own. */
static bool has_left(const struct caller *c)
{
    struct pollfd p = {.fd = -1};
    uv_fileno((const uv_handle_t *)&c->pipe, &p.fd);
    return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0;
}

/* Reading goes on behind the request, so that a caller who leaves is noticed. */
static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
    (void)bytes;
    struct caller *c = stream->data;
    if (n < 0) {
        bool is_owed = c->call.is_answered || (c->call.is_waiting && !has_left(c));
        if (is_owed)
            uv_read_stop(stream);
        else
            hang_up(c);
        return;
    }
    if (c->call.is_waiting || c->call.is_answered) /* it has nothing more to say */
        return;
    c->n += (size_t)n;
    const char *end = memchr(c->request, '\n', c->n);
    if (end) {
        size_t len = (size_t)(end - c->request);
        take_request(c, len);
        c->n = 0;
    } else if (c->n == sizeof c->request) {
        hang_up(c);
    }
}

static bool is_same_user(uv_pipe_t *pipe)
{
    int fd;
    struct ucred cred;
    socklen_t size = sizeof cred;
    return uv_fileno((uv_handle_t *)pipe, &fd) == 0
           && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) == 0
           && cred.uid == geteuid();
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct control_server *s = stream->data;
    if (status < 0)
        return;
    struct caller *c = mem_alloc(1, sizeof *c);
    c->server = s;
    buf_init(&c->answer, 0);
    list_init(&c->call.link);
    list_push(&s->callers, &c->call.link);
    uv_pipe_init(stream->loop, &c->pipe, 0);
    c->pipe.data = c;
    s->ncallers++;
    s->nhandles++;
    set_deadline(c);
    if (uv_accept(stream, (uv_stream_t *)&c->pipe) < 0 || !is_same_user(&c->pipe)
        || uv_read_start((uv_stream_t *)&c->pipe, on_alloc, on_read) < 0) {
        hang_up(c);
        return;
    }
    struct call *idle = s->ncallers > CALLERS_MAX ? callers_idle(&s->callers) : NULL;
    if (idle == &c->call) /* all others have asked */
        refuse(c, "it has as many callers as it serves; try again");
    else if (idle)
        hang_up(list_entry(idle, struct caller, call));
}

void control_server_settle(struct control_server *s)
{
    for (struct list *at = s->callers.next, *next; at != &s->callers; at = next) {
        struct caller *c = list_entry(at, struct caller, call.link);
        next = at->next;
        if (c->call.is_waiting && !s->events.must_wait(s->events.ctx, c->verb))
            answer(c);
    }
}

/* ---- life ---- */

/* The socket of a job that has died and had our name and process id. */
static void remove_stale(const struct sockaddr_un *name)
{
    if (!control_is_socket(name->sun_path))
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)name, sizeof *name) < 0 && errno == ECONNREFUSED)
        unlink(name->sun_path);
    close(fd);
}

static int bind_in(struct control_server *s, const char *folder, const char *job_id,
                   struct err *e)
{
    struct sockaddr_un name;
    if (control_folder_make(folder, e) < 0
        || control_address(folder, job_id, getpid(), &name, e) < 0)
        return -1;
    int rc = uv_pipe_bind(&s->pipe, name.sun_path);
    if (rc == UV_EADDRINUSE) {
        remove_stale(&name);
        rc = uv_pipe_bind(&s->pipe, name.sun_path);
    }
    if (rc < 0)
        return err_set(e, ERR_SYSTEM, "%s: %s", name.sun_path, uv_strerror(rc));
    memcpy(s->path, name.sun_path, sizeof s->path);
    return 0;
}

static int bind_somewhere(struct control_server *s, const char *job_id, struct err *e)
{
    int rc = -1;
    struct buf folder;
    buf_init(&folder, 0);
    for (int place = 0; place < CONTROL_PLACES && rc < 0; place++) {
        buf_reset(&folder);
        if (control_folder_format((enum control_place)place, &folder))
            rc = bind_in(s, buf_str(&folder), job_id, e);
    }
    buf_fini(&folder);
    return rc;
}

struct control_server *control_server_open(uv_loop_t *loop, const char *job_id,
                                           const struct control_events *events, struct err *e)
{
    struct control_server *s = mem_alloc(1, sizeof *s);
    s->events = *events;
    list_init(&s->callers);
    uv_pipe_init(loop, &s->pipe, 0);
    uv_timer_init(loop, &s->timer);
    s->pipe.data = s->timer.data = s;
    s->nhandles = 2;
    int rc = bind_somewhere(s, job_id, e);
    if (rc == 0 && (rc = uv_listen((uv_stream_t *)&s->pipe, BACKLOG, on_connection)) < 0)
        err_set(e, ERR_SYSTEM, "cannot listen: %s", uv_strerror(rc));
    if (rc == 0)
        return s;
    control_server_close(s);
    return NULL;
}

const char *control_server_path(const struct control_server *s)
{
    return s->path;
}

void control_server_close(struct control_server *s)
{
    if (!s || s->is_closing)
        return;
    s->is_closing = true;
    while (!list_is_empty(&s->callers)) {
        struct caller *c = list_first(&s->callers, struct caller, call.link);
        if (c->call.is_waiting)
            answer(c);
        hang_up(c); /* what is short has been written by now */
    }
    uv_close((uv_handle_t *)&s->pipe, on_closed);
    uv_close((uv_handle_t *)&s->timer, on_closed);
}
