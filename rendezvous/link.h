/* link.h - one authenticated connection between the head and a node, carrying frames of bytes.
 *
 * Owns the socket, the handshake's time, sealing, keep-alive and both ends of a link's life.
 * Knows nothing of what frames mean (the launcher's), of names (numeric addresses only), nor
 * how many links there may be: whoever accepts counts them by link_is_open. Everything happens
 * on the loop's thread. No callback is called from inside a function of this header; all of
 * these may be called from any callback.
 */
#ifndef MUSTER_RENDEZVOUS_LINK_H
#define MUSTER_RENDEZVOUS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "rendezvous/addr.h"
#include "rendezvous/link_auth.h"

struct link;
struct uv_loop_s;
struct uv_tcp_s;

/* Who is at the other end; valid during the call that tells. */
struct link_peer {
    const char *address; /* "10.0.0.7:40112" */
    size_t candidate;    /* link_dial: which of its addresses; else 0 */
};

struct link_options {
    const struct link_key *key; /* borrowed, must outlive the link */
    uint64_t handshake_ms;      /* limit, from the connection on */
    uint64_t finish_ms;         /* link_finish: limit, from the last write that went out on */
    uint64_t connect_ms;        /* link_dial: limit of one try to connect */
    uint64_t until_ms;          /* link_dial: how long to try in all, from the call on */
    unsigned user_timeout_ms;   /* unacknowledged bytes end the link after this (tcp(7)) */
    void *ctx;                  /* of the callbacks, each of which may be NULL */
    /* The other side has proved itself; frames may be sent and will come. At most once. */
    void (*on_open)(void *ctx, struct link *l, const struct link_peer *peer);
    /* One frame, valid during the call. */
    void (*on_frame)(void *ctx, struct link *l, struct str frame);
    /* Nothing is left unsent, after something was. */
    void (*on_drained)(void *ctx, struct link *l);
    /* link_dial: a try at this candidate failed; others, or it again, may follow. */
    void (*on_try)(void *ctx, struct link *l, size_t candidate, const struct err *why);
    /* The end, exactly once; l is freed when it returns. why: NULL for an orderly one (the
     * other side finished, or link_finish or link_close was called here). Else ERR_AUTH,
     * ERR_UNAVAILABLE (never opened), ERR_CLOSED (the connection broke or ended without a
     * farewell), ERR_PROTOCOL. The text begins with the peer's address. */
    void (*on_closed)(void *ctx, struct link *l, const struct err *why);
};

/* 5 s for the handshake and for the end, 10 s to connect, 30 s to dial, 8 s unacknowledged; no
 * key. */
struct link_options link_options_default(void);

/* The head's end, as port.h's on_link gives it: tcp comes from malloc, is not reading and now
 * belongs to the link; first is what has been read from it. Never fails: on_closed tells. */
struct link *link_accept(struct uv_loop_s *loop, struct uv_tcp_s *tcp, struct str first,
                         const struct link_options *opt);

/* A node's end. Dials the candidates (copied; numeric, in the order of preference) as dial.h
 * says and keeps the first that proves itself; a node proves itself to that one only. When
 * until_ms is over, or all heads refused, on_closed has the reason that got furthest. NULL with
 * ERR_USAGE if a candidate is no numeric address or there is none. */
struct link *link_dial(struct uv_loop_s *loop, const struct addr *candidates, size_t n,
                       const struct link_options *opt, struct err *e);

/* Between on_open and the beginning of its end. Accepted links that are not are the
 * unauthenticated ones. */
bool link_is_open(const struct link *l);

/* Of an accepted link, also in on_closed: whether the other side has named the job by its key
 * (link_auth_is_named), which proves nothing. A node that dials several addresses does so on
 * each and lets go of all but one. */
bool link_is_named(const struct link *l);

/* Sends one frame of at most LINK_FRAME_MAX bytes (copied). A link that is not open drops it.
 * Nothing bounds what waits but the caller, who asks link_unsent first. */
void link_send(struct link *l, struct str frame);

/* Bytes that wait here because the connection takes no more now; on_drained tells when 0. */
size_t link_unsent(const struct link *l);

/* Stops and resumes reading an open link, for back-pressure. The other side is told, so that
 * its user_timeout_ms does not take a full window for a dead peer; the end of the connection is
 * noticed on sending only. Pause before the process is stopped, too. */
void link_pause(struct link *l, bool is_paused);

/* Orderly end: what was sent before goes out, then the farewell, then on_closed with NULL once
 * the other side has closed; with ERR_CLOSED if it does not. What still comes is dropped. One
 * that is not open is closed. */
void link_finish(struct link *l);

/* Ends it now; unsent bytes are lost and the other side sees ERR_CLOSED. */
void link_close(struct link *l);

#endif
