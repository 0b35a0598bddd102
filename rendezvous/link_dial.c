#include "rendezvous/link_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

static int open_socket(const struct link *l, uv_tcp_t *tcp, int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int rc = uv_tcp_open(tcp, fd);
    if (rc < 0)
        close(fd);
    else
        link_set_options(l, tcp);
    return rc;
}

static void on_connect(uv_connect_t *req, int status)
{
    struct conn *c = req->data;
    struct buf hello;
    struct err e;
    if (c->is_closing)
        return;
    if (status < 0) {
        err_sys(&e, -status, "cannot connect");
        e.code = ERR_UNAVAILABLE;
        link_conn_failed(c, DIAL_UNREACHED, &e);
        return;
    }
    buf_init(&hello, 0);
    c->auth = link_auth_new(c->link->opt.key, LINK_NODE, &hello);
    c->deadline_ms = uv_now(c->link->loop) + c->link->opt.handshake_ms;
    link_conn_tell(c, &hello);
    link_conn_read(c);
    link_arm(c->link);
}

static int to_sockaddr(const struct addr *a, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (uv_ip4_addr(a->host, a->port, (struct sockaddr_in *)out) == 0)
        return 0;
    return uv_ip6_addr(a->host, a->port, (struct sockaddr_in6 *)out);
}

static void try_candidate(struct link *l, size_t candidate)
{
    struct sockaddr_storage to;
    struct buf text;
    uv_tcp_t *tcp = mem_alloc(1, sizeof *tcp);
    int rc = to_sockaddr(&l->candidates[candidate], &to);
    uv_tcp_init(l->loop, tcp);
    struct conn *c = l->runs[candidate] = link_conn_new(l, tcp);
    c->candidate = candidate;
    c->deadline_ms = uv_now(l->loop) + l->opt.connect_ms;
    buf_init(&text, sizeof c->peer - 1);
    addr_format(&l->candidates[candidate], &text);
    memcpy(c->peer, buf_str(&text), text.len + 1);
    buf_fini(&text);
    if (rc == 0)
        rc = open_socket(l, tcp, to.ss_family);
    if (rc == 0)
        rc = uv_tcp_connect(&c->connect, tcp, (struct sockaddr *)&to, on_connect);
    if (rc < 0)
        on_connect(&c->connect, rc);
}

/* The limit is over: each try that still runs has failed. */
static void dial_end(struct link *l)
{
    struct err e;
    for (size_t i = 0; i < l->ncandidates; i++) {
        if (!l->runs[i])
            continue;
        err_set(&e, ERR_UNAVAILABLE, "no answer until the limit of %llu ms was over",
                (unsigned long long)l->opt.until_ms);
        link_conn_failed(l->runs[i], l->runs[i]->auth ? DIAL_STRANGER : DIAL_UNREACHED, &e);
    }
    const struct err *why = dial_reason(l->dial);
    if (!why) {
        err_set(&e, ERR_UNAVAILABLE, "no head was tried in %llu ms",
                (unsigned long long)l->opt.until_ms);
        why = &e;
    }
    link_end(l, why);
}

void link_dial_go_on(struct link *l)
{
    size_t candidate;
    uint64_t now = uv_now(l->loop);
    if (dial_is_over(l->dial, now)) {
        dial_end(l);
        return;
    }
    while (l->state == LINK_FORMING && dial_next(l->dial, now, &candidate))
        try_candidate(l, candidate);
}

struct link *link_dial(struct uv_loop_s *loop, const struct addr *candidates, size_t n,
                       const struct link_options *opt, struct err *e)
{
    struct sockaddr_storage ignored;
    if (!n) {
        err_set(e, ERR_USAGE, "there is no address of the head to dial");
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (to_sockaddr(&candidates[i], &ignored) == 0)
            continue;
        err_set(e, ERR_USAGE, "\"%s\" is no numeric address to dial", candidates[i].host);
        return NULL;
    }
    struct link *l = link_new(loop, opt);
    uint64_t now = uv_now(loop);
    l->candidates = mem_dup(candidates, n * sizeof *candidates);
    l->runs = mem_alloc(n, sizeof(struct conn *));
    l->ncandidates = n;
    l->dial =
        dial_new(n, now, opt->until_ms > UINT64_MAX - now ? UINT64_MAX : now + opt->until_ms);
    link_arm(l);
    return l;
}
