/* bootstrap_store.h - gives every rank NCCL's ids through the store and tries the way to them.
 *
 * The phases uid_seen and reach. No MPI; the id is made by ranks, never by the launcher, since
 * NCCL's listener lives in the process that made it.
 */
#ifndef MUSTER_WORKER_BOOTSTRAP_STORE_H
#define MUSTER_WORKER_BOOTSTRAP_STORE_H

#include "worker/env.h"
#include "worker/nccl_api.h"
#include "worker/phase.h"

struct bootstrap {
    ncclUniqueId *ids; /* n of them; freed by bootstrap_fini */
    uint32_t n;
    int listener;   /* beside an id of this rank, -1 if none */
    char root[192]; /* "host a, eth0, 192.0.2.2:58409" on rank 0, else "" */
};

/* All ranks together; 0 or a status. host: this rank's host name. */
int bootstrap_ids(struct bootstrap *b, struct phases *p, const struct env *env,
                  const struct nccl *api, const char *host, struct err *e);
int bootstrap_reach(struct bootstrap *b, struct phases *p, const struct env *env,
                    struct err *e);

/* Before NCCL is loaded: the ranks of a node agree on NCCL_RAS_ADDR where it is unset, as jobs
 * must not share NCCL's default port. *port: of RAS on this machine, 0 if it is elsewhere. */
int bootstrap_ras(struct phases *p, const struct env *env, uint16_t *port, struct err *e);

/* The caller's memory; fini closes the listener and frees the ids. */
void bootstrap_init(struct bootstrap *b);
void bootstrap_fini(struct bootstrap *b);

#endif
