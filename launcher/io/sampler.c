#include "launcher/io/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/core/node_sample.h"

enum { READ_BYTES = 16 * 1024, LINES = 2, LAST_WAIT_MS = 500 };

struct sampler {
    struct sampler_host host;
    pid_t pid;
    int pidfd, in, out; /* of the helper; -1 = there is none */
    struct watch watch;
    bool is_busy;       /* it owes an answer */
    bool is_waited_for; /* on_sample is due for it */
    uint64_t asked_ms;
    struct buf got;    /* the lines of its answer */
    struct buf answer; /* what on_sample was given */
};

struct sampler *sampler_new(const struct sampler_host *host)
{
    struct sampler *s = mem_alloc(1, sizeof *s);
    s->host = *host;
    s->pidfd = s->in = s->out = -1;
    buf_init(&s->got, LINES * (NODE_SAMPLE_BYTES_MAX + 1));
    buf_init(&s->answer, 0);
    return s;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Its zombie is collected with muster's other children, but for the last: sampler_free. */
static void end_helper(struct sampler *s)
{
    if (s->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
    if (s->out >= 0)
        watch_forget(&s->watch);
    close_fd(&s->pidfd);
    close_fd(&s->in);
    close_fd(&s->out);
    s->is_busy = false;
}

/* Muster is about to end, and leaves nothing to be collected by others; a process that is stuck
 * in its driver it leaves. */
static void await_helper(const struct sampler *s)
{
    struct pollfd end = {.fd = s->pidfd, .events = POLLIN};
    syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
    if (poll(&end, 1, LAST_WAIT_MS) > 0)
        waitpid(s->pid, NULL, WNOHANG);
}

void sampler_free(struct sampler *s)
{
    if (!s)
        return;
    if (s->pidfd >= 0)
        await_helper(s);
    end_helper(s);
    buf_fini(&s->got);
    buf_fini(&s->answer);
    free(s);
}

void sampler_forget(struct sampler *s)
{
    if (s)
        s->is_waited_for = false;
}

/* ---- answers ---- */

/* The best line that is complete. */
static struct str best_line(const struct sampler *s, int *nlines)
{
    struct str rest = {s->got.data, s->got.len}, line = {0};
    const char *end;
    *nlines = 0;
    while (rest.n && (end = memchr(rest.p, '\n', rest.n)) != NULL) {
        size_t n = (size_t)(end - rest.p);
        line = (struct str){rest.p, n};
        rest = (struct str){end + 1, rest.n - n - 1};
        ++*nlines;
    }
    return line;
}

/* Gives what there is; why: something is missing, NULL = nothing. */
static void give(struct sampler *s, const char *why)
{
    int nlines;
    struct str line = best_line(s, &nlines);
    if (!s->is_waited_for)
        return;
    s->is_waited_for = false;
    buf_reset(&s->answer);
    if (why)
        node_sample_add_why(why, &s->answer);
    node_sample_add_items(line, &s->answer);
    s->host.on_sample(s->host.ctx, (struct str){buf_str(&s->answer), s->answer.len});
}

static void on_readable(void *ctx)
{
    struct sampler *s = ctx;
    char part[READ_BYTES];
    int nlines;
    ssize_t n = read(s->out, part, sizeof part);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        end_helper(s);
        give(s, "the helper that measures has ended");
        return;
    }
    buf_add(&s->got, part, (size_t)n);
    best_line(s, &nlines);
    if (nlines < LINES)
        return;
    s->is_busy = false;
    give(s, NULL);
}

/* ---- the helper ---- */

static int start_process(struct sampler *s, int in, int out, struct err *e)
{
    char name[] = "muster", word[] = "sampler", *const argv[] = {name, word, NULL};
    struct spawn spawn = *s->host.spawn;
    spawn.path = "/proc/self/exe";
    spawn.argv = argv;
    spawn.envp = (char *const *)(uintptr_t)s->host.facts->environment;
    spawn.in = in;
    spawn.out = out;
    spawn.err = s->host.dev_null;
    spawn.exec_pipe = out; /* a failed exec leaves a few bytes that are no line */
    spawn.cpus = NULL;
    spawn.mem_node = -1;
    return spawn_start(&spawn, &s->pid, &s->pidfd, e);
}

static int start_helper(struct sampler *s, struct err *e)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    int rc = 0;
    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        rc = err_sys(e, errno, "cannot make a pipe");
    if (rc == 0)
        rc = start_process(s, to[0], from[1], e);
    close_fd(&to[0]);
    close_fd(&from[1]);
    s->in = to[1];
    s->out = from[0];
    if (rc == 0) {
        fcntl(s->in, F_SETFL, O_NONBLOCK);
        fcntl(s->out, F_SETFL, O_NONBLOCK);
        s->host.on_started(s->host.ctx, s->pid);
        rc = watch_start(s->host.watches, &s->watch, s->out, on_readable, s, e);
    }
    if (rc < 0)
        end_helper(s);
    return rc;
}

static int ask(struct sampler *s, const struct sample_subject *subjects, size_t n,
               struct err *e)
{
    struct buf line;
    if (s->pidfd < 0 && start_helper(s, e) < 0)
        return -1;
    buf_init(&line, 0);
    for (size_t i = 0; i < n; i++)
        sample_ask_format(&subjects[i], &line);
    buf_addc(&line, '\n');
    ssize_t sent = write(s->in, line.data, line.len);
    bool is_sent = sent == (ssize_t)line.len;
    buf_fini(&line);
    if (is_sent)
        return 0;
    end_helper(s);
    return err_set(e, ERR_SYSTEM, "the helper that measures takes no question");
}

void sampler_take(struct sampler *s, const struct sample_subject *subjects, size_t n,
                  uint64_t now_ms)
{
    struct err e;
    s->is_waited_for = true;
    if (s->is_busy) {
        buf_reset(&s->got);
        give(s, "the last measuring has not ended yet (NVML?)");
        return;
    }
    buf_reset(&s->got);
    if (ask(s, subjects, n, &e) < 0) {
        give(s, e.text);
        return;
    }
    s->is_busy = true;
    s->asked_ms = now_ms;
}

/* ---- time ---- */

uint64_t sampler_deadline(const struct sampler *s)
{
    if (s->is_waited_for)
        return s->asked_ms + SAMPLER_LIMIT_MS;
    if (s->is_busy)
        return s->asked_ms + SAMPLER_STUCK_MS;
    return s->pidfd >= 0 ? s->asked_ms + SAMPLER_IDLE_MS : UINT64_MAX;
}

void sampler_tick(struct sampler *s, uint64_t now_ms)
{
    if (now_ms < sampler_deadline(s))
        return;
    if (s->is_waited_for)
        give(s, "not all was measured in time (NVML?)");
    else
        end_helper(s);
}
