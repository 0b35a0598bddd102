#include "store_client.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rendezvous/tcpstore_wire.h"

void die(const char *what)
{
    perror(what);
    exit(1);
}

struct sockaddr_in parse_address(const char *text, const char *usage)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    char host[64];
    unsigned port;
    if (!text || sscanf(text, "%63[^:]:%u", host, &port) != 2
        || inet_pton(AF_INET, host, &to.sin_addr) != 1) {
        fprintf(stderr, "usage: %s\n", usage);
        exit(2);
    }
    to.sin_port = htons((uint16_t)port);
    return to;
}

void raise_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

int connect_to(const struct sockaddr_in *to)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof *to) != 0)
        die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return fd;
}

void close_at_once(int fd)
{
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    close(fd);
}

void send_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t m = send(fd, p, n, MSG_NOSIGNAL);
        if (m < 0)
            die("send");
        p += m;
        n -= (size_t)m;
    }
}

void receive_into(int fd, void *to, size_t n)
{
    for (char *p = to; n;) {
        ssize_t m = recv(fd, p, n, 0);
        if (m <= 0)
            die("recv");
        p += m;
        n -= (size_t)m;
    }
}

void receive_all(int fd, size_t n)
{
    char waste[4096];
    while (n) {
        size_t part = n < sizeof waste ? n : sizeof waste;
        receive_into(fd, waste, part);
        n -= part;
    }
}

void add_ping(struct buf *b)
{
    wire_add_query(b, WIRE_PING);
    buf_add_u32le(b, 7);
}

/* The first number after `name` in a file of /proc; 0 if there is none. */
static double number_of(const char *pid, const char *file, const char *name)
{
    char path[96], text[8192];
    snprintf(path, sizeof path, "/proc/%s/%s", pid, file);
    FILE *f = pid[0] ? fopen(path, "r") : NULL;
    if (!f)
        return 0;
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    const char *at = strstr(text, name);
    return at ? strtod(at + strlen(name), NULL) : 0;
}

double cpu_ns(const char *pid)
{
    return number_of(pid, "schedstat", "");
}

double resident_bytes(const char *pid)
{
    return number_of(pid, "status", "VmRSS:") * 1024;
}
