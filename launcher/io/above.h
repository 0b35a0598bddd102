/* above.h - who started us, as the kernel knows it: the names of our ancestors. */
#ifndef MUSTER_LAUNCHER_IO_ABOVE_H
#define MUSTER_LAUNCHER_IO_ABOVE_H

#include <stdbool.h>

/* Whether some ancestor is a launcher of MPI's, Slurm's or Flux's, by its name. What the
 * environment says of one that is not there is stale: a shell, or a container, that kept it. */
bool above_is_launcher(void);

#endif
