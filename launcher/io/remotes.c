#include "launcher/io/remotes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/boot_record.h"
#include "launcher/io/spawn.h"

enum {
    NOISE_MAX = 64 * 1024, /* of start-up files, before the agent's first words */
    WORDS_MAX = 4096,      /* kept of its standard error */
    END_MS = 3000,         /* from the end of its standard input to SIGTERM */
};

enum remote_state { REMOTE_WAITING, REMOTE_LOGIN, REMOTE_UP, REMOTE_ENDED };

struct remote {
    struct remotes *owner;
    uint32_t node;
    enum remote_state state;
    bool is_linked, is_told;
    char *host, *token;
    struct argv argv;
    char *boot; /* NULL once it is written */
    size_t boot_len;
    pid_t pid;
    int pidfd;
    uv_poll_t exit; /* of pidfd */
    uv_pipe_t in, out, err;
    int nhandles;
    struct buf said, complaint; /* of its standard output until the token, and error */
    uv_write_t write;
    struct err why;
};

struct remotes {
    struct uv_loop_s *loop;
    struct remotes_events events;
    struct spawn spawn;
    struct remote **list;
    uint32_t n, next, nlogins, nleft; /* nleft: that run, or have open handles */
    size_t cap;
    char *slab;
    uv_timer_t timer;
    bool is_closing, has_timer;
};

enum { SLAB = 16 * 1024 };

static void start_more(struct remotes *r);

/* ---- the end of one, and of all ---- */

static void remote_free(struct remote *m)
{
    free(m->host);
    free(m->token);
    argv_fini(&m->argv);
    if (m->boot)
        boot_record_wipe(m->boot, m->boot_len);
    free(m->boot);
    buf_fini(&m->said);
    buf_fini(&m->complaint);
    free(m);
}

static void maybe_finish(struct remotes *r)
{
    if (!r->is_closing || r->nleft || r->has_timer)
        return;
    for (uint32_t i = 0; i < r->n; i++)
        remote_free(r->list[i]);
    free(r->list);
    free(r->slab);
    free(r);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct remotes *r = handle->data;
    r->has_timer = false;
    maybe_finish(r);
}

/* Over when it is reaped and its pipes are closed. */
static void maybe_over(struct remote *m)
{
    struct remotes *r = m->owner;
    if (m->nhandles || m->pid)
        return;
    if (--r->nleft == 0 && r->is_closing && r->has_timer)
        uv_close((uv_handle_t *)&r->timer, on_timer_closed);
    maybe_finish(r);
}

static void on_pipe_closed(uv_handle_t *handle)
{
    struct remote *m = handle->data;
    m->nhandles--;
    maybe_over(m);
}

static void close_pipe(uv_pipe_t *pipe)
{
    if (!uv_is_closing((uv_handle_t *)pipe))
        uv_close((uv_handle_t *)pipe, on_pipe_closed);
}

static void login_over(struct remote *m)
{
    if (m->state != REMOTE_LOGIN)
        return;
    m->state = REMOTE_UP;
    m->owner->nlogins--;
    start_more(m->owner);
}

static void fail(struct remote *m)
{
    struct remotes *r = m->owner;
    if (m->is_told || m->is_linked || r->is_closing)
        return;
    m->is_told = true;
    r->events.on_failed(r->events.ctx, m->node, &m->why);
}

/* The last line that is not empty. */
static struct str last_line(const struct buf *text)
{
    struct str rest = {text->data ? text->data : "", text->len}, line, last = {"", 0};
    while (str_split(&rest, '\n', &line)) {
        line.n -= line.n && line.p[line.n - 1] == '\r';
        if (line.n)
            last = line;
    }
    return last;
}

static void tell_end(struct remote *m, int status)
{
    struct str line = last_line(&m->complaint);
    const char *program = m->argv.words[0];
    bool was_up = m->state == REMOTE_UP;
    if (WIFSIGNALED(status))
        err_set(&m->why, ERR_UNAVAILABLE, "%s: %s ended by signal %d", m->host, program,
                WTERMSIG(status));
    else if (WEXITSTATUS(status) == 127 && !was_up)
        err_set(&m->why, ERR_UNAVAILABLE,
                "%s: muster is not there, or not under this path (--remote-muster): %.*s",
                m->host, STR_ARG(line));
    else if (line.n)
        err_set(&m->why, ERR_UNAVAILABLE, "%s: %.*s", m->host, STR_ARG(line));
    else
        err_set(&m->why, ERR_UNAVAILABLE, "%s: %s ended with %d and said nothing", m->host,
                program, WEXITSTATUS(status));
    fail(m);
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct remote *m = handle->data;
    close(m->pidfd);
    m->nhandles--;
    maybe_over(m);
}

static void on_exit_status(struct remote *m, int status)
{
    struct remotes *r = m->owner;
    m->pid = 0;
    uv_close((uv_handle_t *)&m->exit, on_poll_closed);
    if (m->state == REMOTE_LOGIN)
        r->nlogins--;
    bool was_login = m->state == REMOTE_LOGIN;
    tell_end(m, status);
    m->state = REMOTE_ENDED;
    close_pipe(&m->in);
    close_pipe(&m->out);
    close_pipe(&m->err);
    if (was_login)
        start_more(r);
}

static void on_exit_poll(uv_poll_t *poll, int status, int events)
{
    struct remote *m = poll->data;
    int how;
    (void)status;
    (void)events;
    if (m->pid && waitpid(m->pid, &how, WNOHANG) == m->pid)
        on_exit_status(m, how);
}

/* ---- pipes ---- */

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    const struct remote *m = handle->data;
    (void)size;
    *buf = uv_buf_init(m->owner->slab, SLAB);
}

static void on_written(uv_write_t *write, int status)
{
    struct remote *m = write->data;
    (void)status; /* its end tells more */
    boot_record_wipe(m->boot, m->boot_len);
    free(m->boot);
    m->boot = NULL;
}

/* The agent runs: now it may have the secret. What came before its words is noise. */
static void on_marker(struct remote *m)
{
    uv_buf_t bytes = uv_buf_init(m->boot, (unsigned)m->boot_len);
    m->write.data = m;
    login_over(m);
    if (uv_write(&m->write, (uv_stream_t *)&m->in, &bytes, 1, on_written) < 0)
        close_pipe(&m->in);
}

static void look_for_marker(struct remote *m)
{
    char marker[64];
    snprintf(marker, sizeof marker, "\nmuster-agent 1 %s ", m->token);
    buf_addc(&m->said, '\0');
    m->said.len--;
    char *at = strstr(m->said.data, marker), *end = at ? strchr(at + 1, '\n') : NULL;
    if (!end)
        return;
    const char *version = at + strlen(marker);
    if ((size_t)(end - version) != strlen(MUSTER_VERSION)
        || strncmp(version, MUSTER_VERSION, strlen(MUSTER_VERSION)) != 0) {
        err_set(&m->why, ERR_UNAVAILABLE,
                "%s: its muster has version %.*s, this one %s (--remote-muster)", m->host,
                (int)(end - version), version, MUSTER_VERSION);
        fail(m);
        close_pipe(&m->in);
        login_over(m);
        return;
    }
    on_marker(m);
}

static void on_said(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct remote *m = stream->data;
    if (n < 0) {
        close_pipe(&m->out);
        return;
    }
    if (m->state != REMOTE_LOGIN)
        return;
    size_t had = m->said.len;
    if (had == 0)
        buf_addc(&m->said, '\n'); /* a marker at the very beginning counts too */
    if (had + (size_t)n <= NOISE_MAX)
        buf_add(&m->said, buf->base, (size_t)n);
    look_for_marker(m);
}

static void on_complaint(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct remote *m = stream->data;
    if (n < 0) {
        close_pipe(&m->err);
        return;
    }
    log_debug("remote", "%s: %.*s", m->host, (int)n, buf->base);
    if (m->complaint.len > WORDS_MAX)
        buf_consume(&m->complaint, m->complaint.len - WORDS_MAX / 2);
    buf_add(&m->complaint, buf->base, (size_t)n);
}

/* ---- starting ---- */

static int open_pipe(struct remote *m, uv_pipe_t *pipe, int fd)
{
    uv_pipe_init(m->owner->loop, pipe, 0);
    pipe->data = m;
    m->nhandles++;
    return uv_pipe_open(pipe, fd);
}

static void close_both(int fds[2])
{
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static int start_process(struct remote *m, int theirs[3], struct err *e)
{
    struct spawn s = m->owner->spawn;
    s.argv = m->argv.words;
    s.envp = environ;
    s.in = theirs[0];
    s.out = theirs[1];
    s.err = theirs[2];
    s.exec_pipe = -1;
    const struct facts facts = {.environment = (const char *const *)environ};
    char *path = spawn_find(m->argv.words[0], &facts, e);
    if (!path)
        return -1;
    s.path = path;
    int rc = spawn_start(&s, &m->pid, &m->pidfd, e);
    free(path);
    return rc;
}

static int start(struct remote *m, struct err *e)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) {
        err_sys(e, errno, "cannot make a pipe (open files: see ulimit -n)");
    } else {
        int theirs[3] = {in[0], out[1], err[1]};
        if (start_process(m, theirs, e) == 0) {
            close(in[0]);
            close(out[1]);
            close(err[1]);
            m->owner->nleft++;
            open_pipe(m, &m->in, in[1]);
            open_pipe(m, &m->out, out[0]);
            open_pipe(m, &m->err, err[0]);
            uv_poll_init(m->owner->loop, &m->exit, m->pidfd);
            m->exit.data = m;
            m->nhandles++;
            uv_poll_start(&m->exit, UV_READABLE, on_exit_poll);
            uv_read_start((uv_stream_t *)&m->out, on_alloc, on_said);
            uv_read_start((uv_stream_t *)&m->err, on_alloc, on_complaint);
            return 0;
        }
    }
    close_both(in);
    close_both(out);
    close_both(err);
    return -1;
}

static void start_more(struct remotes *r)
{
    while (!r->is_closing && r->next < r->n && r->nlogins < REMOTES_WINDOW) {
        struct remote *m = r->list[r->next++];
        m->state = REMOTE_LOGIN;
        r->nlogins++;
        if (start(m, &m->why) == 0)
            continue;
        m->state = REMOTE_ENDED;
        r->nlogins--;
        m->why.code = ERR_UNAVAILABLE;
        err_wrap(&m->why, "%s", m->host);
        fail(m);
    }
}

/* ---- the whole ---- */

struct remotes *remotes_new(struct uv_loop_s *loop, const struct rlimit *limits,
                            const struct remotes_events *events)
{
    struct remotes *r = mem_alloc(1, sizeof *r);
    r->loop = loop;
    r->events = *events;
    r->slab = mem_alloc(1, SLAB);
    spawn_init(&r->spawn);
    r->spawn.nofile = *limits;
    return r;
}

void remotes_add(struct remotes *r, const char *host, struct argv *argv, const char *token,
                 struct str boot)
{
    struct remote *m = mem_alloc(1, sizeof *m);
    array_grow(r->list, r->n, r->cap);
    m->owner = r;
    m->node = r->n;
    m->host = mem_strdup(host);
    m->token = mem_strdup(token);
    m->argv = *argv;
    *argv = (struct argv){0};
    m->boot = mem_dup(boot.p, boot.n);
    m->boot_len = boot.n;
    buf_init(&m->said, NOISE_MAX + 64);
    buf_init(&m->complaint, 0);
    r->list[r->n++] = m;
}

void remotes_start(struct remotes *r)
{
    start_more(r);
}

void remotes_linked(struct remotes *r, uint32_t node)
{
    if (node < r->n)
        r->list[node]->is_linked = true;
}

static void on_end_time(uv_timer_t *timer)
{
    const struct remotes *r = timer->data;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->list[i]->pid)
            kill(-r->list[i]->pid, SIGKILL);
}

void remotes_close(struct remotes *r)
{
    r->is_closing = true;
    uv_timer_init(r->loop, &r->timer);
    r->timer.data = r;
    r->has_timer = true;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->list[i]->pid)
            close_pipe(&r->list[i]->in);
    if (r->nleft)
        uv_timer_start(&r->timer, on_end_time, END_MS, 0);
    else
        uv_close((uv_handle_t *)&r->timer, on_timer_closed);
}
