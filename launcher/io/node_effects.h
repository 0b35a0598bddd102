/* node_effects.h - carries out what the node machine has decided: workers are prepared,
 * started, signalled and reaped.
 *
 * A part of a node's driver, on the state of driver_node_state.h.
 */
#ifndef MUSTER_LAUNCHER_IO_NODE_EFFECTS_H
#define MUSTER_LAUNCHER_IO_NODE_EFFECTS_H

#include "launcher/io/driver_node_state.h"

/* Those of the head are none. */
void node_effects_apply(struct driver_node *d, const struct effect *fx);

/* Tells the machine how many descendants, besides the workers, are left. */
void node_effects_swept(struct driver_node *d, uint32_t left);

#endif
