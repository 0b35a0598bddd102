/* pidfd_lend PRELOAD COMMAND... - runs COMMAND under a valgrind that does not know pidfd_open
 * (before 3.21): PRELOAD, a library loaded into it, asks this process for each pidfd by a
 * socket. Ends with the status of COMMAND, 128+N if a signal ended it. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int listen_at(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    strncpy(addr.sun_path, path, sizeof addr.sun_path - 1);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof addr) < 0
        || listen(fd, 64) < 0) {
        perror(path);
        exit(1);
    }
    return fd;
}

static void send_fd(int to, int fd)
{
    char byte = 0;
    union {
        char data[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {&byte, 1};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = control.data,
                         .msg_controllen = sizeof control.data};
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    sendmsg(to, &msg, MSG_NOSIGNAL);
}

static void serve(int listener)
{
    int client = accept(listener, NULL, NULL), pid;
    if (client < 0)
        return;
    if (recv(client, &pid, sizeof pid, 0) == (ssize_t)sizeof pid) {
        int fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (fd >= 0) {
            send_fd(client, fd);
            close(fd);
        }
    }
    close(client);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/muster-test-XXXXXX", path[64];
    if (argc < 3 || !mkdtemp(dir))
        return 2;
    snprintf(path, sizeof path, "%s/pidfd", dir);
    int listener = listen_at(path), status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        setenv("LD_PRELOAD", argv[1], 1);
        setenv("PIDFD_LEND", path, 1);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    struct pollfd fds[2] = {{listener, POLLIN, 0},
                            {(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0}};
    while (poll(fds, 2, -1) > 0 && !fds[1].revents)
        serve(listener);
    waitpid(pid, &status, 0);
    unlink(path);
    rmdir(dir);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
