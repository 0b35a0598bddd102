/* env.h - what the launcher said: rank, size, store, device; and what is wrong with it.
 *
 * Reads the names of rendezvous/contract.h through a function given by the caller, so that it
 * is pure. Decides what is missing and says which command would be right.
 */
#ifndef MUSTER_WORKER_ENV_H
#define MUSTER_WORKER_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Strings point into the environment that get read. */
struct env {
    uint32_t rank, world_size, local_rank, local_world_size, node_rank, nodes;
    const char *master_addr; /* NULL: a lone rank without a store */
    uint16_t master_port;
    uint32_t generation;
    const char *job_id;    /* "" if unknown */
    const char *binding;   /* NULL if the launcher is not muster */
    const char *gpu_uuid;  /* planned UUID, NULL if none */
    const char *gpu_pci;   /* planned PCI bus id, NULL if none */
    uint32_t cuda_ordinal; /* the device that the binding mode means */
};

/* get returns the value of a variable or NULL. -1 with ERR_USAGE. */
int env_read(struct env *env, const char *(*get)(void *ctx, const char *name), void *ctx,
             struct err *e);

#endif
