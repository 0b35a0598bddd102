/* driver_head.h - runs the head machine: owns the loop, the port with the rendezvous store, the
 * signals and the nodes' links. Turns what happens into events and effects into calls; decides
 * nothing.
 */
#ifndef MUSTER_LAUNCHER_IO_DRIVER_HEAD_H
#define MUSTER_LAUNCHER_IO_DRIVER_HEAD_H

#include "launcher/core/facts.h"
#include "launcher/core/job.h"
#include "launcher/core/node_plan.h"
#include "launcher/core/options.h"
#include "rendezvous/link_auth.h"

struct port;
struct spread;

/* Where nodes of other processes come in. Borrowed. */
struct head_net {
    const char *listen; /* numeric address, "" = every one */
    const char *reach;  /* numeric address for the workers of this process */
    uint16_t port;
    const struct link_key *key;
    uint32_t nnodes;
    struct spread
        *spread; /* NULL: others start the nodes, and one of them is in this process */
};

/* Who is told what only the head knows, on the way to the job's end. Each may be NULL. */
struct head_sink {
    void *ctx;
    /* Of a job with opt->is_plan, once a node and only if no node refused (then the verdict is
     * VERDICT_OK). plan and program (the path that would be executed) are valid during the
     * call. */
    void (*on_plan)(void *ctx, const struct node_plan *plan, const char *program);
    /* The job is done; its store is still there, during the call. */
    void (*on_done)(void *ctx, const struct job *job, const struct port *port);
};

/* Runs the job to its end: afterwards no worker is left and every handle is closed. net: NULL =
 * all is in this process. sink: NULL = nobody asks. With opt->is_plan nothing starts and no
 * file is made. 0 and a job that is done, or -1 with ERR_UNAVAILABLE (the port cannot be had;
 * e->sys says why) or ERR_SYSTEM, before anything was started. */
int driver_head_run(struct job *job, const struct options *opt, const struct facts *facts,
                    const struct head_net *net, const struct head_sink *sink, struct err *e);

#endif
