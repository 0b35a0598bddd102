/* head_nodes.h - the nodes of other processes: their links, their output and input, and who
 * starts them. What comes from them becomes events.
 *
 * A part of the head's driver, on the state of driver_head_state.h.
 */
#ifndef MUSTER_LAUNCHER_IO_HEAD_NODES_H
#define MUSTER_LAUNCHER_IO_HEAD_NODES_H

#include <sys/resource.h>

#include "launcher/io/driver_head_state.h"

/* Makes d->links, unless there is no other process: from here on nodes may come. */
void head_nodes_open(struct driver_head *d);

/* Starts them, with what their output and input need. nofile: as their commands get it. */
void head_nodes_start(struct driver_head *d, const struct facts *facts,
                      const struct rlimit *nofile);

/* Somebody at the port who speaks as a node, as in port.h; ctx: the driver. */
void head_nodes_accept(void *ctx, struct uv_tcp_s *tcp, struct str first);

#endif
