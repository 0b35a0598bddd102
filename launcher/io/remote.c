#include "launcher/io/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/buf.h"
#include "base/mem.h"
#include "launcher/core/boot_record.h"
#include "launcher/io/spawn.h"

enum {
    NOISE_MAX = 64 * 1024, /* of start-up files, before the agent's first words */
    LINE_MOST = 4096,      /* of what it says after them */
};

struct remote {
    struct remote_setup setup;
    struct remote_events events;
    pid_t pid;
    int pidfd;
    uv_poll_t exit; /* of pidfd */
    uv_pipe_t in, out, err;
    int nhandles;
    bool has_marker;
    struct buf said; /* of its standard output, what has not been read */
    struct buf sent; /* until it has gone */
    uv_write_t write;
};

/* ---- the end ---- */

static void maybe_over(struct remote *m)
{
    if (remote_is_over(m))
        m->events.on_over(m->events.ctx);
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

static void on_poll_closed(uv_handle_t *handle)
{
    struct remote *m = handle->data;
    close(m->pidfd);
    m->nhandles--;
    maybe_over(m);
}

/* What it wrote before it ended, and has not been read. */
static void drain(struct remote *m)
{
    int fd;
    ssize_t n;
    if (uv_is_closing((uv_handle_t *)&m->err) || uv_fileno((uv_handle_t *)&m->err, &fd) < 0)
        return;
    for (int i = 0; i < 4 && (n = read(fd, m->setup.slab, REMOTE_SLAB)) > 0; i++)
        m->events.on_complaint(m->events.ctx, m->setup.slab, (size_t)n);
}

static void on_exit_poll(uv_poll_t *poll, int error, int events)
{
    struct remote *m = poll->data;
    int status;
    (void)error;
    (void)events;
    if (!m->pid || waitpid(m->pid, &status, WNOHANG) != m->pid)
        return;
    m->pid = 0;
    uv_close((uv_handle_t *)&m->exit, on_poll_closed);
    drain(m);
    m->events.on_exit(m->events.ctx, status);
    close_pipe(&m->in);
    close_pipe(&m->out);
    close_pipe(&m->err);
}

/* ---- what it says ---- */

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    const struct remote *m = handle->data;
    (void)size;
    *buf = uv_buf_init(m->setup.slab, REMOTE_SLAB);
}

/* Its line "muster-agent PROTOCOL TOKEN VERSION" as words, once it is there whole. What comes
 * before is noise, with any bytes. */
static bool find_marker(const struct remote *m, struct str *protocol, struct str *version)
{
    static const char begin[] = "\nmuster-agent ";
    struct str rest = {m->said.data, m->said.len}, token;
    char *at;
    while (rest.n && (at = memmem(rest.p, rest.n, begin, sizeof begin - 1))) {
        size_t skipped = (size_t)(at - rest.p) + sizeof begin - 1;
        rest = (struct str){rest.p + skipped, rest.n - skipped};
        char *end = memchr(rest.p, '\n', rest.n);
        struct str line = {rest.p, end ? (size_t)(end - rest.p) : 0};
        if (end && str_split(&line, ' ', protocol) && str_split(&line, ' ', &token)
            && str_eq(token, m->setup.token)) {
            *version = line;
            return true;
        }
    }
    return false;
}

static void look_for_marker(struct remote *m)
{
    struct str protocol, version;
    if (!find_marker(m, &protocol, &version))
        return;
    m->has_marker = true;
    m->events.on_marker(m->events.ctx, protocol, version);
    buf_consume(&m->said, (size_t)(version.p + version.n + 1 - m->said.data));
}

static void read_lines(struct remote *m)
{
    char *end;
    while (m->said.len && (end = memchr(m->said.data, '\n', m->said.len))) {
        *end = '\0';
        m->events.on_line(m->events.ctx, m->said.data);
        buf_consume(&m->said, (size_t)(end + 1 - m->said.data));
    }
    if (m->said.len > LINE_MOST)
        buf_reset(&m->said);
}

static void on_said(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct remote *m = stream->data;
    if (n < 0) {
        close_pipe(&m->out);
        return;
    }
    if (!m->setup.token)
        return;
    if (m->said.len == 0 && !m->has_marker)
        buf_addc(&m->said, '\n'); /* a marker at the very beginning counts too */
    if (m->said.len + (size_t)n <= NOISE_MAX)
        buf_add(&m->said, buf->base, (size_t)n);
    if (!m->has_marker)
        look_for_marker(m);
    if (m->has_marker)
        read_lines(m);
}

static void on_complaint(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct remote *m = stream->data;
    if (n < 0)
        close_pipe(&m->err);
    else
        m->events.on_complaint(m->events.ctx, buf->base, (size_t)n);
}

/* ---- what it is told ---- */

static void forget_sent(struct remote *m)
{
    if (m->sent.data)
        boot_record_wipe(m->sent.data, m->sent.len);
    buf_fini(&m->sent);
}

static void on_written(uv_write_t *write, int status)
{
    (void)status; /* its end tells more */
    forget_sent(write->data);
}

void remote_send(struct remote *m, struct str text)
{
    buf_add(&m->sent, text.p, text.n);
    uv_buf_t bytes = uv_buf_init(m->sent.data, (unsigned)m->sent.len);
    m->write.data = m;
    if (uv_write(&m->write, (uv_stream_t *)&m->in, &bytes, 1, on_written) < 0)
        close_pipe(&m->in);
}

void remote_end_input(struct remote *m)
{
    if (m->pid)
        close_pipe(&m->in);
}

/* ---- its start ---- */

static int open_pipe(struct remote *m, uv_pipe_t *pipe, int fd)
{
    uv_pipe_init(m->setup.loop, pipe, 0);
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

static bool is_among(const char *entry, const char *const *names)
{
    for (; names && *names; names++)
        if (strncmp(entry, *names, strlen(*names)) == 0 && entry[strlen(*names)] == '=')
            return true;
    return false;
}

/* Our environment without some; entries are not copied. */
static char **environment_without(const char *const *hidden)
{
    size_t n = 0, kept = 0;
    while (environ && environ[n])
        n++;
    char **out = mem_alloc(n + 1, sizeof *out);
    for (size_t i = 0; i < n; i++)
        if (!is_among(environ[i], hidden))
            out[kept++] = environ[i];
    return out;
}

static int start_process(struct remote *m, int theirs[3], struct err *e)
{
    struct spawn s = *m->setup.spawn;
    s.argv = m->setup.argv;
    s.in = theirs[0];
    s.out = theirs[1];
    s.err = theirs[2];
    s.exec_pipe = -1;
    const struct facts facts = {.environment = (const char *const *)environ};
    char *path = spawn_find(m->setup.argv[0], &facts, e);
    if (!path)
        return -1;
    char **envp = environment_without(m->setup.hidden);
    s.path = path;
    s.envp = envp;
    int rc = spawn_start(&s, &m->pid, &m->pidfd, e);
    free(envp);
    free(path);
    return rc;
}

static void watch(struct remote *m, int in, int out, int err)
{
    open_pipe(m, &m->in, in);
    open_pipe(m, &m->out, out);
    open_pipe(m, &m->err, err);
    uv_poll_init(m->setup.loop, &m->exit, m->pidfd);
    m->exit.data = m;
    m->nhandles++;
    uv_poll_start(&m->exit, UV_READABLE, on_exit_poll);
    uv_read_start((uv_stream_t *)&m->out, on_alloc, on_said);
    uv_read_start((uv_stream_t *)&m->err, on_alloc, on_complaint);
}

int remote_start(struct remote *m, struct err *e)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
    buf_reset(&m->said);
    m->has_marker = false;
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) {
        err_sys(e, errno, "cannot make a pipe (open files: see ulimit -n)");
    } else {
        int theirs[3] = {in[0], out[1], err[1]};
        if (start_process(m, theirs, e) == 0) {
            close(in[0]);
            close(out[1]);
            close(err[1]);
            watch(m, in[1], out[0], err[0]);
            return 0;
        }
    }
    close_both(in);
    close_both(out);
    close_both(err);
    return -1;
}

/* ---- life ---- */

struct remote *remote_new(const struct remote_setup *setup, const struct remote_events *events)
{
    struct remote *m = mem_alloc(1, sizeof *m);
    m->setup = *setup;
    m->events = *events;
    buf_init(&m->said, NOISE_MAX + 64);
    buf_init(&m->sent, 0);
    return m;
}

bool remote_is_over(const struct remote *m)
{
    return !m->pid && !m->nhandles;
}

pid_t remote_pid(const struct remote *m)
{
    return m->pid;
}

void remote_free(struct remote *m)
{
    forget_sent(m);
    buf_fini(&m->said);
    free(m);
}
