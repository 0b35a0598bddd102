/* join.h - one rank of the job: from the environment to a backend that all ranks are in.
 *
 * Owns the order of the phases started ... init_done and what ends after a failure. Chooses the
 * backend and says why. Functions return 0 or a status of status.h.
 */
#ifndef MUSTER_WORKER_JOIN_H
#define MUSTER_WORKER_JOIN_H

#include "worker/backend.h"
#include "worker/bind.h"
#include "worker/env.h"
#include "worker/options.h"
#include "worker/phase.h"
#include "worker/result.h"
#include "worker/shared.h"

struct library; /* NCCL and what the bootstrap needs; NULL in a build without it */

struct worker {
    struct env env;
    struct options options;
    struct store_client *client;
    struct phases *phases;
    bool is_host;
    char why[192]; /* why this backend */
    char host[64];
    struct device device;
    struct shared *shared;
    struct ring *ring;  /* host backend, several nodes: of local rank 0 */
    uint32_t *first_of; /* lowest rank of each node, then world_size */
    struct backend *backend;
    struct library *library;
    uint16_t ras_port;  /* of NCCL's RAS on this machine, 0 if there is none to ask */
    uint64_t max_bytes; /* agreed size of a buffer */
    struct result result;
    uint64_t own_wrong; /* elements and bytes that this rank found wrong */
};

/* Connects to the store; phase started. options and env are already there. */
int worker_open(struct worker *w, struct err *e);

/* Chooses the backend, selects the device, writes the record, compares the ranks' records;
 * phase cuda_ok. Rank 0 fills result.ranks. */
int worker_bind(struct worker *w, struct err *e);

/* Phases uid_seen to init_done; then the backend is ready to alloc. */
int worker_join(struct worker *w, struct err *e);

/* Phases verify and bye: all ranks get the status that rank 0 gives; closes the backend. */
int worker_agree(struct worker *w, int *status, struct err *e);
int worker_leave(struct worker *w, struct err *e);

/* Frees what is left. Not after an error: libraries may hang then, the process just ends. */
void worker_close(struct worker *w);

#endif
