/* store_server.h - the c10d connections of one generation and their store.
 *
 * Owns the connections that the listener hands over and a store of its own: a connection never
 * looks up "the current store". Carries bytes, limits and back pressure; what queries mean is
 * store.c's business. Everything happens on the loop's thread.
 */
#ifndef MUSTER_RENDEZVOUS_STORE_SERVER_H
#define MUSTER_RENDEZVOUS_STORE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "rendezvous/peers.h"
#include "rendezvous/server_note.h"
#include "rendezvous/store.h"
#include "rendezvous/tcpstore_wire.h"

struct store_server;
struct uv_loop_s;
struct uv_tcp_s;

/* Since the listener was opened, all generations. */
struct server_counts {
    uint64_t accepted, refused;
    uint64_t requests[WIRE_QUERY_COUNT];
};

/* What the servers of all generations share; it must outlive them. */
struct server_env {
    struct uv_loop_s *loop;
    struct wire_limits limits;
    size_t max_bytes;   /* of a store: keys, values, queues, waits */
    size_t max_unsent;  /* bytes for one connection above which it is not read */
    uint64_t linger_ms; /* how long a connection that is being closed may take to read */
    uint8_t seed[16];   /* random, for the hash */
    char *slab;         /* the one buffer that all connections read into */
    size_t slab_size;
    struct server_counts counts;
    struct peers *peers;
    void *ctx;
    void (*on_note)(void *ctx, const struct server_note *note);
};

/* One wait that is pending, for messages. */
struct server_wait {
    char peer[64];
    uint32_t pid; /* as the client's PING told it, 0 if it did not */
    uint64_t since_ms;
    bool is_barrier;
    struct str key; /* one that is missing; valid during the call */
};

/* For one generation, with an empty store. env is borrowed and outlives it. */
struct store_server *store_server_new(struct server_env *env);

/* Takes over an open connection (from malloc; not reading) and the bytes already read from it:
 * first, then more, which may lie in the slab. */
void store_server_take(struct store_server *s, struct uv_tcp_s *tcp, const struct peer_ip *ip,
                       enum wire_dialect dialect, struct str first, struct str more);

/* How many connections are open, and what they talk to; owned by the server. */
size_t store_server_connections(const struct store_server *s);
const struct store *store_server_store(const struct store_server *s);

/* Calls fn for each pending wait, oldest first, until it returns false. */
void store_server_each_wait(const struct store_server *s,
                            bool (*fn)(void *ctx, const struct server_wait *w), void *ctx);

/* Closes every connection now and frees everything; on_closed (may be NULL) is called once all
 * is gone, never from within this call. */
void store_server_close(struct store_server *s, void (*on_closed)(void *ctx), void *ctx);

/* Reads and drops what has arrived, so that closing does not reset the client. */
void server_drain(struct uv_tcp_s *tcp);

/* "10.0.0.7:40112" into text of 64 bytes; "" if it is gone. */
void server_peer_text(const struct uv_tcp_s *tcp, char *text);

#endif
