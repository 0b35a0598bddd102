/* topology.h - cores, NUMA nodes and where GPUs hang, from hwloc into placement's plain table.
 *
 * The only place that knows hwloc, which is opened when somebody asks and closed again before
 * anything is returned: muster does not link it, a machine may be without it, and a job without
 * binding pays nothing. Decides nothing about binding: that is placement's.
 *
 * HWLOC_XMLFILE names a topology to read instead of the machine. Unless HWLOC_THISSYSTEM says
 * that it is this machine's, muster's own mask says nothing about it and is left out.
 * MUSTER_HWLOC_PATH names another library than libhwloc.so.15 (tests).
 */
#ifndef MUSTER_LAUNCHER_IO_TOPOLOGY_H
#define MUSTER_LAUNCHER_IO_TOPOLOGY_H

#include "base/err.h"
#include "launcher/core/placement.h"

/* Whether CPUs are in several NUMA nodes, by one small file and without hwloc; true as well
 * where HWLOC_XMLFILE may say so. */
bool topology_has_nodes(void);

/* Fills out; release with topology_release. pci: the bus ids, as NVML writes them, of the n
 * devices to look for; one that is unknown, or as near to one node as to another, gets node -1.
 * own: the mask of this process, NULL = unknown. CPUs that a cgroup forbids are in the table
 * but not in out->allowed. 0, or -1 with ERR_UNAVAILABLE: no library, or a topology that cannot
 * be read; nothing to release then. The environment is the caller's again on return, but must
 * not be read by other threads meanwhile. */
int topology_load(const char *const *pci, int n, const struct cpu_set *own,
                  struct topology *out, struct err *e);
void topology_release(struct topology *t);

#endif
