#include "launcher/io/held_ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

/* A bound socket, or -1 with errno set. */
static int hold(uint16_t *number)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0
        && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) == 0
        && bind(fd, (struct sockaddr *)&at, sizeof at) == 0
        && getsockname(fd, (struct sockaddr *)&at, &len) == 0) {
        *number = ntohs(at.sin_port);
        return fd;
    }
    int sys = errno;
    close(fd);
    errno = sys;
    return -1;
}

int held_ports_open(struct held_ports *p, size_t n, struct err *e)
{
    if (!n)
        return 0;
    p->numbers = mem_alloc(n, sizeof *p->numbers);
    p->fds = mem_alloc(n, sizeof *p->fds);
    for (; p->n < n; p->n++) {
        p->fds[p->n] = hold(&p->numbers[p->n]);
        if (p->fds[p->n] >= 0)
            continue;
        err_sys(e, errno, "cannot hold %zu ports for workers (--compat)", n);
        held_ports_close(p);
        return -1;
    }
    return 0;
}

void held_ports_close(struct held_ports *p)
{
    for (size_t i = 0; i < p->n; i++)
        close(p->fds[i]);
    free(p->numbers);
    free(p->fds);
    *p = (struct held_ports){0};
}
