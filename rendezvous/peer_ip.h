/* peer_ip.h - the address of one end of a connection as 16 bytes, IPv4 mapped into IPv6, so
 * that it can be compared and kept. What an address as text means decides addr.h. Pure.
 */
#ifndef MUSTER_RENDEZVOUS_PEER_IP_H
#define MUSTER_RENDEZVOUS_PEER_IP_H

#include <stdbool.h>

#include "base/buf.h"

struct sockaddr;

struct peer_ip {
    unsigned char bytes[16];
};

/* All zero for a family other than IPv4 and IPv6. A zone is not kept. */
struct peer_ip peer_ip_from(const struct sockaddr *addr);

bool peer_ip_is_same(const struct peer_ip *a, const struct peer_ip *b);

bool peer_ip_is_v4(const struct peer_ip *ip);

/* 127.0.0.0/8 and ::1. */
bool peer_ip_is_loopback(const struct peer_ip *ip);

/* "10.0.0.7", "fd00::7". Appended to out. */
void peer_ip_format(const struct peer_ip *ip, struct buf *out);

#endif
