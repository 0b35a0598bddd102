#include "worker/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

enum { RAS_MS = 12000, RAS_BYTES = 1 << 20, BACKLOG = 4096 };

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_storage room;
};

static int parse_ip(const char *ip, uint16_t port, union address *a, socklen_t *len)
{
    memset(a, 0, sizeof *a);
    if (inet_pton(AF_INET, ip, &a->v4.sin_addr) == 1) {
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = htons(port);
        *len = sizeof a->v4;
        return 0;
    }
    char plain[PROBE_ADDRESS_MAX];
    snprintf(plain, sizeof plain, "%s", ip);
    char *scope = strchr(plain, '%');
    if (scope)
        *scope++ = '\0';
    if (inet_pton(AF_INET6, plain, &a->v6.sin6_addr) != 1)
        return -1;
    uint64_t id = 0;
    if (scope && str_parse_u64(str_from(scope), 0, UINT32_MAX, &id) < 0)
        return -1;
    a->v6.sin6_family = AF_INET6;
    a->v6.sin6_port = htons(port);
    a->v6.sin6_scope_id = (uint32_t)id;
    *len = sizeof a->v6;
    return 0;
}

static const void *ip_bytes(const struct sockaddr *s, size_t *n)
{
    const union address *a = (const union address *)(const void *)s;
    *n = s->sa_family == AF_INET ? sizeof a->v4.sin_addr : sizeof a->v6.sin6_addr;
    return s->sa_family == AF_INET ? (const void *)&a->v4.sin_addr
                                   : (const void *)&a->v6.sin6_addr;
}

static void find_interface(const struct sockaddr *wanted, char interface[PROBE_INTERFACE_MAX])
{
    struct ifaddrs *all;
    interface[0] = '\0';
    if (getifaddrs(&all) < 0)
        return;
    for (struct ifaddrs *i = all; i && !interface[0]; i = i->ifa_next) {
        size_t n;
        if (!i->ifa_addr || i->ifa_addr->sa_family != wanted->sa_family)
            continue;
        const void *found = ip_bytes(i->ifa_addr, &n), *sought = ip_bytes(wanted, &n);
        if (memcmp(found, sought, n) == 0)
            snprintf(interface, PROBE_INTERFACE_MAX, "%s", i->ifa_name);
    }
    freeifaddrs(all);
}

int probe_root_address(const void *id, size_t len, char ip[PROBE_ADDRESS_MAX], uint16_t *port,
                       char interface[PROBE_INTERFACE_MAX], struct err *e)
{
    union address a;
    const size_t magic = sizeof(uint64_t);
    if (len < magic + sizeof a.v6)
        return err_set(e, ERR_PROTOCOL, "the id is too short for an address");
    memset(&a, 0, sizeof a);
    memcpy(&a, (const char *)id + magic, sizeof a.v6);
    if (a.any.sa_family == AF_INET
        && inet_ntop(AF_INET, &a.v4.sin_addr, ip, PROBE_ADDRESS_MAX)) {
        *port = ntohs(a.v4.sin_port);
    } else if (a.any.sa_family == AF_INET6
               && inet_ntop(AF_INET6, &a.v6.sin6_addr, ip, PROBE_ADDRESS_MAX)) {
        *port = ntohs(a.v6.sin6_port);
    } else {
        return err_set(e, ERR_PROTOCOL, "no address in the id");
    }
    find_interface(&a.any, interface);
    return 0;
}

int probe_listen(const char *ip, uint16_t *port, struct err *e)
{
    union address a;
    socklen_t len;
    if (parse_ip(ip, 0, &a, &len) < 0)
        return err_set(e, ERR_SYSTEM, "%s is no address", ip);
    int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_sys(e, errno, "socket");
    if (bind(fd, &a.any, len) < 0 || listen(fd, BACKLOG) < 0
        || getsockname(fd, &a.any, &len) < 0) {
        int sys = errno;
        close(fd);
        return err_sys(e, sys, "listening on %s", ip);
    }
    *port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
    return fd;
}

int probe_open(const char *ip, uint16_t port, uint64_t timeout_ms, struct err *e)
{
    union address a;
    socklen_t len;
    if (parse_ip(ip, port, &a, &len) < 0)
        return err_set(e, ERR_SYSTEM, "%s is no address", ip);
    int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(e, errno, "socket");
    int sys = connect(fd, &a.any, len) < 0 ? errno : 0;
    if (sys == EINPROGRESS) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        socklen_t size = sizeof sys;
        int ready = poll(&p, 1, (int)timeout_ms);
        if (ready == 0)
            sys = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &sys, &size) < 0)
            sys = errno;
    }
    if (sys == 0)
        return fd;
    close(fd);
    return err_sys(e, sys, "%s port %u", ip, port);
}

int probe_connect(const char *ip, uint16_t port, uint64_t timeout_ms, struct err *e)
{
    int fd = probe_open(ip, port, timeout_ms, e);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

int probe_free_port(uint16_t *port, struct err *e)
{
    int fd = probe_listen("127.0.0.1", port, e);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

/* Reads until the peer is silent for too long, closes or has said enough. */
static void read_answer(int fd, struct buf *out)
{
    uint64_t end = now_ms() + RAS_MS;
    for (uint64_t now = now_ms(); now < end && !out->overflowed; now = now_ms()) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char part[4096];
        if (poll(&p, 1, (int)(end - now)) <= 0)
            return;
        ssize_t n = read(fd, part, sizeof part);
        if (n <= 0)
            return;
        buf_add(out, part, (size_t)n);
    }
}

uint16_t probe_ras_port(const char *address)
{
    static const char *const here[] = {"localhost", "127.0.0.1", "[::1]", "::1"};
    const char *colon = address ? strrchr(address, ':') : NULL;
    uint64_t port;
    if (!colon || str_parse_u64(str_from(colon + 1), 1, UINT16_MAX, &port) < 0)
        return 0;
    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        if (str_eq((struct str){address, (size_t)(colon - address)}, here[i]))
            return (uint16_t)port;
    return 0;
}

static void keep_text(char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\t') || bytes[i] == 0x7f)
            bytes[i] = '?';
}

int probe_ras(uint16_t port, struct buf *answer, struct err *e)
{
    static const char request[] = "VERBOSE STATUS\n";
    struct buf said;
    int fd = probe_open("127.0.0.1", port, RAS_MS, e);
    if (fd < 0)
        return -1;
    buf_init(&said, RAS_BYTES);
    if (send(fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0)
        read_answer(fd, &said);
    close(fd);
    keep_text(said.data, said.len);
    buf_add(answer, said.data, said.len);
    int rc = said.len ? 0 : err_set(e, ERR_TIMEOUT, "127.0.0.1 port %u says nothing", port);
    buf_fini(&said);
    return rc;
}
