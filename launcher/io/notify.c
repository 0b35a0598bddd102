#include "launcher/io/notify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"

enum { MESSAGES_PER_ROUND = 64 }; /* a flood does not keep muster from its other work */

struct notify {
    int fd;
    struct watch watch;
    struct notify_events events;
    char address[sizeof(struct sockaddr_un)];
    struct notify_message
        messages[MESSAGES_PER_ROUND]; /* of this round: events refer to them */
};

/* Who sent it; false for another user's process. */
static bool read_sender(struct msghdr *message, pid_t *pid)
{
    *pid = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        struct ucred cred;
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
            continue;
        memcpy(&cred, CMSG_DATA(c), sizeof cred);
        *pid = cred.pid;
        return cred.uid == geteuid() || cred.uid == 0;
    }
    return false;
}

/* One datagram. False when none is left. */
static bool read_one(struct notify *n, struct notify_message *m)
{
    char bytes[NOTIFY_BYTES_MAX];
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t len = recvmsg(n->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (len < 0)
        return errno == EINTR;
    pid_t pid;
    struct err e;
    if (!read_sender(&message, &pid))
        return true;
    if (notify_parse(bytes, (size_t)len, m, &e) == 0)
        n->events.on_message(n->events.ctx, pid, m);
    else
        n->events.on_refused(n->events.ctx, pid, &e);
    return true;
}

static void on_readable(void *ctx)
{
    struct notify *n = ctx;
    for (int i = 0; i < MESSAGES_PER_ROUND && read_one(n, &n->messages[i]); i++)
        ;
}

static int open_socket(struct notify *n, struct err *e)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t size = sizeof name.sun_family; /* no name: the kernel gives an abstract one */
    const int yes = 1;
    n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (n->fd < 0 || setsockopt(n->fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) < 0
        || bind(n->fd, (const struct sockaddr *)&name, size) < 0)
        return err_sys(e, errno, "cannot make the notify socket");
    size = sizeof name;
    if (getsockname(n->fd, (struct sockaddr *)&name, &size) < 0
        || size <= offsetof(struct sockaddr_un, sun_path) + 1)
        return err_sys(e, errno, "the notify socket has no name");
    size_t len = size - offsetof(struct sockaddr_un, sun_path);
    memcpy(n->address, name.sun_path, len);
    n->address[0] = '@';
    return 0;
}

struct notify *notify_open(struct watch_set *watches, const struct notify_events *events,
                           struct err *e)
{
    struct notify *n = mem_alloc(1, sizeof *n);
    n->events = *events;
    if (open_socket(n, e) == 0
        && watch_start(watches, &n->watch, n->fd, on_readable, n, e) == 0)
        return n;
    if (n->fd >= 0)
        close(n->fd);
    free(n);
    return NULL;
}

void notify_close(struct notify *n)
{
    if (!n)
        return;
    watch_forget(&n->watch);
    close(n->fd);
    free(n);
}

const char *notify_address(const struct notify *n)
{
    return n->address;
}

int notify_send(const char *address, const char *text, size_t n, struct err *e)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = strlen(address);
    if (!len || len >= sizeof to.sun_path)
        return err_set(e, ERR_USAGE, "MUSTER_NOTIFY_SOCKET: '%s' is no address of a socket",
                       address);
    memcpy(to.sun_path, address, len);
    if (address[0] == '@')
        to.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    ssize_t sent = fd < 0 ? -1
                          : sendto(fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT,
                                   (const struct sockaddr *)&to, size);
    int why = errno;
    if (fd >= 0)
        close(fd);
    return sent < 0 ? err_sys(e, why, "cannot send to MUSTER_NOTIFY_SOCKET=%s", address) : 0;
}
