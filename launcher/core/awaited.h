/* awaited.h - the nodes that have not joined yet: what they are called and how far each is, for
 * the lines that say who is waited for.
 *
 * Owns those words only; who has joined knows members.h.
 */
#ifndef MUSTER_LAUNCHER_CORE_AWAITED_H
#define MUSTER_LAUNCHER_CORE_AWAITED_H

#include "base/buf.h"
#include "launcher/core/members.h"

struct awaited_node {
    char *host, *state; /* NULL = not known */
};

/* Zero-initialised by the owner. */
struct awaited {
    struct awaited_node
        *list; /* by place in the list of hosts; NULL = nothing is known of any */
    uint32_t n;
};

/* Of a job of n nodes. Both are copied. Nothing happens for a node from n on. */
void awaited_set(struct awaited *a, uint32_t n, uint32_t node, const char *host,
                 const char *state);

/* The name of one of them; NULL if it is not known. */
const char *awaited_host(const struct awaited *a, uint32_t node);

/* Appends ": n17 (ssh refused, trying again), n20-n23 (not logged in yet)": those that have not
 * joined, as many as fit into a line; nothing if no name is known. */
void awaited_format(const struct awaited *a, const struct members *m, struct buf *out);

void awaited_fini(struct awaited *a);

#endif
