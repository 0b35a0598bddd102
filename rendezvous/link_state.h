/* link_state.h - a link and its connections, shared by the two files that make one.
 *
 * Private to link.c (frames, time, ends) and link_dial.c (a node's way to the head): to
 * everybody else struct link is opaque (link.h).
 */
#ifndef MUSTER_RENDEZVOUS_LINK_STATE_H
#define MUSTER_RENDEZVOUS_LINK_STATE_H

#include <uv.h>

#include "rendezvous/dial.h"
#include "rendezvous/link.h"

enum link_state {
    LINK_FORMING,  /* dialling, or in the handshake */
    LINK_OPEN,     /* frames */
    LINK_FINISHED, /* the farewell is on its way; waits for the other side to close */
    LINK_CLOSED,   /* waits for libuv to give the handles back */
};

/* One connection: that of the link, or one of several that a dialling link tries. */
struct conn {
    struct link *link;
    uv_tcp_t *tcp;
    uv_connect_t connect;
    struct link_auth *auth; /* NULL until connected */
    struct buf in;
    uint64_t deadline_ms; /* UINT64_MAX once open */
    size_t candidate;
    bool is_closing;
    char peer[64];
};

struct link {
    uv_loop_t *loop;
    struct link_options opt;
    uv_timer_t timer; /* the first deadline of all */
    uv_shutdown_t shutdown;
    enum link_state state;
    struct conn *conn;  /* the connection; NULL while dialling */
    struct conn **runs; /* dialling: by candidate, NULL = not being tried */
    struct addr *candidates;
    size_t ncandidates;
    struct dial *dial;
    struct buf plain;
    size_t pending;  /* handles that libuv still has */
    bool is_named;   /* by the other side: the job */
    bool is_paused;  /* by our side */
    bool is_resumed; /* reading begins again on the timer */
    bool has_why;
    struct err why;
};

/* A link without a connection, which has one handle (its timer) so far. */
struct link *link_new(struct uv_loop_s *loop, const struct link_options *opt);

/* Arms the timer for the first deadline of all; after whatever has changed one. */
void link_arm(struct link *l);

/* Lets go of all connections; on_closed follows once libuv has given the handles back. why:
 * NULL = orderly; copied. A second call is ignored. */
void link_end(struct link *l, const struct err *why);

/* What every connection has: no delay, keep-alive, a limit for what is not acknowledged. */
void link_set_options(const struct link *l, const uv_tcp_t *tcp);

/* A connection of the link on tcp (from malloc, an initialised handle), which it owns. */
struct conn *link_conn_new(struct link *l, uv_tcp_t *tcp);

/* The link's own connection, or one of those that are tried, is over: the link ends, or the
 * next one is tried. how: how far it got; e, to which the peer is added: why. */
void link_conn_failed(struct conn *c, enum dial_failure how, struct err *e);

/* In the handshake: a few bytes into the empty buffer of a new connection. Frees bytes. */
void link_conn_tell(struct conn *c, struct buf *bytes);

/* Reads from now on. */
void link_conn_read(struct conn *c);

/* While a link dials: what is due now, the next candidates or the end. */
void link_dial_go_on(struct link *l);

#endif
