#include "launcher/io/child.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/io/reap.h"

#ifndef P_PIDFD
#define P_PIDFD 3 /* Linux 5.4 */
#endif

enum { FINAL_READS = 32 }; /* of one slab each: more than a pipe holds */

struct pipe_end {
    struct child *child;
    int fd; /* -1 = ended */
    struct output_stream *stream;
    struct watch watch;
};

struct child {
    struct child_host *host;
    uint32_t local_rank;
    pid_t pid;
    int pidfd;
    bool is_running, is_paused, has_told; /* told: of its exit, with its tail */
    struct watch exit;
    struct pipe_end pipes[OUTPUT_FD_COUNT];
    char *tail;
    void (*on_stderr)(void *ctx, uint32_t local_rank, const char *p, size_t n);
    void *on_stderr_ctx;
};

/* ---- pipes ---- */

/* Whoever was told of the exit may still read that tail. */
static void keep_tail(struct child *c)
{
    if (c->has_told)
        return;
    free(c->tail);
    c->tail = mem_strdup(output_stream_tail(c->pipes[OUTPUT_ERR].stream));
}

static void pipe_end(struct pipe_end *end)
{
    if (end->fd < 0)
        return;
    if (end == &end->child->pipes[OUTPUT_ERR])
        keep_tail(end->child);
    watch_forget(&end->watch);
    close(end->fd);
    end->fd = -1;
    output_stream_end(end->stream);
    end->stream = NULL;
}

static bool have_streams_ended(const struct child *c)
{
    return c->pipes[OUTPUT_OUT].fd < 0 && c->pipes[OUTPUT_ERR].fd < 0;
}

/* One read. True if there may be more. */
static bool pipe_read(struct pipe_end *end)
{
    struct child *c = end->child;
    struct child_host *host = c->host;
    ssize_t n = read(end->fd, host->slab, host->slab_size);
    if (n > 0) {
        if (host->on_output)
            host->on_output(host->ctx);
        if (c->on_stderr && end == &c->pipes[OUTPUT_ERR])
            c->on_stderr(c->on_stderr_ctx, c->local_rank, host->slab, (size_t)n);
        output_stream_write(end->stream, host->slab, (size_t)n);
        return true;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    pipe_end(end);
    return false;
}

static void on_readable(void *ctx)
{
    struct pipe_end *end = ctx;
    struct child *c = end->child;
    pipe_read(end);
    if (have_streams_ended(c))
        c->host->on_streams_ended(c->host->ctx, c->local_rank);
    else if (output_is_full(c->host->output))
        c->host->on_full(c->host->ctx);
}

static int pipe_open(struct child *c, enum output_fd which, const struct child_start *start,
                     struct err *e)
{
    bool is_out = which == OUTPUT_OUT;
    int fd = is_out ? start->out : start->err;
    struct pipe_end *end = &c->pipes[which];
    end->child = c;
    end->fd = fd;
    end->stream = output_stream_new(c->host->output, which, start->rank, c->local_rank,
                                    is_out ? start->log_out : start->log_err, !is_out);
    unsigned bit = is_out ? STREAM_OUT : STREAM_ERR;
    if (!(start->shown & bit))
        output_stream_hide(end->stream);
    if (start->bare & bit)
        output_stream_bare(end->stream);
    else if (start->filtered && start->filtered[which])
        output_stream_filter(end->stream, start->filtered[which], start->filters[which]);
    return watch_start(c->host->watches, &end->watch, fd, on_readable, end, e);
}

/* What the worker wrote before it died is in the pipes already: take it before its death is
 * told. */
static void read_rest(struct child *c)
{
    for (int which = 0; which < OUTPUT_FD_COUNT; which++) {
        struct pipe_end *end = &c->pipes[which];
        for (int i = 0; i < FINAL_READS && end->fd >= 0 && !output_is_full(c->host->output);
             i++)
            if (!pipe_read(end))
                break;
    }
}

/* ---- the process ---- */

static bool read_status(struct child *c, struct worker_end *end)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    if (waitid((idtype_t)P_PIDFD, (id_t)c->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) < 0
        || !info.si_pid)
        return false;
    *end = (struct worker_end){
        .kind = info.si_code == CLD_EXITED ? END_EXIT : END_SIGNAL,
        .code = info.si_status,
        .core = info.si_code == CLD_DUMPED,
    };
    return true;
}

static void on_exited(void *ctx)
{
    struct child *c = ctx;
    struct worker_end end;
    if (!read_status(c, &end))
        return;
    watch_stop(c->host->watches, &c->exit, c->pidfd);
    c->is_running = false;
    bool had_streams = !have_streams_ended(c);
    read_rest(c);
    if (c->pipes[OUTPUT_ERR].fd >= 0)
        keep_tail(c);
    c->has_told = true;
    c->host->on_exit(c->host->ctx, c->local_rank, &end, c->tail);
    if (had_streams && have_streams_ended(c))
        c->host->on_streams_ended(c->host->ctx, c->local_rank);
}

static void child_free(struct child *c)
{
    child_close_streams(c);
    watch_forget(&c->exit);
    close(c->pidfd);
    free(c->tail);
    free(c);
}

struct child *child_new(struct child_host *host, const struct child_start *start, struct err *e)
{
    struct child *c = mem_alloc(1, sizeof *c);
    c->host = host;
    c->local_rank = start->local_rank;
    c->pid = start->pid;
    c->pidfd = start->pidfd;
    c->is_running = true;
    int rc = pipe_open(c, OUTPUT_OUT, start, e);
    int rc_err = pipe_open(c, OUTPUT_ERR, start, e);
    if (rc == 0 && rc_err == 0
        && watch_start(host->watches, &c->exit, c->pidfd, on_exited, c, e) == 0)
        return c;
    int status;
    child_kill(c, SIGKILL); /* what cannot be watched must not run */
    reap(c->pid, c->pidfd, REAP_MS, &status);
    child_free(c);
    return NULL;
}

pid_t child_pid(const struct child *c)
{
    return c->pid;
}

bool child_is_running(const struct child *c)
{
    return c->is_running;
}

bool child_was_suspended(struct child *c)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    return c->is_running
           && waitid((idtype_t)P_PIDFD, (id_t)c->pidfd, &info, WSTOPPED | WNOHANG) == 0
           && info.si_pid
           && (info.si_status == SIGTSTP || info.si_status == SIGTTIN
               || info.si_status == SIGTTOU);
}

void child_kill(struct child *c, int signo)
{
    /* Between fork and setsid the worker has no group of its own yet. */
    if (kill(-c->pid, signo) < 0 && errno == ESRCH && c->is_running)
        kill(c->pid, signo);
}

void child_pause(struct child *c, bool is_paused)
{
    if (c->is_paused == is_paused)
        return;
    c->is_paused = is_paused;
    for (int which = 0; which < OUTPUT_FD_COUNT; which++) {
        struct pipe_end *end = &c->pipes[which];
        if (end->fd < 0)
            continue;
        struct err e;
        if (is_paused)
            watch_stop(c->host->watches, &end->watch, end->fd);
        else if (watch_start(c->host->watches, &end->watch, end->fd, on_readable, end, &e) < 0)
            log_error("child", "%s", e.text);
    }
}

void child_capture(struct child *c,
                   void (*on_stderr)(void *ctx, uint32_t local_rank, const char *p, size_t n),
                   void *ctx)
{
    c->on_stderr = on_stderr;
    c->on_stderr_ctx = ctx;
}

void child_close_streams(struct child *c)
{
    for (int which = 0; which < OUTPUT_FD_COUNT; which++)
        pipe_end(&c->pipes[which]);
}

void child_reap(struct child *c)
{
    siginfo_t info;
    waitid((idtype_t)P_PIDFD, (id_t)c->pidfd, &info, WEXITED | WNOHANG);
    child_free(c);
}
