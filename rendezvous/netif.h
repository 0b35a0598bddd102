/* netif.h - the addresses of this machine's interfaces.
 *
 * Asks the kernel once; questions are then answered from the list. Which address is offered to
 * others decides addr.h.
 */
#ifndef MUSTER_RENDEZVOUS_NETIF_H
#define MUSTER_RENDEZVOUS_NETIF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "rendezvous/addr.h"

struct netif {
    char name[16];    /* "eth0" */
    struct addr addr; /* numeric, port 0; link-local IPv6 with %zone */
    bool is_up;
};

/* One entry an address, in the kernel's order. Owned by the caller; freed by netif_fini. */
struct netif_list {
    struct netif *items;
    size_t len, cap;
};

/* 0, or -1 with ERR_SYSTEM and an empty list. */
int netif_list(struct netif_list *out, struct err *e);
void netif_fini(struct netif_list *list);

/* The addresses of interfaces that are up and are called what, or lie in it if it is a subnet
 * ("10.1.0.0/16"); IPv4 before IPv6, link-local ones only if there is no other. At most max of
 * them into out. How many, or -1 with ERR_USAGE, which names the interfaces there are. */
int netif_find(const struct netif_list *list, const char *what, struct addr *out, size_t max,
               struct err *e);

/* Whether a numeric address belongs to this machine: one of the list, or loopback. */
bool netif_is_mine(const struct netif_list *list, const char *host);

#endif
