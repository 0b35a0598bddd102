#include "launcher/io/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* Starts it with both outputs in one pipe; the pipe's read end, or -1. */
static int start(const char *path, char *const *argv, char *const *envp, pid_t *pid,
                 struct err *e)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(e, errno, "cannot make a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDERR_FILENO);
    int rc = posix_spawn(pid, path, &actions, NULL, argv, envp);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    if (rc == 0)
        return fds[0];
    close(fds[0]);
    return err_sys(e, rc, "%s", path);
}

/* Until the end of the output; false at the deadline, or where there is too much of it. */
static bool read_all(int fd, uint64_t deadline_ms, struct buf *answer)
{
    uint64_t end = now_ms() + deadline_ms;
    for (uint64_t now = now_ms(); now < end && !answer->overflowed; now = now_ms()) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char part[4096];
        int ready = poll(&p, 1, (int)(end - now));
        ssize_t n = ready > 0 ? read(fd, part, sizeof part) : -1;
        if (n == 0)
            return true;
        if (n > 0)
            buf_add(answer, part, (size_t)n);
        else if (ready > 0 && errno != EINTR)
            return false;
    }
    return false;
}

int ask(const char *path, char *const *argv, char *const *envp, uint64_t deadline_ms,
        struct buf *answer, int *status, struct err *e)
{
    pid_t pid;
    int fd = start(path, argv, envp, &pid, e);
    if (fd < 0)
        return -1;
    bool is_complete = read_all(fd, deadline_ms, answer);
    close(fd);
    if (!is_complete)
        kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    if (is_complete)
        return 0;
    return err_set(e, ERR_TIMEOUT, "%s did not end within %llu s", path,
                   (unsigned long long)(deadline_ms / 1000));
}
