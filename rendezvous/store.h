/* store.h - the key-value store of one generation: what each query means.
 *
 * store_step takes one event and appends the replies to the effects; it does no I/O and reads
 * no clock. Owns keys, queues and the state of waiting connections; not the connections. What
 * the answers are, and where PyTorch's servers differ: docs/design/0007-tcpstore.md.
 */
#ifndef MUSTER_RENDEZVOUS_STORE_H
#define MUSTER_RENDEZVOUS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "rendezvous/blob.h"
#include "rendezvous/tcpstore_wire.h"

struct store;

enum {
    STORE_WAKE_SLICE = 1024, /* waiters woken by one step or turn */
    STORE_COPY_MAX = 256,    /* values up to this size are copied into replies */
    STORE_NUMBER_MAX = 24,   /* bytes of a number as text */
};

/* One place in the list of a key's waiters. Private. */
struct store_node {
    struct list link;
    struct entry *entry; /* NULL: this key has appeared */
    struct store_conn *conn;
};

/* A connection as the store sees it, in its owner's memory; it must not move. Read-only for the
 * owner. All its wait nodes are here, so that ending a wait costs only its own keys. */
struct store_conn {
    struct list link; /* in the list of waiting connections */
    struct store_node one, *nodes;
    size_t count;      /* nodes */
    size_t missing;    /* keys that have not appeared; 0 = not waiting */
    uint64_t since_ms; /* when the wait began */
    uint32_t nonce;    /* of the last PING: the client's pid as it sees it */
    bool is_barrier, has_joined, is_closed;
};

/* The caller's memory: a connection that waits for nothing. Ends with STORE_EV_CLOSED, after
 * which it must not be named again, for the store would keep what its owner frees. */
void store_conn_init(struct store_conn *c);

enum store_event_kind {
    STORE_EV_BEGUN,   /* a query byte: ends the pending wait of conn */
    STORE_EV_REQUEST, /* a complete request; it too ends a pending wait of conn */
    STORE_EV_CLOSED,  /* conn is gone; conn may be freed after the step */
    STORE_EV_TURN,    /* time to wake the next slice */
};

struct store_event {
    enum store_event_kind kind;
    struct store_conn *conn;            /* not of TURN */
    uint64_t now_ms;                    /* of REQUEST */
    const struct wire_request *request; /* of REQUEST */
};

enum store_refusal {
    STORE_REFUSED_NOT_NUMBER, /* ADD or BARRIER of a value that is no number */
    STORE_REFUSED_FULL,       /* the request could pass the byte limit */
};

enum store_effect_kind {
    STORE_FX_BYTES, /* send bytes.data + at, len bytes */
    STORE_FX_BLOB,  /* send all of blob */
    STORE_FX_CLOSE, /* close: why, and the key in bytes.data + at, len bytes */
};

struct store_effect {
    enum store_effect_kind kind;
    enum store_refusal why;
    struct store_conn *conn;
    size_t at, len;
    struct blob *blob; /* one reference, the effects' */
};

/* Kept and reused by the caller; in order, and a connection's own are its answers in order. */
struct store_effects {
    struct store_effect *items;
    size_t count, cap;
    size_t total; /* bytes to send, blobs included */
    struct buf bytes;
};

void store_effects_init(struct store_effects *fx);
void store_effects_reset(struct store_effects *fx); /* empties it, keeps the memory */
void store_effects_fini(struct store_effects *fx);

/* seed: 16 random bytes for the hash. max_bytes: of keys, values, queues and waits; a request
 * that could pass it is refused. */
struct store *store_new(const uint8_t seed[16], size_t max_bytes);

/* Frees it; connections still known to it must not be stepped again. NULL is fine. */
void store_free(struct store *s);

/* One event; appends to out. Taking a request's blob adds a reference. */
void store_step(struct store *s, const struct store_event *ev, struct store_effects *out);

/* Woken waiters whose replies are still to come: call store_step with TURN soon. */
bool store_has_ready(const struct store *s);

/* How many keys there are, and the bytes of all entries and pending waits. */
size_t store_keys(const struct store *s);
size_t store_bytes(const struct store *s);

/* The value of a key as GET would answer it, in *value; text holds a number's. False: there is
 * none. Valid until the next step. */
bool store_find(const struct store *s, struct str key, char text[STORE_NUMBER_MAX],
                struct str *value);

/* Connections that did ADD init/: the ranks that have arrived. */
size_t store_joined(const struct store *s);

/* Calls fn for each connection that waits, oldest first, with one key that it waits for, until
 * fn returns false. */
void store_each_wait(const struct store *s,
                     bool (*fn)(void *ctx, const struct store_conn *c, struct str key),
                     void *ctx);

#endif
