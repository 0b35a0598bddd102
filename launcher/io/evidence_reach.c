#include "launcher/io/evidence_reach.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/core/evidence.h"
#include "launcher/core/nccl_interface.h"
#include "launcher/core/reach_plan.h"
#include "launcher/io/doctor_look.h"

enum { BACKLOG = 128 };

struct conversation {
    struct options *opt;
    FILE *in, *out;
    bool is_worker_asked;
    char *line; /* the last one read, without its end */
    size_t cap;
    char **kept; /* texts that opt borrows */
    size_t nkept, kept_cap;
};

/* False at an empty line and at the end. */
static bool next_line(struct conversation *c)
{
    ssize_t n = getline(&c->line, &c->cap, c->in);
    if (n <= 0)
        return false;
    c->line[strcspn(c->line, "\n")] = '\0';
    return c->line[0] != '\0';
}

static const char *after(const char *line, const char *key)
{
    size_t n = strlen(key);
    return strncmp(line, key, n) == 0 ? line + n : NULL;
}

/* ---- sockets ---- */

static struct addrinfo *numeric(const char *address, const char *port)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    return getaddrinfo(address, port, &hints, &list) == 0 ? list : NULL;
}

/* Listens on the address that NCCL would take and says where; the kernel completes
 * connections, nobody accepts. -1 if there is none. */
static int listen_there(struct host_evidence *ev)
{
    const struct evidence_address *a = nccl_interface_predict(ev);
    char *zoned = a ? mem_printf("%s%%%s", a->address, a->name) : NULL;
    bool is_link_local = a && strncmp(a->address, "fe80", 4) == 0;
    struct addrinfo *list = a ? numeric(is_link_local ? zoned : a->address, "0") : NULL;
    struct sockaddr_storage room;
    socklen_t size = sizeof room;
    char port[NI_MAXSERV];
    int fd = list ? socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (fd >= 0
        && (bind(fd, list->ai_addr, list->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0
            || getsockname(fd, (struct sockaddr *)&room, &size) < 0
            || getnameinfo((struct sockaddr *)&room, size, NULL, 0, port, sizeof port,
                           NI_NUMERICSERV)
                   != 0)) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0)
        ev->listen = mem_printf("%s %s", a->address, port);
    if (list)
        freeaddrinfo(list);
    free(zoned);
    return fd;
}

/* Begins to connect; -1 and why if that fails at once. */
static int begin_connect(const char *address, const char *port, int *why)
{
    struct addrinfo *list = numeric(address, port);
    int fd = list ? socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
    *why = list ? errno : EINVAL;
    if (fd >= 0) {
        *why = connect(fd, list->ai_addr, list->ai_addrlen) < 0 ? errno : 0;
        if (*why && *why != EINPROGRESS) {
            close(fd);
            fd = -1;
        }
    }
    if (list)
        freeaddrinfo(list);
    return fd;
}

static void note(struct evidence_reach *reach, int why)
{
    evidence_set(&reach->code, why);
    if (why)
        evidence_set_text(&reach->words, strerror(why));
}

static void end_connect(struct pollfd *p, struct evidence_reach *reach)
{
    int why = 0;
    socklen_t size = sizeof why;
    if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &why, &size) < 0)
        why = errno;
    note(reach, why);
    close(p->fd);
    p->fd = -1;
}

/* Until each has its answer; whoever has none by then has timed out. */
static void await_all(struct pollfd *p, struct host_evidence *ev)
{
    size_t n = ev->reaches.n, waiting = n;
    uint64_t end = now_ms() + EVIDENCE_REACH_MS;
    while (waiting) {
        uint64_t now = now_ms();
        int ready = poll(p, n, now < end ? (int)(end - now) : 0);
        if (ready < 0 && errno != EINTR)
            break;
        waiting = 0;
        for (size_t i = 0; i < n; i++) {
            if (p[i].fd >= 0 && ready > 0 && p[i].revents)
                end_connect(&p[i], evidence_reach_at(ev, i));
            waiting += p[i].fd >= 0;
        }
        if (now >= end)
            break;
    }
    for (size_t i = 0; i < n; i++)
        if (p[i].fd >= 0) {
            note(evidence_reach_at(ev, i), ETIMEDOUT);
            close(p[i].fd);
        }
}

/* "NAME ADDRESS PORT" */
static void add_peer(const char *text, struct host_evidence *ev, struct pollfd *p)
{
    char *copy = mem_strdup(text), *rest = copy;
    const char *name = strsep(&rest, " "), *address = strsep(&rest, " ");
    const char *port = strsep(&rest, " ");
    int why = EINVAL;
    struct evidence_reach *reach = evidence_reach_add(ev);
    *p = (struct pollfd){.fd = -1, .events = POLLOUT};
    evidence_set_text(&reach->peer, name);
    if (port) {
        reach->address = mem_printf("%s:%s", address, port);
        p->fd = begin_connect(address, port, &why);
    }
    if (p->fd < 0)
        note(reach, why);
    free(copy);
}

/* ---- the conversation ---- */

static void answer(struct conversation *c, const struct host_evidence *ev)
{
    struct buf text;
    buf_init(&text, 0);
    evidence_format(ev, &text);
    fprintf(c->out, "%s\n", buf_str(&text));
    fflush(c->out);
    buf_fini(&text);
}

static void hear_surroundings(struct conversation *c)
{
    const char *value;
    while (next_line(c)) {
        if (strcmp(c->line, "worker=no") == 0)
            c->is_worker_asked = false;
        char *equals = (value = after(c->line, "env=")) ? strchr(value, '=') : NULL;
        if (equals) {
            *equals = '\0';
            setenv(value, equals + 1, 1);
        }
        value = after(c->line, "lookup=");
        if (!value || c->opt->lookups.n == TEXT_LIST_MAX)
            continue;
        array_grow(c->kept, c->nkept, c->kept_cap);
        c->kept[c->nkept] = mem_strdup(value);
        c->opt->lookups.items[c->opt->lookups.n++] = c->kept[c->nkept++];
    }
}

static void hear_peers(struct conversation *c)
{
    struct host_evidence ev = {0};
    struct pollfd p[REACH_PEERS_MAX];
    ev.reaches.is_known = true;
    while (next_line(c)) {
        const char *value = after(c->line, "peer=");
        if (value && ev.reaches.n < REACH_PEERS_MAX) {
            size_t i = ev.reaches.n;
            add_peer(value, &ev, &p[i]);
        }
    }
    await_all(p, &ev);
    answer(c, &ev);
    evidence_clear(&ev);
}

int evidence_reach_serve(struct options *opt, FILE *in, FILE *out, struct err *e)
{
    struct conversation c = {.opt = opt, .in = in, .out = out, .is_worker_asked = true};
    struct host_evidence ev;
    hear_surroundings(&c);
    int rc = doctor_look_here(opt, c.is_worker_asked, &ev, e);
    if (rc == 0) {
        int fd = listen_there(&ev);
        answer(&c, &ev);
        hear_peers(&c);
        while (getline(&c.line, &c.cap, in) > 0) /* others may still be connecting */
            ;
        if (fd >= 0)
            close(fd);
    }
    evidence_clear(&ev);
    for (size_t i = 0; i < c.nkept; i++)
        free(c.kept[i]);
    free(c.kept);
    free(c.line);
    return rc;
}
