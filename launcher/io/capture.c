#include "launcher/io/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "launcher/io/descendants.h"
#include "launcher/io/guard.h"
#include "launcher/io/reap.h"
#include "launcher/io/spawn.h"

struct command {
    pid_t pid; /* 0 = there is none */
    int pidfd;
    struct guard *guard; /* NULL where there is none */
    struct descendants *descendants;
};

/* Why it was not executed; 0 = it was. By vfork, that is known once there is a child. */
static int exec_failure(int fd)
{
    struct spawn_failure failure;
    return read(fd, &failure, sizeof failure) == (ssize_t)sizeof failure ? failure.sys : 0;
}

static int spawn_command(struct command *c, struct spawn *s, const int out[2],
                         const int failure[2], struct err *e)
{
    pid_t pid;
    s->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (s->in < 0)
        return err_sys(e, errno, "/dev/null");
    s->out = s->err = out[1];
    s->exec_pipe = failure[1];
    int rc = spawn_start(s, &pid, &c->pidfd, e);
    close(s->in);
    if (rc < 0)
        return -1;
    c->pid = pid;
    guard_note_session(c->guard, 0, pid);
    return 0;
}

/* Both of its outputs are in one pipe, whose read end it returns, or -1. */
static int start(struct command *c, struct spawn *s, struct err *e)
{
    int out[2], failure[2];
    if (pipe2(out, O_CLOEXEC) < 0)
        return err_sys(e, errno, "cannot make a pipe");
    if (pipe2(failure, O_CLOEXEC) < 0) {
        close(out[0]);
        close(out[1]);
        return err_sys(e, errno, "cannot make a pipe");
    }
    int rc = spawn_command(c, s, out, failure, e);
    close(out[1]);
    close(failure[1]);
    int why = rc == 0 ? exec_failure(failure[0]) : 0;
    close(failure[0]);
    if (rc == 0 && !why)
        return out[0];
    close(out[0]);
    return why ? err_sys(e, why, "%s", s->path) : -1;
}

/* Until the end of the output; false at the deadline, or where there is too much of it. */
static bool read_all(int fd, uint64_t end, struct buf *out)
{
    for (uint64_t now = now_ms(); now < end && !out->overflowed; now = now_ms()) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char part[4096];
        int ready = poll(&p, 1, (int)(end - now));
        ssize_t n = ready > 0 ? read(fd, part, sizeof part) : -1;
        if (n == 0)
            return true;
        if (n > 0)
            buf_add(out, part, (size_t)n);
        else if (ready > 0 && errno != EINTR)
            return false;
    }
    return false;
}

/* A command may close its output and live on. */
static bool has_ended(int pidfd, uint64_t end)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    int ready;
    do {
        uint64_t now = now_ms();
        ready = poll(&p, 1, now < end ? (int)(end - now) : 0);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

/* With all that it has started, in its session or out of it. */
static void end_command(const struct command *c, struct capture_end *end)
{
    if (!c->pid)
        return;
    kill(-c->pid, SIGKILL);
    descendants_signal(c->descendants, SIGKILL);
    guard_note_session(c->guard, 0, 0);
    end->left = reap(c->pid, c->pidfd, REAP_MS, &end->status) ? 0 : c->pid;
    end->is_complete = end->is_complete && !end->left;
    close(c->pidfd);
}

/* Before there is anything to be left. */
static void watch_over(struct command *c)
{
    struct err e;
    *c = (struct command){.pidfd = -1};
    c->guard = guard_start(&e);
    c->descendants = descendants_adopt();
    guard_await(c->guard);
}

static void release(struct command *c)
{
    guard_stop(c->guard);
    descendants_free(c->descendants);
}

int capture(const char *path, char *const *argv, char *const *environment, uint64_t deadline_ms,
            struct buf *out, struct capture_end *end, struct err *e)
{
    struct command c;
    struct spawn s;
    *end = (struct capture_end){0};
    watch_over(&c);
    spawn_init(&s);
    s.path = path;
    s.argv = argv;
    s.envp = environment;
    s.mark = guard_mark(c.guard);
    getrlimit(RLIMIT_NOFILE, &s.nofile);
    int fd = start(&c, &s, e);
    if (fd >= 0) {
        uint64_t end_ms = now_ms() + deadline_ms;
        end->is_complete = read_all(fd, end_ms, out) && has_ended(c.pidfd, end_ms);
    }
    end_command(&c, end);
    if (fd >= 0) /* not before: its end would be SIGPIPE's */
        close(fd);
    release(&c);
    return fd < 0 ? -1 : 0;
}

int capture_late(const struct capture_end *end, const char *what, uint64_t deadline_ms,
                 struct err *e)
{
    const int limit_s = (int)(deadline_ms / 1000);
    if (!end->left)
        return err_set(e, ERR_UNAVAILABLE, "%s did not end within %d s", what, limit_s);
    return err_set(e, ERR_UNAVAILABLE,
                   "%s did not end within %d s, nor by SIGKILL: process %d sleeps in a driver "
                   "or a file system that hangs, and is left",
                   what, limit_s, (int)end->left);
}
