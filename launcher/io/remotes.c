#include "launcher/io/remotes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/boot_record.h"
#include "launcher/core/remote_failure.h"
#include "launcher/io/descendants.h"
#include "launcher/io/spawn.h"

enum {
    NOISE_MAX = 64 * 1024, /* of start-up files, before the agent's first words */
    WORDS_MAX = 4096,      /* kept of its standard error */
    END_MS = 3000,         /* from the end of its standard input to a signal */
    END_GROUP_MS = 10000,  /* from SIGTERM to SIGKILL, of srun and mpirun */
};

enum remote_state { REMOTE_WAITING, REMOTE_LOGIN, REMOTE_UP, REMOTE_PAUSE, REMOTE_ENDED };

struct remote {
    struct remotes *owner;
    uint32_t node, nnodes; /* the first of them */
    enum remote_state state;
    bool is_told, is_again, is_group;
    char *host, *token; /* token NULL: its agents say nothing */
    struct argv argv;
    const char *const *hidden;
    char *boot; /* NULL once it is written */
    size_t boot_len;
    uint32_t tries;
    uint64_t due_ms; /* REMOTE_PAUSE: of the next try */
    pid_t pid;
    int pidfd;
    uv_poll_t exit; /* of pidfd */
    uv_pipe_t in, out, err;
    int nhandles;
    struct buf said, complaint; /* of its standard output the last lines, and error */
    struct buf line;            /* of its standard error, once it has its link */
    char words[128];            /* how far it is */
    uv_write_t write;
    struct err why;
};

struct remotes {
    struct uv_loop_s *loop;
    struct remotes_events events;
    struct spawn spawn;
    struct remote **list;
    bool *is_linked;                  /* by node */
    uint32_t n, next, nlogins, nleft; /* nleft: that run, or have open handles */
    uint32_t nnodes;
    size_t cap;
    char *slab;
    uv_timer_t timer; /* of the next try; once closing, of the end */
    bool is_closing, has_timer;
    struct descendants *descendants; /* NULL = no command has any that could be left */
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
    buf_fini(&m->line);
    free(m);
}

static void maybe_finish(struct remotes *r)
{
    if (!r->is_closing || r->nleft || r->has_timer)
        return;
    for (uint32_t i = 0; i < r->n; i++)
        remote_free(r->list[i]);
    descendants_free(r->descendants);
    free(r->list);
    free(r->is_linked);
    free(r->slab);
    free(r);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct remotes *r = handle->data;
    r->has_timer = false;
    maybe_finish(r);
}

static void start_again(struct remotes *r);

/* Over when it is reaped and its pipes are closed; unless it is tried again. */
static void maybe_over(struct remote *m)
{
    struct remotes *r = m->owner;
    if (m->nhandles || m->pid)
        return;
    if (--r->nleft == 0 && r->is_closing && r->has_timer)
        uv_close((uv_handle_t *)&r->timer, on_timer_closed);
    if (!r->is_closing && m->state == REMOTE_PAUSE)
        start_again(r);
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

/* Of its nodes the first without a link; all have one: just behind the last. */
static uint32_t first_unlinked(const struct remote *m)
{
    uint32_t node = m->node;
    while (node < m->node + m->nnodes && m->owner->is_linked[node])
        node++;
    return node;
}

static bool is_wanted(const struct remote *m)
{
    return !m->owner->is_closing && first_unlinked(m) < m->node + m->nnodes;
}

static void tell_state(struct remote *m, const char *state, const char *more)
{
    struct remotes *r = m->owner;
    if (!is_wanted(m))
        return;
    snprintf(m->words, sizeof m->words, "%s%s", state, more);
    for (uint32_t node = m->node; node < m->node + m->nnodes; node++)
        if (!r->is_linked[node])
            r->events.on_state(r->events.ctx, node, m->host, m->words);
}

static void fail(struct remote *m)
{
    struct remotes *r = m->owner;
    if (m->is_told || !is_wanted(m))
        return;
    m->is_told = true;
    r->events.on_failed(r->events.ctx, first_unlinked(m), m->host, &m->why);
}

static bool has_letter(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'z')
            return true;
    return false;
}

/* ssh says most in its last line; srun and mpirun in the first, before what follows from it. */
static struct str telling_line(const struct buf *text, bool is_first)
{
    struct str rest = {text->data ? text->data : "", text->len}, line, found = {"", 0};
    while (str_split(&rest, '\n', &line)) {
        line.n -= line.n && line.p[line.n - 1] == '\r';
        if (!has_letter(line))
            continue;
        found = line;
        if (is_first)
            break;
    }
    return found;
}

static void describe_end(struct remote *m, int status, bool was_up)
{
    struct str line = telling_line(&m->complaint, m->is_group);
    const char *program = m->argv.words[0];
    if (WIFSIGNALED(status))
        err_set(&m->why, ERR_UNAVAILABLE, "%s ended by signal %d", program, WTERMSIG(status));
    else if (WEXITSTATUS(status) == 127 && !was_up && !m->is_group)
        err_set(&m->why, ERR_UNAVAILABLE,
                "muster is not there, or not under this path (--remote-muster): %.*s",
                STR_ARG(line));
    else if (line.n)
        err_set(&m->why, ERR_UNAVAILABLE, "%.*s", STR_ARG(line));
    else
        err_set(&m->why, ERR_UNAVAILABLE, "%s ended with %d and said nothing", program,
                WEXITSTATUS(status));
}

static void arm(struct remotes *r);

/* Whether it is tried once more. */
static bool try_later(struct remote *m, int status, bool was_up)
{
    uint32_t random = 0;
    struct str words = {m->complaint.data ? m->complaint.data : "", m->complaint.len};
    enum remote_failure failure =
        remote_failure_of(WIFEXITED(status) ? WEXITSTATUS(status) : -1, words);
    if (was_up || !m->is_again || !is_wanted(m)
        || getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        return false;
    uint64_t pause_ms = remote_failure_pause_ms(failure, m->tries, random);
    if (!pause_ms)
        return false;
    m->state = REMOTE_PAUSE;
    m->due_ms = now_ms() + pause_ms;
    log_debug("remote", "%s: %s; once more in %llu ms", m->host, m->why.text,
              (unsigned long long)pause_ms);
    tell_state(m, remote_failure_words(failure), ", trying again");
    arm(m->owner);
    return true;
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
    while (m->complaint.len < WORDS_MAX && (n = read(fd, m->owner->slab, SLAB)) > 0)
        buf_add(&m->complaint, m->owner->slab, (size_t)n);
}

/* mpirun leaves an ssh that hangs; by now no agent has anything left to do. */
static void sweep(const struct remotes *r)
{
    if (r->descendants)
        descendants_signal(r->descendants, SIGKILL);
}

static void on_exit_status(struct remote *m, int status)
{
    struct remotes *r = m->owner;
    bool was_login = m->state == REMOTE_LOGIN, was_up = m->state == REMOTE_UP;
    m->pid = 0;
    uv_close((uv_handle_t *)&m->exit, on_poll_closed);
    r->nlogins -= was_login;
    if (r->is_closing && m->is_group)
        sweep(r);
    drain(m);
    if (!m->is_told) {
        describe_end(m, status, was_up);
        m->state = REMOTE_ENDED;
        if (!try_later(m, status, was_up))
            fail(m);
    }
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
    tell_state(m, m->is_group ? "its step runs, no link" : "ssh up, no link", "");
    if (uv_write(&m->write, (uv_stream_t *)&m->in, &bytes, 1, on_written) < 0)
        close_pipe(&m->in);
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
            && str_eq(token, m->token)) {
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
    if (!str_eq(version, MUSTER_VERSION) || !str_eq(protocol, "1")) {
        err_set(&m->why, ERR_UNAVAILABLE,
                "its muster has version %.*s (protocol %.*s), this one %s (1); --remote-muster",
                STR_ARG(version), STR_ARG(protocol), MUSTER_VERSION);
        fail(m);
        close_pipe(&m->in);
        login_over(m);
        return;
    }
    buf_consume(&m->said, (size_t)(version.p + version.n + 1 - m->said.data));
    on_marker(m);
}

/* "try 10.0.0.1:41234 timed out": what the agent of one host does until it has its link. Or
 * what it answers to a question. */
static void read_status(struct remote *m)
{
    static const char try[] = "try ";
    char *end;
    while (m->said.len && (end = memchr(m->said.data, '\n', m->said.len))) {
        *end = '\0';
        if (!m->is_group && strncmp(m->said.data, try, sizeof try - 1) == 0)
            tell_state(m, "ssh up, no link: ", m->said.data + sizeof try - 1);
        else if (!m->is_group && m->owner->events.on_answer)
            m->owner->events.on_answer(m->owner->events.ctx, m->node, m->said.data);
        buf_consume(&m->said, (size_t)(end + 1 - m->said.data));
    }
    if (m->said.len > WORDS_MAX)
        buf_reset(&m->said);
}

static void on_said(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct remote *m = stream->data;
    if (n < 0) {
        close_pipe(&m->out);
        return;
    }
    if (!m->token || (m->state != REMOTE_LOGIN && m->state != REMOTE_UP))
        return;
    if (m->said.len == 0 && m->state == REMOTE_LOGIN)
        buf_addc(&m->said, '\n'); /* a marker at the very beginning counts too */
    if (m->said.len + (size_t)n <= NOISE_MAX)
        buf_add(&m->said, buf->base, (size_t)n);
    if (m->state == REMOTE_LOGIN)
        look_for_marker(m);
    if (m->state == REMOTE_UP)
        read_status(m);
}

/* What muster says on the other host is for people here; words of ssh and srun are not. */
static void pass_on(struct remote *m, const char *p, size_t n)
{
    static const char own[] = "muster: ";
    char *end;
    buf_add(&m->line, p, n);
    while (m->line.len && (end = memchr(m->line.data, '\n', m->line.len))) {
        *end = '\0';
        if (strncmp(m->line.data, own, sizeof own - 1) == 0)
            log_info("remote", "%s", m->line.data + sizeof own - 1);
        buf_consume(&m->line, (size_t)(end + 1 - m->line.data));
    }
    if (m->line.len > WORDS_MAX)
        buf_reset(&m->line);
}

static bool has_link(const struct remote *m)
{
    for (uint32_t node = m->node; node < m->node + m->nnodes; node++)
        if (m->owner->is_linked[node])
            return true;
    return false;
}

static void on_complaint(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct remote *m = stream->data;
    if (n < 0) {
        close_pipe(&m->err);
        return;
    }
    if (has_link(m)) {
        pass_on(m, buf->base, (size_t)n);
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
    struct spawn s = m->owner->spawn;
    s.argv = m->argv.words;
    s.in = theirs[0];
    s.out = theirs[1];
    s.err = theirs[2];
    s.exec_pipe = -1;
    const struct facts facts = {.environment = (const char *const *)environ};
    char *path = spawn_find(m->argv.words[0], &facts, e);
    if (!path)
        return -1;
    char **envp = environment_without(m->hidden);
    s.path = path;
    s.envp = envp;
    int rc = spawn_start(&s, &m->pid, &m->pidfd, e);
    free(envp);
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

static void start_one(struct remote *m)
{
    struct remotes *r = m->owner;
    m->state = REMOTE_LOGIN;
    m->tries++;
    r->nlogins++;
    buf_reset(&m->said);
    buf_reset(&m->complaint);
    if (m->is_group)
        tell_state(m, m->host, " has not started it yet");
    else
        tell_state(m, "not logged in yet", "");
    if (start(m, &m->why) == 0) {
        if (!m->token)
            login_over(m);
        return;
    }
    m->state = REMOTE_ENDED;
    r->nlogins--;
    m->why.code = ERR_UNAVAILABLE;
    fail(m);
}

static void start_more(struct remotes *r)
{
    while (!r->is_closing && r->next < r->n && r->nlogins < REMOTES_WINDOW)
        start_one(r->list[r->next++]);
}

static void start_again(struct remotes *r)
{
    uint64_t now = now_ms();
    for (uint32_t i = 0; i < r->n && !r->is_closing; i++) {
        struct remote *m = r->list[i];
        if (m->state == REMOTE_PAUSE && m->due_ms <= now && !m->nhandles)
            start_one(m);
    }
    arm(r);
}

static void on_again(uv_timer_t *timer)
{
    start_again(timer->data);
}

/* Those whose handles are still closing come back by themselves. */
static void arm(struct remotes *r)
{
    uint64_t due_ms = UINT64_MAX, now = now_ms();
    for (uint32_t i = 0; i < r->n; i++)
        if (r->list[i]->state == REMOTE_PAUSE && r->list[i]->due_ms < due_ms
            && (r->list[i]->due_ms > now || !r->list[i]->nhandles))
            due_ms = r->list[i]->due_ms;
    if (due_ms == UINT64_MAX || r->is_closing)
        return;
    uv_timer_start(&r->timer, on_again, due_ms > now ? due_ms - now : 0, 0);
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
    uv_timer_init(loop, &r->timer);
    r->timer.data = r;
    r->has_timer = true;
    return r;
}

void remotes_add(struct remotes *r, const struct remote_command *command)
{
    struct remote *m = mem_alloc(1, sizeof *m);
    array_grow(r->list, r->n, r->cap);
    m->owner = r;
    m->node = r->nnodes;
    m->nnodes = command->nnodes;
    m->host = mem_strdup(command->host);
    m->token = mem_strdup(command->token);
    m->argv = *command->argv;
    *command->argv = (struct argv){0};
    m->hidden = command->hidden;
    m->is_again = command->is_again;
    m->is_group = command->is_group;
    if (m->is_group && !r->descendants)
        r->descendants = descendants_adopt();
    if (command->token)
        m->boot = mem_dup(command->boot.p, command->boot.n);
    m->boot_len = command->boot.n;
    buf_init(&m->said, NOISE_MAX + 64);
    buf_init(&m->complaint, 0);
    buf_init(&m->line, 0);
    r->nnodes += command->nnodes;
    r->is_linked = mem_realloc(r->is_linked, r->nnodes, sizeof *r->is_linked);
    for (uint32_t node = m->node; node < r->nnodes; node++)
        r->is_linked[node] = false;
    r->list[r->n++] = m;
}

void remotes_start(struct remotes *r)
{
    start_more(r);
}

void remotes_linked(struct remotes *r, uint32_t node)
{
    if (node < r->nnodes)
        r->is_linked[node] = true;
}

static void on_end_time(uv_timer_t *timer)
{
    const struct remotes *r = timer->data;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->list[i]->pid)
            kill(-r->list[i]->pid, SIGKILL);
}

/* mpirun ends its own children at SIGTERM only; srun's tasks have ended by now. */
static void on_end_asked(uv_timer_t *timer)
{
    const struct remotes *r = timer->data;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->list[i]->pid)
            kill(r->list[i]->is_group ? r->list[i]->pid : -r->list[i]->pid,
                 r->list[i]->is_group ? SIGTERM : SIGKILL);
    uv_timer_start(timer, on_end_time, END_GROUP_MS, 0);
}

void remotes_close(struct remotes *r)
{
    r->is_closing = true;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->list[i]->pid)
            close_pipe(&r->list[i]->in);
    if (r->nleft) {
        uv_timer_start(&r->timer, on_end_asked, END_MS, 0);
    } else {
        sweep(r);
        uv_close((uv_handle_t *)&r->timer, on_timer_closed);
    }
}
