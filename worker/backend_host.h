/* backend_host.h - collectives in memory and over TCP, for machines without GPUs.
 *
 * Makes the whole program testable anywhere; its bandwidth says nothing about GPUs. The ranks
 * of a node share memory (shared.h); with several nodes the first rank of each is a member of a
 * ring over TCP (ring.h). All types and operations.
 */
#ifndef MUSTER_WORKER_BACKEND_HOST_H
#define MUSTER_WORKER_BACKEND_HOST_H

#include "worker/backend.h"
#include "worker/host_move.h"

/* Borrows what setup points to; it must outlive the backend. */
struct backend *backend_host_new(const struct host_setup *setup);

#endif
