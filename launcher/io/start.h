/* start.h - one command that starts an agent, or several: from its turn to its end, over all
 * tries; what it says and what its failure means.
 *
 * A part of remotes.h, on the state of remotes_state.h.
 */
#ifndef MUSTER_LAUNCHER_IO_START_H
#define MUSTER_LAUNCHER_IO_START_H

#include "launcher/io/remotes_state.h"

/* Takes over the words of command->argv, copies the rest. */
struct start *start_new(struct remotes *r, const struct remote_command *command);

/* A try, the first or another one. */
void start_one(struct start *m);

void start_free(struct start *m);

#endif
