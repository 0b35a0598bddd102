/* node_places.h - the places (node ranks) of a job and who holds them.
 *
 * Owns who may take which place: a free one, or one whose node was lost, so that a replacement
 * gets the rank of the node that it replaces. Two nodes that claim one place are both named.
 * Does not know links or ranks of workers.
 */
#ifndef MUSTER_CORE_NODE_PLACES_H
#define MUSTER_CORE_NODE_PLACES_H

#include <stdint.h>

#include "base/err.h"

enum { NODE_PLACE_ANY = -1 };

struct node_places;

/* n places, all free. */
struct node_places *node_places_new(uint32_t n);
void node_places_free(struct node_places *places);

/* Gives a place to the node called host: the one that it wants, or with NODE_PLACE_ANY the
 * place that a node of this name lost, else the first lost one, else the first free one. The
 * place, or -1 with ERR_USAGE: out of range, or held by another node. */
int64_t node_places_take(struct node_places *places, int64_t wanted, const char *host,
                         struct err *e);

/* The node of this place, which must be held, is lost. */
void node_places_lose(struct node_places *places, uint32_t place);

/* Name of the node that holds the place, or held it last; NULL while it is free. */
const char *node_places_host(const struct node_places *places, uint32_t place);

/* How many places nobody holds. */
uint32_t node_places_left(const struct node_places *places);

#endif
