/* listen_addr.h - where something is served, as a user writes it. Pure; the grammar of
 * HOST:PORT itself is addr.h's.
 */
#ifndef MUSTER_LAUNCHER_CORE_LISTEN_ADDR_H
#define MUSTER_LAUNCHER_CORE_LISTEN_ADDR_H

#include "rendezvous/addr.h"

/* "HOST:PORT", or ":PORT" and "PORT" for 127.0.0.1, which this machine alone reaches; port 0 =
 * any free one. 0, or -1 with ERR_USAGE: what is wrong and what would be right. */
int listen_addr_parse(struct str text, struct addr *out, struct err *e);

#endif
