/* peers.h - how many connections of PyTorch 1.13 each address has, and how many silent ones
 * may stay.
 *
 * A store object of 1.13 opens a second connection that says nothing for life; closing it makes
 * the worker spin or abort. So an address may keep as many silent connections as it has live
 * 1.13 ones. Pure; addresses are 16 bytes, IPv4 mapped into IPv6.
 */
#ifndef MUSTER_RENDEZVOUS_PEERS_H
#define MUSTER_RENDEZVOUS_PEERS_H

#include <stdbool.h>

#include "rendezvous/peer_ip.h"

struct peers;

struct peers *peers_new(void);
void peers_free(struct peers *p);

void peers_legacy_begin(struct peers *p, const struct peer_ip *ip);
void peers_legacy_end(struct peers *p, const struct peer_ip *ip);

/* Whether one more silent connection of this address may stay; if so it is counted until
 * peers_silent_end. */
bool peers_silent_keep(struct peers *p, const struct peer_ip *ip);
void peers_silent_end(struct peers *p, const struct peer_ip *ip);

#endif
