/* port.h - the one listening port of a job, for c10d clients and for nodes.
 *
 * Owns the listener, connections until their first bytes say who they are, and the store server
 * of the current generation. Who is who decides wire_detect; what silence means decides
 * peers.c. Everything happens on the loop's thread; callbacks must not close the port. The
 * process has to ignore SIGPIPE.
 */
#ifndef MUSTER_RENDEZVOUS_PORT_H
#define MUSTER_RENDEZVOUS_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "rendezvous/server_note.h"
#include "rendezvous/store_server.h"

struct port;
struct sockaddr;
struct uv_loop_s;
struct uv_tcp_s;

struct port_options {
    const char *address; /* numeric; "" or NULL: every address, IPv6 and IPv4 */
    uint16_t port;       /* 0: the kernel chooses */
    int backlog;         /* cut to net.core.somaxconn by the kernel */
    bool legacy;         /* serve clients of PyTorch 1.13 */
    uint64_t first_ms;   /* how long a connection may take to say who it is */
    uint64_t linger_ms;  /* how long one that is being closed may take to read */
    size_t max_unsent;   /* bytes waiting for one client above which it is not read */
    size_t max_bytes;    /* of a store */
    uint8_t seed[16];    /* random bytes */
    struct wire_limits limits;
    void *ctx; /* of the callbacks, each of which may be NULL */
    void (*on_note)(void *ctx, const struct server_note *note);
    /* Whether a c10d client is served: near and far are the ends of its connection. Asked
     * when a connection has said that it is one, and of a silent one before it is kept as a
     * second one of PyTorch 1.13. NULL: all are. */
    bool (*admit)(void *ctx, const struct sockaddr *near, const struct sockaddr *far);
    /* A node: tcp (from malloc, not reading) now belongs to the callee, which frees it in its
     * close callback. first: all that has been read, valid during the call. NULL: such
     * connections are closed with a note. */
    void (*on_link)(void *ctx, struct uv_tcp_s *tcp, struct str first);
};

/* Backlog 65535, 10 s for first bytes, 10 s linger, 1 MiB unsent, 1 GiB a store, legacy on,
 * loopback. The seed is zero: fill it. */
struct port_options port_options_default(void);

/* Listens; generation 0 begins with its gate open. NULL with ERR_USAGE for an address that is
 * no numeric one, ERR_UNAVAILABLE if it cannot be had. Nothing is left behind on failure once
 * the loop has run. */
struct port *port_open(struct uv_loop_s *loop, const struct port_options *opt, struct err *e);

/* The number and numeric address that it listens on. */
uint16_t port_number(const struct port *p);
const char *port_address(const struct port *p);

/* Step 1 of a restart: c10d clients that say who they are from now on are closed; those
 * connected before stay. Nodes are not affected. */
void port_gate_close(struct port *p);

/* Step 2 and 3, once all workers of the generation are reaped or lost: closes every c10d
 * connection of the generation, frees its store, and opens the gate of the next one with an
 * empty store. Connections that were accepted, or wait to be, before this call never reach the
 * new store. */
void port_generation_next(struct port *p);

struct port_counts {
    size_t connections; /* c10d, live */
    size_t joined;      /* of these, ranks that did ADD init/ */
    size_t undecided;   /* connections that have not said who they are, silent ones included */
    size_t keys, bytes; /* of the store */
    struct server_counts all;
};

void port_counts(const struct port *p, struct port_counts *out);

/* The value of a key in this generation's store, appended to out; false: there is none. */
bool port_store_value(const struct port *p, const char *key, struct buf *out);

/* Calls fn for each pending wait of this generation, oldest first, until it returns false. */
void port_each_wait(const struct port *p, bool (*fn)(void *ctx, const struct server_wait *w),
                    void *ctx);

/* Closes all; p is freed, and on_closed (may be NULL) called, once nothing is pending. */
void port_close(struct port *p, void (*on_closed)(void *ctx), void *ctx);

#endif
