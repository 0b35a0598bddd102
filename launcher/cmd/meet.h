/* meet.h - the same command on every node: finds out whether this one is the head, that is,
 * whether the endpoint is one of its own addresses and nobody else of the job has it.
 */
#ifndef MUSTER_LAUNCHER_CMD_MEET_H
#define MUSTER_LAUNCHER_CMD_MEET_H

#include "launcher/cmd/outcome.h"
#include "launcher/core/facts.h"
#include "launcher/core/options.h"
#include "launcher/io/driver_head.h"

/* Runs this node's part of the job at opt->rdzv_endpoint; as_head runs it if this node is the
 * head, and fails with e->sys == EADDRINUSE if it is not. out: how the whole job ended. 0, or
 * -1 with ERR_USAGE (the endpoint, the secret) or ERR_UNAVAILABLE (no such name) before
 * anything was started. */
int meet(const struct options *opt, const struct facts *facts,
         int (*as_head)(const struct options *opt, const struct facts *facts,
                        const struct head_net *net, struct outcome *out, struct err *e),
         struct outcome *out, struct err *e);

#endif
