/* nccl_interface.h - which network interface NCCL would take for its bootstrap.
 *
 * The rules are those of NCCL's socket transport (ncclFindInterfaces of 2.30): a list in
 * NCCL_SOCKET_IFNAME alone counts if it is set; else the first that has anything of: ib*; the
 * subnet of NCCL_COMM_ID; all but docker*, lo*, virbr*; docker*; lo*; virbr*. Interfaces count
 * in the kernel's order, each with its first address of the family in NCCL_SOCKET_FAMILY. IPv6
 * loopback never counts; link-local addresses, veth* and br-* do. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_NCCL_INTERFACE_H
#define MUSTER_LAUNCHER_CORE_NCCL_INTERFACE_H

#include "launcher/core/evidence.h"

/* The address that NCCL would use, from ev->addresses and ev->settings; NULL if it would find
 * none. */
const struct evidence_address *nccl_interface_predict(const struct host_evidence *ev);

#endif
