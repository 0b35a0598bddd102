#include "launcher/io/head_links.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/io/inbox.h"

enum { STRANGERS_MIN = 256 };

struct head_link {
    struct list node; /* of strangers, or of open ones */
    struct head_links *owner;
    struct link *link;
    uint32_t number; /* 0 until it has proved itself */
    bool is_dropped, has_fault;
    struct err fault;  /* why we have closed it */
    struct peer_ip ip; /* the peer's */
    int64_t user;
};

struct loss { /* why a link was lost, until the event is read */
    struct list node;
    struct err err;
};

struct head_links {
    struct uv_loop_s *loop;
    struct link_options options;
    struct head_links_events events;
    struct head_link **by_number; /* NULL = gone */
    uint32_t nnumbers;            /* numbers given so far, 0 included */
    size_t cap, nstrangers, max_strangers, nlinks;
    struct list strangers, open, losses;
    struct inbox inbox;
    struct buf bytes; /* of the message that is being sent */
    bool is_closing;
};

static void maybe_finish(struct head_links *hl)
{
    if (!hl->is_closing || hl->nlinks)
        return;
    head_links_settle(hl);
    buf_fini(&hl->bytes);
    free(hl->by_number);
    free(hl);
}

static uint32_t number_new(struct head_links *hl, struct head_link *l)
{
    if (hl->nnumbers == hl->cap) {
        hl->cap = hl->cap ? 2 * hl->cap : 16;
        hl->by_number = mem_realloc(hl->by_number, hl->cap, sizeof *hl->by_number);
    }
    hl->by_number[hl->nnumbers] = l;
    return hl->nnumbers++;
}

static struct head_link *find(const struct head_links *hl, uint32_t number)
{
    return number && number < hl->nnumbers ? hl->by_number[number] : NULL;
}

static void on_open(void *ctx, struct link *link, const struct link_peer *peer)
{
    struct head_link *l = ctx;
    (void)link;
    (void)peer;
    l->number = number_new(l->owner, l);
    list_remove(&l->node);
    list_push(&l->owner->open, &l->node);
    l->owner->nstrangers--;
}

static void drop(struct head_link *l)
{
    if (l->is_dropped)
        return;
    l->is_dropped = true;
    link_finish(l->link);
}

static int answer_who(struct head_link *l, const struct wire_who *who)
{
    struct head_links *hl = l->owner;
    buf_reset(&hl->bytes);
    int rc =
        hl->events.setup ? hl->events.setup(hl->events.ctx, l->number, who, &hl->bytes) : -1;
    if (rc < 0)
        return -1;
    link_send(l->link, (struct str){hl->bytes.data, hl->bytes.len});
    if (rc > 0)
        drop(l);
    return 0;
}

static int take(struct head_link *l, const struct wire_message *m)
{
    const struct head_links_events *events = &l->owner->events;
    switch (m->kind) {
    case WIRE_KIND_FRAME:
        events->on_frame(events->ctx, l->number, &m->u.frame);
        return 0;
    case WIRE_KIND_WHO:
        return answer_who(l, &m->u.who);
    case WIRE_KIND_OUTPUT:
        if (events->on_output)
            events->on_output(events->ctx, l->number, &m->u.output);
        return events->on_output ? 0 : -1;
    case WIRE_KIND_MORE:
        if (events->on_more)
            events->on_more(events->ctx, l->number);
        return events->on_more ? 0 : -1;
    case WIRE_KIND_INPUT:
    case WIRE_KIND_SETUP:
        return -1;
    }
    return -1;
}

static void refuse(struct head_link *l, const struct err *why)
{
    struct buf host;
    buf_init(&host, 0);
    peer_ip_format(&l->ip, &host);
    l->fault = *why;
    err_wrap(&l->fault, "%s", buf_str(&host));
    l->has_fault = true;
    log_warn("link", "%s", l->fault.text);
    buf_fini(&host);
    link_close(l->link);
}

static void on_frame(void *ctx, struct link *link, struct str bytes)
{
    struct head_link *l = ctx;
    struct err e;
    (void)link;
    if (l->is_dropped)
        return;
    const struct wire_message *m = inbox_add(&l->owner->inbox, bytes, &e);
    if (m && take(l, m) == 0)
        return;
    if (m)
        err_set(&e, ERR_PROTOCOL, "a message that a node does not send");
    refuse(l, &e);
}

static const struct err *keep_loss(struct head_links *hl, const struct err *why)
{
    struct loss *loss = mem_alloc(1, sizeof *loss);
    err_set(&loss->err, ERR_NODE_LOST, "its muster is gone: %s",
            why ? why->text : "it said farewell while it was needed");
    list_push(&hl->losses, &loss->node);
    return &loss->err;
}

static void on_closed(void *ctx, struct link *link, const struct err *why)
{
    struct head_link *l = ctx;
    struct head_links *hl = l->owner;
    list_remove(&l->node);
    hl->nstrangers -= !l->number && !l->is_dropped;
    hl->nlinks--;
    if (l->number)
        hl->by_number[l->number] = NULL;
    if (l->number && !l->is_dropped)
        hl->events.on_lost(hl->events.ctx, l->number,
                           keep_loss(hl, l->has_fault ? &l->fault : why));
    else if (!l->number && why)
        hl->events.on_unproven(hl->events.ctx, &l->ip, link_is_named(link), why);
    free(l);
    maybe_finish(hl);
}

struct head_links *head_links_new(struct uv_loop_s *loop, const struct link_key *key,
                                  uint32_t nnodes, const struct head_links_events *events)
{
    struct head_links *hl = mem_alloc(1, sizeof *hl);
    hl->loop = loop;
    hl->events = *events;
    hl->options = link_options_default();
    hl->options.key = key;
    hl->options.on_open = on_open;
    hl->options.on_frame = on_frame;
    hl->options.on_closed = on_closed;
    hl->max_strangers = 2 * (size_t)nnodes > STRANGERS_MIN ? 2 * (size_t)nnodes : STRANGERS_MIN;
    list_init(&hl->strangers);
    list_init(&hl->open);
    list_init(&hl->losses);
    inbox_init(&hl->inbox);
    buf_init(&hl->bytes, 0);
    number_new(hl, NULL); /* 0 is the node of this process */
    return hl;
}

static void drop_stranger(struct head_link *l)
{
    l->is_dropped = true;
    list_remove(&l->node);
    l->owner->nstrangers--;
    link_close(l->link);
}

/* The oldest of those that have not named the job, as a node does with its first bytes; of
 * those that have, where all did. */
static struct head_link *least_stranger(struct head_links *hl)
{
    for (struct list *at = hl->strangers.next; at != &hl->strangers; at = at->next) {
        struct head_link *l = list_entry(at, struct head_link, node);
        if (!link_is_named(l->link))
            return l;
    }
    return list_first(&hl->strangers, struct head_link, node);
}

void head_links_accept(struct head_links *hl, struct uv_tcp_s *tcp, struct str first,
                       int64_t user)
{
    struct head_link *l = mem_alloc(1, sizeof *l);
    struct sockaddr_storage peer;
    int len = sizeof peer;
    if (uv_tcp_getpeername(tcp, (struct sockaddr *)&peer, &len) == 0)
        l->ip = peer_ip_from((struct sockaddr *)&peer);
    l->user = user;
    if (hl->nstrangers >= hl->max_strangers)
        drop_stranger(least_stranger(hl));
    l->owner = hl;
    list_push(&hl->strangers, &l->node);
    hl->nstrangers++;
    hl->nlinks++;
    struct link_options options = hl->options;
    options.ctx = l;
    l->link = link_accept(hl->loop, tcp, first, &options);
}

void head_links_send(struct head_links *hl, uint32_t number, const struct frame *frame)
{
    struct head_link *l = find(hl, number);
    if (!l)
        return;
    buf_reset(&hl->bytes);
    link_wire_frame(frame, &hl->bytes);
    link_send(l->link, (struct str){hl->bytes.data, hl->bytes.len});
}

void head_links_send_input(struct head_links *hl, uint32_t number, struct str bytes)
{
    struct head_link *l = find(hl, number);
    if (!l)
        return;
    buf_reset(&hl->bytes);
    link_wire_input(bytes, &hl->bytes);
    link_send(l->link, (struct str){hl->bytes.data, hl->bytes.len});
}

void head_links_pause(struct head_links *hl, bool is_paused)
{
    for (uint32_t i = 1; i < hl->nnumbers; i++)
        if (hl->by_number[i])
            link_pause(hl->by_number[i]->link, is_paused);
}

void head_links_drop(struct head_links *hl, uint32_t number)
{
    struct head_link *l = find(hl, number);
    if (l)
        drop(l);
}

bool head_links_has_peer(const struct head_links *hl, const struct peer_ip *ip)
{
    for (uint32_t i = 1; i < hl->nnumbers; i++)
        if (hl->by_number[i] && peer_ip_is_same(&hl->by_number[i]->ip, ip))
            return true;
    return false;
}

bool head_links_has_user(const struct head_links *hl, uint32_t uid)
{
    for (uint32_t i = 1; i < hl->nnumbers; i++)
        if (hl->by_number[i] && hl->by_number[i]->user == uid)
            return true;
    return false;
}

void head_links_settle(struct head_links *hl)
{
    inbox_empty(&hl->inbox);
    while (!list_is_empty(&hl->losses)) {
        struct loss *loss = list_first(&hl->losses, struct loss, node);
        list_remove(&loss->node);
        free(loss);
    }
}

void head_links_close(struct head_links *hl)
{
    hl->is_closing = true;
    for (uint32_t i = 1; i < hl->nnumbers; i++)
        if (hl->by_number[i])
            drop(hl->by_number[i]);
    while (!list_is_empty(&hl->strangers))
        drop_stranger(list_first(&hl->strangers, struct head_link, node));
    maybe_finish(hl);
}
