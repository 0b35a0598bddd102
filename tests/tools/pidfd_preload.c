/* Loaded into a program that runs under valgrind: pidfd_open as pidfd_lend gives it. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int receive_fd(int from)
{
    char byte;
    union {
        char data[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    memset(&control, 0, sizeof control);
    struct iovec part = {&byte, 1};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = control.data,
                         .msg_controllen = sizeof control.data};
    int fd = -1;
    struct cmsghdr *c = recvmsg(from, &msg, MSG_CMSG_CLOEXEC) == 1 ? CMSG_FIRSTHDR(&msg) : NULL;
    if (c && c->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

static long lent(int pid)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    const char *path = getenv("PIDFD_LEND");
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), fd = -1;
    strncpy(addr.sun_path, path ? path : "", sizeof addr.sun_path - 1);
    if (s >= 0 && connect(s, (const struct sockaddr *)&addr, sizeof addr) == 0
        && send(s, &pid, sizeof pid, 0) == (ssize_t)sizeof pid)
        fd = receive_fd(s);
    if (s >= 0)
        close(s);
    if (fd < 0)
        errno = ESRCH;
    return fd;
}

// The C library's own name for this parameter is reserved.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
long syscall(long number, ...)
{
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_pidfd_open && getenv("PIDFD_LEND"))
        return lent((int)a[0]);
    long (*real)(long, ...) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
