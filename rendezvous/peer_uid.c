#include "rendezvous/peer_uid.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "rendezvous/peer_ip.h"

enum {
    LINES_MAX = 65536, /* of a table: what comes later is not found */
    STATE_LISTEN = 10, /* as tcp_states.h of the kernel numbers them */
};

/* Which of the two ways works here, once one of them has answered. */
enum way { WAY_UNTRIED, WAY_KERNEL, WAY_TABLES };

struct end {
    struct peer_ip ip;
    uint16_t port;
};

/* A socket of this machine, as its owner has it. */
struct owned {
    struct end local, remote;
    uint32_t uid;
    uint64_t inode; /* 0 = no process has it */
};

struct peer_uid {
    bool has_netlink;
    const char *tables;
    enum way way;
    int fd; /* -1 = not open */
    uint32_t sequence;
    bool has_read; /* the table below is of this batch */
    uint64_t batch;
    struct owned *items; /* those whose remote port is the near one */
    size_t len, cap;
};

struct peer_uid *peer_uid_new(bool has_netlink, const char *tables)
{
    struct peer_uid *p = mem_alloc(1, sizeof *p);
    p->has_netlink = has_netlink;
    p->tables = tables;
    p->fd = -1;
    return p;
}

void peer_uid_free(struct peer_uid *p)
{
    if (!p)
        return;
    if (p->fd >= 0)
        close(p->fd);
    free(p->items);
    free(p);
}

static struct end end_from(const struct sockaddr *addr)
{
    struct end end = {.ip = peer_ip_from(addr)};
    if (addr->sa_family == AF_INET) {
        struct sockaddr_in in4;
        memcpy(&in4, addr, sizeof in4);
        end.port = ntohs(in4.sin_port);
    } else if (addr->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, addr, sizeof in6);
        end.port = ntohs(in6.sin6_port);
    }
    return end;
}

static bool end_is_same(const struct end *a, const struct end *b)
{
    return a->port == b->port && peer_ip_is_same(&a->ip, &b->ip);
}

static enum peer_uid_result judge(uint32_t owner, uint64_t inode, uint32_t *uid)
{
    if (!inode && !owner)
        return PEER_UID_UNKNOWN;
    *uid = owner;
    return PEER_UID_FOUND;
}

/* ---- the kernel: sock_diag(7) */

struct request {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
};

static void put_ip(__be32 to[4], const struct peer_ip *ip)
{
    if (peer_ip_is_v4(ip))
        memcpy(to, ip->bytes + 12, 4);
    else
        memcpy(to, ip->bytes, 16);
}

static struct request request_build(const struct end *local, const struct end *remote,
                                    uint32_t sequence)
{
    struct request r = {
        .head = {.nlmsg_len = sizeof r,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST,
                 .nlmsg_seq = sequence},
        .body = {.sdiag_family = peer_ip_is_v4(&local->ip) ? AF_INET : AF_INET6,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_states = ~0u},
    };
    r.body.id.idiag_sport = htons(local->port);
    r.body.id.idiag_dport = htons(remote->port);
    put_ip(r.body.id.idiag_src, &local->ip);
    put_ip(r.body.id.idiag_dst, &remote->ip);
    r.body.id.idiag_cookie[0] = r.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return r;
}

/* An error that will not pass. Being out of descriptors or memory does. */
static bool is_final(int error)
{
    return error == EPROTONOSUPPORT || error == EAFNOSUPPORT || error == ESOCKTNOSUPPORT
           || error == EOPNOTSUPP || error == EACCES || error == EPERM || error == ENOSYS
           || error == EINVAL || error == ENOENT;
}

static int open_kernel(struct peer_uid *p)
{
    if (p->fd < 0)
        p->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    return p->fd;
}

struct answer {
    enum peer_uid_result result;
    bool is_proof; /* the kernel knows what is asked for */
};

static struct answer answer_read(const char *bytes, size_t n, const struct request *r,
                                 uint32_t *uid)
{
    struct nlmsghdr head;
    struct inet_diag_msg m;
    struct nlmsgerr error;
    memcpy(&head, bytes, sizeof head);
    if (head.nlmsg_type == NLMSG_ERROR && n >= NLMSG_HDRLEN + sizeof error) {
        memcpy(&error, bytes + NLMSG_HDRLEN, sizeof error);
        /* No such socket, or nobody there who knows of TCP: the same answer. */
        bool is_absent = error.error == -ENOENT || !is_final(-error.error);
        return (struct answer){is_absent ? PEER_UID_UNKNOWN : PEER_UID_IMPOSSIBLE, false};
    }
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || n < NLMSG_HDRLEN + sizeof m)
        return (struct answer){PEER_UID_UNKNOWN, false};
    memcpy(&m, bytes + NLMSG_HDRLEN, sizeof m);
    if (m.idiag_state == STATE_LISTEN || m.id.idiag_sport != r->body.id.idiag_sport
        || m.id.idiag_dport != r->body.id.idiag_dport)
        return (struct answer){PEER_UID_UNKNOWN, true};
    return (struct answer){judge(m.idiag_uid, m.idiag_inode, uid), true};
}

/* The answer lies ready when sending returns; older ones may lie before it. */
static struct answer ask_kernel(struct peer_uid *p, const struct end *local,
                                const struct end *remote, uint32_t *uid)
{
    const struct answer unknown = {PEER_UID_UNKNOWN, false};
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    char bytes[1024];
    if (open_kernel(p) < 0)
        return is_final(errno) ? (struct answer){PEER_UID_IMPOSSIBLE, false} : unknown;
    const struct request r = request_build(local, remote, ++p->sequence);
    if (sendto(p->fd, &r, sizeof r, 0, (const struct sockaddr *)&kernel, sizeof kernel) < 0)
        return is_final(errno) ? (struct answer){PEER_UID_IMPOSSIBLE, false} : unknown;
    for (;;) {
        struct nlmsghdr head;
        ssize_t n = recv(p->fd, bytes, sizeof bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < (ssize_t)sizeof head)
            return unknown;
        memcpy(&head, bytes, sizeof head);
        if (head.nlmsg_seq == p->sequence)
            return answer_read(bytes, (size_t)n, &r, uid);
    }
}

/* ---- the tables: proc(5) */

/* Groups of 8 digits, each a word of the machine whose bytes are the address's. */
static bool parse_ip(const char *digits, struct peer_ip *ip)
{
    size_t n = strlen(digits);
    if (n != 8 && n != 32)
        return false;
    *ip = (struct peer_ip){.bytes = {[10] = 0xff, [11] = 0xff}};
    for (size_t i = 0; i < n / 8; i++) {
        char group[9] = "";
        memcpy(group, digits + 8 * i, 8);
        uint32_t word = (uint32_t)strtoul(group, NULL, 16);
        memcpy(ip->bytes + (n == 8 ? 12 : 4 * i), &word, 4);
    }
    return true;
}

static bool parse_line(const char *line, struct owned *out)
{
    char local[33], remote[33];
    unsigned local_port, remote_port, state;
    unsigned long long inode;
    if (sscanf(line,
               " %*u: %32[0-9A-Fa-f]:%4x %32[0-9A-Fa-f]:%4x %2x %*s %*s %*s %" SCNu32
               " %*s %llu",
               local, &local_port, remote, &remote_port, &state, &out->uid, &inode)
        != 7)
        return false;
    out->local.port = (uint16_t)local_port;
    out->remote.port = (uint16_t)remote_port;
    out->inode = inode;
    return state != STATE_LISTEN && parse_ip(local, &out->local.ip)
           && parse_ip(remote, &out->remote.ip);
}

/* 0, or an errno. */
static int read_table(struct peer_uid *p, const char *name, uint16_t remote_port)
{
    char path[PATH_MAX], line[512];
    snprintf(path, sizeof path, "%s/%s", p->tables, name);
    FILE *f = fopen(path, "re");
    if (!f)
        return errno;
    for (int i = 0; i < LINES_MAX && fgets(line, sizeof line, f); i++) {
        struct owned item;
        if (!parse_line(line, &item) || item.remote.port != remote_port)
            continue;
        array_grow(p->items, p->len, p->cap);
        p->items[p->len++] = item;
    }
    fclose(f);
    return 0;
}

static enum peer_uid_result ask_tables(struct peer_uid *p, const struct end *local,
                                       const struct end *remote, uint64_t batch, uint32_t *uid)
{
    if (!p->has_read || p->batch != batch) {
        p->len = 0;
        int first = read_table(p, "tcp", remote->port);
        int second = read_table(p, "tcp6", remote->port);
        if (first && second)
            return is_final(first) ? PEER_UID_IMPOSSIBLE : PEER_UID_UNKNOWN;
        p->has_read = true;
        p->batch = batch;
    }
    for (size_t i = 0; i < p->len; i++)
        if (end_is_same(&p->items[i].local, local) && end_is_same(&p->items[i].remote, remote))
            return judge(p->items[i].uid, p->items[i].inode, uid);
    return PEER_UID_UNKNOWN;
}

/* ---- both */

enum peer_uid_result peer_uid_find(struct peer_uid *p, const struct sockaddr *near,
                                   const struct sockaddr *far, uint64_t batch, uint32_t *uid)
{
    const struct end local = end_from(far), remote = end_from(near);
    struct answer kernel = {PEER_UID_IMPOSSIBLE, false};
    if (p->has_netlink && p->way != WAY_TABLES) {
        kernel = ask_kernel(p, &local, &remote, uid);
        if (kernel.is_proof)
            p->way = WAY_KERNEL;
        if (p->way == WAY_KERNEL)
            return kernel.result;
    }
    enum peer_uid_result found = ask_tables(p, &local, &remote, batch, uid);
    if (found == PEER_UID_FOUND)
        p->way = WAY_TABLES;
    if (found == PEER_UID_IMPOSSIBLE && kernel.result != PEER_UID_IMPOSSIBLE)
        return PEER_UID_UNKNOWN;
    return found;
}
