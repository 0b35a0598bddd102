/* own_addr.h - what addr= and iface= of a host mean on that host: numeric addresses under which
 * other nodes reach it.
 *
 * Owns whether such a wish can be had on this machine, and what is said if not. Names are
 * looked up, once, so it blocks; to be called before the loop runs. Who is told decides the
 * caller.
 */
#ifndef MUSTER_LAUNCHER_IO_OWN_ADDR_H
#define MUSTER_LAUNCHER_IO_OWN_ADDR_H

#include "rendezvous/netif.h"

/* "" or NULL = not given. */
struct own_addr {
    const char *addr;  /* a name or a numeric address, without brackets */
    const char *iface; /* the name of an interface; with addr: which one that is on */
    const char *line;  /* where it was read: "hosts:3" */
};

/* The addresses of this machine that are meant, the best first, at most max of them into out;
 * 0 = nothing was wished. -1 with ERR_USAGE: this machine has no such interface or address,
 * and which it has; or the name stands for loopback, which nobody else reaches. The text begins
 * with the line. */
int own_addr_find(const struct own_addr *wish, const struct netif_list *netifs,
                  struct addr *out, size_t max, struct err *e);

#endif
