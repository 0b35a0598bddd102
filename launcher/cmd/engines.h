/* engines.h - how the nodes of a job are started, and which of them this one is: what the
 * command line asks for against what the environment says of who started us.
 */
#ifndef MUSTER_LAUNCHER_CMD_ENGINES_H
#define MUSTER_LAUNCHER_CMD_ENGINES_H

#include "launcher/core/options.h"
#include "launcher/io/agents.h"

/* Fills out, whose texts are the environment's. Sets opt->hosts where the nodes are those of an
 * allocation, opt->node_rank where it was `auto`. 0, or -1 with ERR_USAGE. */
int engines_find(struct options *opt, struct engine_found *out, struct err *e);

#endif
