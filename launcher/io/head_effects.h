/* head_effects.h - carries out what the head machine has decided.
 *
 * A part of the head's driver, on the state of driver_head_state.h.
 */
#ifndef MUSTER_LAUNCHER_IO_HEAD_EFFECTS_H
#define MUSTER_LAUNCHER_IO_HEAD_EFFECTS_H

#include "launcher/io/driver_head_state.h"

/* FX_DONE closes all that the driver has opened. Those of a node are none. */
void head_effects_apply(struct driver_head *d, const struct effect *fx);

#endif
