#include "launcher/io/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* Starts it with both outputs in one pipe; the pipe's read end, or -1. */
static int start(const char *path, char *const *argv, char *const *environment, pid_t *pid,
                 struct err *e)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(e, errno, "cannot make a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDERR_FILENO);
    int rc = posix_spawn(pid, path, &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    if (rc == 0)
        return fds[0];
    close(fds[0]);
    return err_sys(e, rc, "%s", path);
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
static bool has_ended(pid_t pid, uint64_t end)
{
    struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    if (p.fd < 0)
        return true; /* a kernel without them: waitpid waits */
    int ready;
    do {
        uint64_t now = now_ms();
        ready = poll(&p, 1, now < end ? (int)(end - now) : 0);
    } while (ready < 0 && errno == EINTR);
    close(p.fd);
    return ready > 0;
}

int capture(const char *path, char *const *argv, char *const *environment, uint64_t deadline_ms,
            struct buf *out, bool *is_complete, int *status, struct err *e)
{
    pid_t pid;
    int fd = start(path, argv, environment, &pid, e);
    if (fd < 0)
        return -1;
    uint64_t end = now_ms() + deadline_ms;
    *is_complete = read_all(fd, end, out) && has_ended(pid, end);
    if (!*is_complete)
        kill(pid, SIGKILL);
    close(fd); /* not before: its end would be SIGPIPE's */
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    return 0;
}
