/* addr.h - addresses as text: where the rendezvous is, what may be dialled, in which order.
 *
 * Owns the grammar of HOST:PORT and the order of candidates. Looks up no name and asks no
 * interface: names are resolved, and lists filled, by the caller. Pure.
 */
#ifndef MUSTER_RENDEZVOUS_ADDR_H
#define MUSTER_RENDEZVOUS_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum {
    ADDR_HOST_MAX = 253,     /* bytes of a host name (RFC 1035) */
    ADDR_CANDIDATES_MAX = 32 /* more are not dialled */
};

/* A host, by name or numeric address without brackets, and a port. */
struct addr {
    char host[ADDR_HOST_MAX + 1];
    uint16_t port;
};

/* Numeric addresses that somebody else owns. */
struct addr_list {
    const struct addr *items;
    size_t len;
};

/* "host:port", "host", "1.2.3.4:port", "[v6]:port", "[v6]" or "v6", blanks around it ignored.
 * A bare IPv6 address has no port of its own. default_port: what an absent port means, -1 = one
 * has to be given; a port that is given may be 0 to 65535. 0, or -1 with ERR_USAGE: what is
 * wrong and what would be right. */
int addr_parse(struct str text, int default_port, struct addr *out, struct err *e);

/* "host:port", an IPv6 address in brackets. Appended to out. */
void addr_format(const struct addr *a, struct buf *out);

/* Whether the host is a numeric IPv4 or IPv6 address, the latter with or without %zone. */
bool addr_is_numeric(const char *host);

/* 127.0.0.0/8, ::1, the former as IPv4-mapped IPv6, or a name that means one ("localhost"). */
bool addr_is_loopback(const char *host);

/* fe80::/10 and 169.254.0.0/16: mean something on one wire only. */
bool addr_is_link_local(const char *host);

/* The same host, whatever the port: numeric ones by value (::ffff:1.2.3.4 is 1.2.3.4), names
 * without regard to case. A name and a number are never the same: nobody was asked. */
bool addr_is_same_host(const char *a, const char *b);

/* The same host and port. */
bool addr_is_same(const struct addr *a, const struct addr *b);

/* Whether text reads as a subnet, "10.1.0.0/16" or "fd00::/8". */
bool addr_is_subnet(struct str text);

/* Whether the numeric host lies in that subnet. An unreadable one holds nobody. */
bool addr_in_subnet(const char *host, struct str subnet);

/* What is known of the head's addresses. */
struct addr_sources {
    struct addr_list chosen; /* --master-addr, --interface, addr=: if any, only these */
    struct addr_list ssh;   /* as the nodes' ssh servers see it: first word of SSH_CONNECTION */
    struct addr_list route; /* source addresses of the routes to the hosts */
    struct addr_list own;   /* all others, loopback too */
    struct addr_list shared; /* addresses that another node has as well: offered to nobody */
};

/* The candidates in the order in which they are dialled, each once: chosen alone; else ssh,
 * route, own, loopback last. Of the others than chosen, link-local, unspecified and shared ones
 * are left out. Every one gets this port. Returns how many, at most ADDR_CANDIDATES_MAX. */
size_t addr_candidates(const struct addr_sources *from, uint16_t port,
                       struct addr out[ADDR_CANDIDATES_MAX]);

#endif
