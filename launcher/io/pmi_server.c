#include "launcher/io/pmi_server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/pmi_job.h"

struct pmi_server;

struct connection {
    struct pmi_server *server;
    uint32_t local_rank;
    int ours, theirs; /* -1 = closed */
    struct watch watch;
    struct buf in;
};

struct pmi_server {
    struct mpi_context context;
    struct mpi_world world;
    struct pmi_job *job; /* NULL between generations */
    struct connection *connections;
    uint32_t nconnections;
    uint64_t nbarriers;
    struct buf reply;
};

static void close_ours(struct connection *c)
{
    if (c->ours < 0)
        return;
    watch_stop(c->server->context.watches, &c->watch, c->ours);
    watch_forget(&c->watch);
    close(c->ours);
    c->ours = -1;
}

static void close_theirs(struct connection *c)
{
    if (c->theirs >= 0)
        close(c->theirs);
    c->theirs = -1;
}

/* A client asks, and reads the answer before it asks again: its socket always has room, or it
 * is no client of PMI-1. */
static void send_reply(struct connection *c, const struct buf *reply)
{
    if (!reply->len || c->ours < 0)
        return;
    ssize_t n = send(c->ours, reply->data, reply->len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n != (ssize_t)reply->len)
        close_ours(c);
}

static uint32_t rank_of(const struct pmi_server *s, uint32_t local_rank)
{
    return s->world.layout->nodes[s->world.node].first_rank + local_rank;
}

/* Others will not come to the barrier: PMI-1 has no word for that, so its ranks are on their
 * own. */
static void close_waiting(struct pmi_server *s)
{
    for (uint32_t i = 0; i < s->nconnections; i++)
        if (pmi_job_is_waiting(s->job, i))
            close_ours(&s->connections[i]);
}

static void say_lost(const struct pmi_server *s)
{
    for (uint32_t i = 0; i < s->nconnections; i++)
        if (pmi_job_is_waiting(s->job, i) && s->connections[i].ours >= 0)
            log_warn("mpi",
                     "rank %u waits in MPI for ranks of which some have exited with 0: it is "
                     "told that they will not come",
                     rank_of(s, i));
}

static void on_gathered(void *ctx, const char *all, size_t n)
{
    struct pmi_server *s = ctx;
    if (!all) {
        close_waiting(s);
        return;
    }
    struct buf line;
    buf_init(&line, 0);
    pmi_reply_barrier(&line);
    for (uint32_t i = 0; i < s->nconnections; i++)
        if (pmi_job_is_waiting(s->job, i))
            send_reply(&s->connections[i], &line);
    buf_fini(&line);
    pmi_job_release(s->job, (struct str){all, n});
}

static void gather(struct pmi_server *s)
{
    const struct mpi_layout *layout = s->world.layout;
    char *operation =
        mem_printf("%s/barrier/%llu", s->world.name, (unsigned long long)s->nbarriers++);
    uint32_t *nodes = mem_alloc(layout->nnodes, sizeof *nodes);
    struct buf news;
    buf_init(&news, 0);
    pmi_job_news(s->job, &news);
    for (uint32_t i = 0; i < layout->nnodes; i++)
        nodes[i] = i;
    const struct gather piece = {.operation = operation,
                                 .nodes = nodes,
                                 .nnodes = layout->nnodes,
                                 .data = {buf_str(&news), news.len}};
    s->context.peers->gather(s->context.peers->ctx, &piece, on_gathered, s);
    buf_fini(&news);
    free(nodes);
    free(operation);
}

static void close_with(struct connection *c, const struct buf *reply)
{
    send_reply(c, reply);
    close_ours(c);
}

static void answer_all(struct connection *c)
{
    struct pmi_server *s = c->server;
    struct str in = {c->in.data, c->in.len};
    struct pmi_request request;
    struct err e = {.code = ERR_OK};
    int rc = 0;
    while (c->ours >= 0 && (rc = pmi_request_decode(&in, &request, &e)) == 1) {
        buf_reset(&s->reply);
        switch (pmi_job_request(s->job, c->local_rank, &request, &s->reply)) {
        case PMI_GO_ON:
            send_reply(c, &s->reply);
            break;
        case PMI_ALL_IN:
            gather(s);
            break;
        case PMI_LOST:
            say_lost(s);
            close_waiting(s);
            break;
        case PMI_END:
            s->context.on_abort(s->context.ctx, c->local_rank);
            break;
        case PMI_CLOSE:
            close_with(c, &s->reply);
            break;
        }
    }
    if (rc < 0) {
        log_warn("mpi", "rank %u: %s", rank_of(s, c->local_rank), e.text);
        close_ours(c);
    }
    buf_consume(&c->in, c->in.len - in.n);
}

/* False where there is nothing more for now. */
static bool read_once(struct connection *c)
{
    if (c->ours < 0)
        return false;
    char *room = buf_reserve(&c->in, PMI_REQUEST_MAX);
    ssize_t n = recv(c->ours, room, PMI_REQUEST_MAX, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_ours(c);
    if (n <= 0)
        return false;
    buf_commit(&c->in, (size_t)n);
    answer_all(c);
    return true;
}

/* Once a round: who asks without end keeps nobody else waiting. */
static void on_readable(void *ctx)
{
    read_once(ctx);
}

/* Of a rank that has ended. What it has left may still write: no more than a socket holds. */
static void read_last_words(struct connection *c)
{
    enum { READS = 64 };
    for (int i = 0; i < READS && read_once(c); i++)
        ;
}

/* ---- the service ---- */

static void *server_open(const struct mpi_context *context, struct err *e)
{
    (void)e;
    struct pmi_server *s = mem_alloc(1, sizeof *s);
    s->context = *context;
    buf_init(&s->reply, 0);
    return s;
}

static void server_end(void *service)
{
    struct pmi_server *s = service;
    s->context.peers->forget(s->context.peers->ctx);
    for (uint32_t i = 0; i < s->nconnections; i++) {
        close_ours(&s->connections[i]);
        close_theirs(&s->connections[i]);
        buf_fini(&s->connections[i].in);
    }
    free(s->connections);
    s->connections = NULL;
    s->nconnections = 0;
    pmi_job_free(s->job);
    s->job = NULL;
}

static int server_begin(void *service, const struct mpi_world *world, struct err *e)
{
    (void)e;
    struct pmi_server *s = service;
    s->world = *world;
    s->nbarriers = 0;
    s->nconnections = world->layout->nodes[world->node].nranks;
    s->connections = mem_alloc(s->nconnections, sizeof *s->connections);
    for (uint32_t i = 0; i < s->nconnections; i++) {
        s->connections[i] =
            (struct connection){.server = s, .local_rank = i, .ours = -1, .theirs = -1};
        buf_init(&s->connections[i].in, 0);
    }
    s->job = pmi_job_new(world->layout, world->node, world->name);
    return 0;
}

static int server_join(void *service, uint32_t local_rank, struct mpi_ticket *ticket,
                       struct err *e)
{
    struct pmi_server *s = service;
    struct connection *c = &s->connections[local_rank];
    const struct mpi_node *node = &s->world.layout->nodes[s->world.node];
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return err_sys(e, errno, "cannot make a socket pair (open files: see ulimit -n)");
    c->ours = fds[0];
    c->theirs = ticket->fd = fds[1];
    if (watch_start(s->context.watches, &c->watch, c->ours, on_readable, c, e) < 0)
        return -1;
    mpi_ticket_add(ticket, false, mem_printf("PMI_FD=%d", c->theirs));
    mpi_ticket_add(ticket, false, mem_printf("PMI_RANK=%u", node->first_rank + local_rank));
    mpi_ticket_add(ticket, false, mem_printf("PMI_SIZE=%u", s->world.layout->world_size));
    mpi_ticket_add(ticket, false, mem_printf("MPI_LOCALRANKID=%u", local_rank));
    mpi_ticket_add(ticket, false, mem_printf("MPI_LOCALNRANKS=%u", node->nranks));
    return 0;
}

static void server_joined(void *service, uint32_t local_rank)
{
    struct pmi_server *s = service;
    close_theirs(&s->connections[local_rank]);
}

static enum mpi_state server_state(void *service, uint32_t local_rank, int *abort_code)
{
    struct pmi_server *s = service;
    read_last_words(&s->connections[local_rank]);
    return pmi_job_state(s->job, local_rank, abort_code);
}

static void server_ended(void *service, uint32_t local_rank)
{
    struct pmi_server *s = service;
    (void)local_rank;
    if (pmi_job_ended(s->job) != PMI_LOST)
        return;
    say_lost(s);
    close_waiting(s);
}

static void server_close(void *service)
{
    struct pmi_server *s = service;
    server_end(s);
    buf_fini(&s->reply);
    free(s);
}

const struct mpi_service pmi_service = {
    .name = "PMI-1",
    .open = server_open,
    .begin = server_begin,
    .join = server_join,
    .joined = server_joined,
    .state = server_state,
    .ended = server_ended,
    .end = server_end,
    .close = server_close,
};
