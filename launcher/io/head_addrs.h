/* head_addrs.h - under which addresses the agents of a list look for the head.
 *
 * Owns what comes first: --interface, from the command line or the environment; what the list
 * says of this machine (addr=, iface=); else all addresses of this machine, loopback last.
 */
#ifndef MUSTER_LAUNCHER_IO_HEAD_ADDRS_H
#define MUSTER_LAUNCHER_IO_HEAD_ADDRS_H

#include "launcher/io/agents.h"

/* Into out, in the order in which they are to be tried, without ports; *n of them, at least 1.
 * Of a, heads and nheads are not looked at. 0, or -1 with ERR_USAGE: this machine does not have
 * what was chosen, or the list has loopback for one of several machines; ERR_UNAVAILABLE: it
 * has no address. Errors about the list name host and line. May look up a name, once. */
int head_addrs_find(const struct agents *a, struct addr out[ADDR_CANDIDATES_MAX], size_t *n,
                    struct err *e);

#endif
