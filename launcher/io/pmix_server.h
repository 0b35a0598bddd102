/* pmix_server.h - PMIx for the ranks of a node, by the server that libpmix has inside.
 *
 * libpmix answers its clients on threads of its own. What it asks muster there is noted under a
 * lock, or handed to the loop's thread. The library knows one server a process.
 */
#ifndef MUSTER_LAUNCHER_IO_PMIX_SERVER_H
#define MUSTER_LAUNCHER_IO_PMIX_SERVER_H

#include "launcher/io/mpi_service.h"

/* Where muster was built without PMIx its open fails and says so. */
extern const struct mpi_service pmix_service;

#endif
