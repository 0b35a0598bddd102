/* slurm_text.h - the lists that Slurm writes into the environment.
 *
 * Owns SLURM_*_TASKS_PER_NODE; node lists have the grammar of --hosts, so they are hostfile's.
 * Does not decide what they mean for us: that is engine_detect's.
 *
 *   tasks := N [ "(x" M ")" ] { "," ... }        N tasks on each of the next M nodes
 */
#ifndef MUSTER_LAUNCHER_CORE_SLURM_TEXT_H
#define MUSTER_LAUNCHER_CORE_SLURM_TEXT_H

#include "launcher/core/host_list.h"

/* Fills tasks[0..nnodes) from the value of the variable called name. ERR_HOSTFILE: E_NUMBER or
 * E_RANGE at an item, E_CONFLICT where it speaks of another number of nodes. */
int slurm_tasks_parse(const char *value, const char *name, uint32_t nnodes, uint32_t *tasks,
                      struct host_fault *fault, struct err *e);

#endif
