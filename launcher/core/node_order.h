/* node_order.h - the order of nodes that nobody numbered: natural order of their names.
 *
 * Owns the comparison (n2 before n10, case ignored) and its ties: address, then pid. Which
 * place a node gets is the matter of members.h.
 */
#ifndef MUSTER_LAUNCHER_CORE_NODE_ORDER_H
#define MUSTER_LAUNCHER_CORE_NODE_ORDER_H

#include <stdint.h>

struct node_identity {
    const char *name;    /* host name */
    const char *address; /* numeric */
    int64_t pid;
};

/* Below, equal to or above 0, as strcmp. Digit runs count as numbers; where that leaves two
 * names equal their bytes decide, so that 0 means the same bytes. */
int node_name_compare(const char *a, const char *b);

/* Total order of nodes: name, address (as a number within a family, IPv4 first), pid. */
int node_compare(const struct node_identity *a, const struct node_identity *b);

#endif
