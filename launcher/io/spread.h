/* spread.h - a job over the hosts of a list: how each one's agent is started, and what it is
 * told once it has its link.
 *
 * Owns the list, the job's secret and what travels. Starting is remotes'; who is let in is the
 * link's and the job's.
 */
#ifndef MUSTER_LAUNCHER_IO_SPREAD_H
#define MUSTER_LAUNCHER_IO_SPREAD_H

#include "launcher/core/link_wire.h"
#include "launcher/core/options.h"
#include "launcher/io/remotes.h"
#include "rendezvous/link_auth.h"

struct spread;

/* Reads the list and all that has to be right before anything is started: the filters, the
 * variables, the program that starts agents. args: the command line to be repeated there. NULL
 * with ERR_HOSTFILE
 * (*text has the whole message, several lines; initialised by the caller), ERR_USAGE,
 * ERR_NOT_FOUND or ERR_SYSTEM. */
struct spread *spread_new(const struct options *opt, char *const *args, struct buf *text,
                          struct err *e);
void spread_free(struct spread *s);

uint32_t spread_nodes(const struct spread *s);
const struct link_key *spread_key(const struct spread *s);

/* A numeric address of this machine, for the workers of this process. */
const char *spread_reach(const struct spread *s);

/* Adds a command for each host: its agent will look for the head at this port. 0, or -1 with
 * ERR_USAGE, and then not all were added. */
int spread_add(struct spread *s, uint16_t port, struct remotes *r, struct err *e);

/* The SETUP message of a host. 0, or -1 with ERR_USAGE: there is no such host, or what it
 * should be told is too much. */
int spread_setup(const struct spread *s, uint32_t node, struct buf *out, struct err *e);

/* What reports call it. */
const char *spread_host(const struct spread *s, uint32_t node);

#endif
