/* Many agents in one process: agent_load SOCKET AGENTS. For each boot record that comes by the
 * socket (ssh_stand_in) it is an agent as `muster agent` is, with the real link and the real
 * frames, whose workers are connections to the job's store: each adds one to a counter, and
 * none goes before all have been served. When every link has ended it says what it has counted,
 * a word and a number a line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "launcher/core/boot_parse.h"
#include "launcher/core/link_wire.h"
#include "rendezvous/link.h"
#include "rendezvous/link_auth.h"
#include "rendezvous/tcpstore_wire.h"

enum { BEAT_MS = 2000, BACKLOG = 4096, SLAB = 64 * 1024 };

/* X(name): what is counted. */
#define COUNTS(X)                                                                              \
    X(records)                                                                                 \
    X(admitted)                                                                                \
    X(who)                                                                                     \
    X(setups)                                                                                  \
    X(hellos)                                                                                  \
    X(plans)                                                                                   \
    X(strange_plans)                                                                           \
    X(starts)                                                                                  \
    X(clients)                                                                                 \
    X(served)                                                                                  \
    X(turned_away)                                                                             \
    X(byes)                                                                                    \
    X(refusals)                                                                                \
    X(broken)

enum count {
#define X(name) COUNT_##name,
    COUNTS(X)
#undef X
        COUNT_COUNT
};

struct load {
    uv_loop_t loop;
    uv_pipe_t door;
    uv_timer_t beat;
    struct agent *agents; /* by node */
    uint32_t n, nended;
    struct link_key *key;
    char slab[SLAB];
    struct buf bytes; /* of the message that is being sent */
    uint32_t world;   /* of the plans */
    int64_t last;     /* the highest value of the counter */
    unsigned counts[COUNT_COUNT];
};

struct agent {
    struct load *load;
    struct link *link;
    uint32_t node, first_rank, nworkers;
    char host[64], via[ADDR_HOST_MAX + 1], master[ADDR_HOST_MAX + 1];
    uint16_t master_port;
    struct client *clients;
};

struct client {
    uv_tcp_t tcp;
    uv_connect_t connect;
    struct load *load;
    char answer[8];
    size_t got;
    bool is_served;
};

struct intake { /* of one boot record */
    uv_pipe_t pipe;
    struct load *load;
    struct buf text;
};

/* ---- the end */

static void print(const struct load *l)
{
    static const char *const names[] = {
#define X(name) #name,
        COUNTS(X)
#undef X
    };
    for (int i = 0; i < COUNT_COUNT; i++)
        printf("%s %u\n", names[i], l->counts[i]);
    printf("world %u\nlast %lld\n", l->world, (long long)l->last);
}

static void on_link_closed(void *ctx, struct link *link, const struct err *why)
{
    struct agent *a = ctx;
    (void)link;
    a->link = NULL;
    if (why) {
        a->load->counts[COUNT_broken]++;
        fprintf(stderr, "%s: %s\n", a->host, why->text);
    }
    for (uint32_t i = 0; a->clients && i < a->nworkers; i++)
        if (!uv_is_closing((uv_handle_t *)&a->clients[i].tcp))
            uv_close((uv_handle_t *)&a->clients[i].tcp, NULL);
    if (++a->load->nended < a->load->n)
        return;
    uv_close((uv_handle_t *)&a->load->door, NULL);
    uv_close((uv_handle_t *)&a->load->beat, NULL);
}

/* ---- frames up */

static void send_frame(struct agent *a, const struct frame *frame)
{
    buf_reset(&a->load->bytes);
    link_wire_frame(frame, &a->load->bytes);
    link_send(a->link, (struct str){a->load->bytes.data, a->load->bytes.len});
}

static void on_beat(uv_timer_t *timer)
{
    struct load *l = timer->data;
    const struct frame beat = {.type = FRAME_BEAT};
    for (uint32_t i = 0; i < l->n; i++)
        if (l->agents[i].link && link_is_open(l->agents[i].link))
            send_frame(&l->agents[i], &beat);
}

static void end_workers(struct agent *a)
{
    struct frame frame = {.type = FRAME_EXITED};
    for (uint32_t i = 0; i < a->nworkers; i++) {
        frame.u.exited.local_rank = i;
        frame.u.exited.pid = a->first_rank + i + 1;
        frame.u.exited.gpu = "";
        send_frame(a, &frame);
    }
    const struct frame reaped = {.type = FRAME_REAPED};
    send_frame(a, &reaped);
}

/* ---- workers */

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct load *l = handle->loop->data;
    (void)size;
    *buf = uv_buf_init(l->slab, SLAB);
}

static void is_served(struct client *c)
{
    struct load *l = c->load;
    int64_t value;
    memcpy(&value, c->answer, sizeof value);
    l->last = value > l->last ? value : l->last;
    c->is_served = true;
    if (++l->counts[COUNT_served] == l->world)
        for (uint32_t i = 0; i < l->n; i++)
            end_workers(&l->agents[i]);
}

static void on_answer(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct client *c = stream->data;
    if (n < 0) {
        c->load->counts[COUNT_turned_away] += !c->is_served;
        uv_close((uv_handle_t *)stream, NULL);
        return;
    }
    size_t part = (size_t)n < sizeof c->answer - c->got ? (size_t)n : sizeof c->answer - c->got;
    memcpy(c->answer + c->got, buf->base, part);
    c->got += part;
    if (c->got == sizeof c->answer && !c->is_served)
        is_served(c);
}

static void on_connected(uv_connect_t *request, int status)
{
    struct client *c = request->data;
    struct buf out;
    if (status < 0) {
        c->load->counts[COUNT_turned_away]++;
        fprintf(stderr, "store: %s\n", uv_strerror(status));
        return;
    }
    buf_init(&out, 0);
    wire_add_validate(&out);
    wire_add_query(&out, WIRE_ADD);
    wire_add_bytes(&out, "workers", strlen("workers"));
    wire_add_i64(&out, 1);
    uv_buf_t bytes = uv_buf_init(out.data, (unsigned)out.len);
    uv_try_write(request->handle, &bytes, 1); /* into an empty socket */
    buf_fini(&out);
    uv_read_start(request->handle, on_alloc, on_answer);
}

static void start_workers(struct agent *a)
{
    struct sockaddr_in where;
    struct frame started = {.type = FRAME_STARTED};
    uv_ip4_addr(a->master, a->master_port, &where);
    a->clients = mem_alloc(a->nworkers, sizeof *a->clients);
    for (uint32_t i = 0; i < a->nworkers; i++) {
        struct client *c = &a->clients[i];
        c->load = a->load;
        uv_tcp_init(&a->load->loop, &c->tcp);
        c->tcp.data = c->connect.data = c;
        uv_tcp_connect(&c->connect, &c->tcp, (const struct sockaddr *)&where, on_connected);
        a->load->counts[COUNT_clients]++;
        started.u.started.local_rank = i;
        started.u.started.pid = a->first_rank + i + 1;
        send_frame(a, &started);
    }
}

/* ---- frames down */

static void say_hello(struct agent *a, const struct wire_setup *setup)
{
    struct frame hello = {.type = FRAME_HELLO};
    snprintf(a->host, sizeof a->host, "%s", setup->host);
    hello.u.hello.host = a->host;
    hello.u.hello.slots = a->nworkers;
    hello.u.hello.node_rank = setup->node;
    hello.u.hello.pid = a->node + 1;
    hello.u.hello.via = a->via;
    send_frame(a, &hello);
    a->load->counts[COUNT_hellos]++;
}

static void take_plan(struct agent *a, const struct order *order)
{
    const struct frame ready = {.type = FRAME_READY};
    bool is_right = order->node_rank == a->node && order->nnodes == a->load->n
                    && order->nworkers == a->nworkers
                    && order->first_rank == a->node * a->nworkers;
    a->load->counts[COUNT_plans]++;
    a->load->counts[COUNT_strange_plans] += !is_right;
    a->load->world = order->world_size;
    a->first_rank = order->first_rank;
    snprintf(a->master, sizeof a->master, "%s", order->master_addr);
    a->master_port = order->master_port;
    send_frame(a, &ready);
}

static void take(struct agent *a, const struct frame *frame)
{
    const struct frame reaped = {.type = FRAME_REAPED};
    if (frame->type == FRAME_PLAN) {
        take_plan(a, frame->u.plan.order);
    } else if (frame->type == FRAME_START) {
        a->load->counts[COUNT_starts]++;
        start_workers(a);
    } else if (frame->type == FRAME_STOP) {
        send_frame(a, &reaped);
    } else if (frame->type == FRAME_REFUSED) {
        a->load->counts[COUNT_refusals]++;
        fprintf(stderr, "%s: %s\n", a->host, frame->u.refused.err->text);
    } else if (frame->type == FRAME_BYE) {
        a->load->counts[COUNT_byes]++;
        link_finish(a->link);
    }
}

static void on_frame(void *ctx, struct link *link, struct str bytes)
{
    struct agent *a = ctx;
    struct wire_message m;
    struct err e;
    if (link_wire_decode(bytes, &m, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        link_close(link);
        return;
    }
    if (m.kind == WIRE_KIND_SETUP) {
        a->load->counts[COUNT_setups]++;
        say_hello(a, &m.u.setup);
    } else if (m.kind == WIRE_KIND_FRAME) {
        take(a, &m.u.frame);
    }
    wire_message_fini(&m);
}

static void on_open(void *ctx, struct link *link, const struct link_peer *peer)
{
    struct agent *a = ctx;
    const struct wire_who who = {a->node, WIRE_NONE, ""};
    (void)peer;
    a->load->counts[COUNT_admitted]++;
    a->load->counts[COUNT_who]++;
    buf_reset(&a->load->bytes);
    link_wire_who(&who, &a->load->bytes);
    link_send(link, (struct str){a->load->bytes.data, a->load->bytes.len});
}

/* ---- records */

/* By loopback, which the head offers last: there is no other machine. */
static void start_agent(struct load *l, const struct boot_record *boot, uint32_t node)
{
    const struct boot_address *last = &boot->addresses[boot->naddresses - 1];
    struct addr head = {.port = last->port};
    struct link_options options = link_options_default();
    struct err e;
    struct agent *a = &l->agents[node];
    snprintf(head.host, sizeof head.host, "127.0.0.1");
    if (!l->key)
        l->key = link_key_from_secret(boot->secret, boot->job, &e);
    *a = (struct agent){.load = l, .node = node, .nworkers = 8};
    snprintf(a->via, sizeof a->via, "%s", head.host);
    options.key = l->key;
    options.ctx = a;
    options.until_ms = 120000;
    options.handshake_ms = 60000; /* a busy machine */
    options.on_open = on_open;
    options.on_frame = on_frame;
    options.on_closed = on_link_closed;
    a->link = link_dial(&l->loop, &head, 1, &options, &e);
}

static void on_intake_closed(uv_handle_t *handle)
{
    struct intake *in = handle->data;
    buf_fini(&in->text);
    free(in);
}

/* A record for one host, or for one with others further down the tree. */
static void take_record(struct load *l, const struct buf *text)
{
    struct boot_record boot;
    struct err e;
    if (boot_parse((struct str){text->data, text->len}, &boot, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        return;
    }
    l->counts[COUNT_records]++;
    start_agent(l, &boot, (uint32_t)boot.node);
    for (size_t i = 0; i < boot.nchildren; i++)
        start_agent(l, &boot, boot.children[i].node);
    boot_record_fini(&boot);
}

static void on_text(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct intake *in = stream->data;
    if (n >= 0) {
        buf_add(&in->text, buf->base, (size_t)n);
        return;
    }
    take_record(in->load, &in->text);
    uv_close((uv_handle_t *)stream, on_intake_closed);
}

static void on_door(uv_stream_t *door, int status)
{
    struct intake *in = mem_alloc(1, sizeof *in);
    (void)status;
    in->load = door->data;
    buf_init(&in->text, 0);
    uv_pipe_init(door->loop, &in->pipe, 0);
    in->pipe.data = in;
    uv_accept(door, (uv_stream_t *)&in->pipe);
    uv_read_start((uv_stream_t *)&in->pipe, on_alloc, on_text);
}

int main(int argc, char **argv)
{
    static struct load l;
    struct rlimit nofile;
    if (argc != 3)
        return 2;
    getrlimit(RLIMIT_NOFILE, &nofile);
    nofile.rlim_cur = nofile.rlim_max;
    setrlimit(RLIMIT_NOFILE, &nofile);
    l.n = (uint32_t)atoi(argv[2]);
    l.agents = mem_alloc(l.n, sizeof *l.agents);
    buf_init(&l.bytes, 0);
    uv_loop_init(&l.loop);
    l.loop.data = &l;
    uv_pipe_init(&l.loop, &l.door, 0);
    l.door.data = &l;
    uv_timer_init(&l.loop, &l.beat);
    l.beat.data = &l;
    if (uv_pipe_bind(&l.door, argv[1]) < 0
        || uv_listen((uv_stream_t *)&l.door, BACKLOG, on_door) < 0)
        return 1;
    uv_timer_start(&l.beat, on_beat, BEAT_MS, BEAT_MS);
    uv_run(&l.loop, UV_RUN_DEFAULT);
    print(&l);
    for (uint32_t i = 0; i < l.n; i++)
        free(l.agents[i].clients);
    free(l.agents);
    link_key_free(l.key);
    buf_fini(&l.bytes);
    return 0;
}
