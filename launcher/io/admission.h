/* admission.h - who may use the rendezvous store, and what is said of those who were turned
 * away from the job's port.
 *
 * A c10d client cannot prove anything. So it is served if it comes from a node that has joined,
 * or from this machine and a user of the job. Why it is so: docs/design/0011-link.md. Who may
 * join as a node proves a link.
 */
#ifndef MUSTER_LAUNCHER_IO_ADMISSION_H
#define MUSTER_LAUNCHER_IO_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "rendezvous/peer_ip.h"

struct admission;
struct server_note;
struct sockaddr;
struct uv_loop_s;
struct uv_tcp_s;

struct admission_asks {
    void *ctx;
    /* Whether a node of the job has this address. */
    bool (*is_node)(void *ctx, const struct peer_ip *ip);
    /* Whether a process of the job on this machine has another user than muster, this one. */
    bool (*is_user)(void *ctx, uint32_t uid);
};

/* is_open: everybody is served. has_nodes: connections may come by any of this machine's
 * addresses, else by loopback only. NULL with ERR_SYSTEM if the addresses cannot be had. */
struct admission *admission_new(const struct uv_loop_s *loop, bool is_open, bool has_nodes,
                                const struct admission_asks *asks, struct err *e);

/* Whether the c10d client at the far end is served; who is not is told of, once a user and
 * address. */
bool admission_admit(struct admission *a, const struct sockaddr *near,
                     const struct sockaddr *far);

/* The user behind a connection from this machine; -1 = from another one, or not to be told. */
int64_t admission_user(struct admission *a, const struct uv_tcp_s *tcp);

/* Somebody who spoke to the port was turned away. text: "10.0.0.7:40112: reason". Told once a
 * reason and address. */
void admission_stranger(struct admission *a, const struct peer_ip *ip, const char *text);

/* What the port's server has to say: a stranger as above, else a line that begins with
 * `before`.
 */
void admission_note(struct admission *a, const char *before, const struct server_note *note);

/* Says how many were turned away if not each was told, and frees it. NULL is fine. */
void admission_end(struct admission *a);

#endif
