/* open_files.h - how many files muster has to have open at a time, at the head of a job over
 * several nodes and on a node for its ranks, and whether it may.
 *
 * Counts what is certain before anything runs: a limit that is too low is said then, and not by
 * the host or the rank at which it is reached. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_OPEN_FILES_H
#define MUSTER_LAUNCHER_CORE_OPEN_FILES_H

#include <stdint.h>

#include "base/err.h"

enum {
    OPEN_FILES_OWN = 48,      /* muster's own, and some room for those who knock at the port */
    OPEN_FILES_A_COMMAND = 4, /* three pipes and the process */
    OPEN_FILES_OF_NODE = 16,  /* muster's own, the least that it does with */
    OPEN_FILES_A_RANK = 3,    /* two pipes and the process */
};

struct open_files {
    uint32_t nnodes;    /* a link each */
    uint64_t nranks;    /* a connection to the store each; at least so many as will be */
    uint32_t ncommands; /* that start agents from here; they stay as long as the job */
};

/* How many that is in all. */
uint64_t open_files_need(const struct open_files *f);

/* limit: the hard one, UINT64_MAX = none. 0, or -1 with ERR_USAGE, which says what would do. */
int open_files_check(const struct open_files *f, uint64_t limit, struct err *e);

/* The same on a node for its ranks, without what one may want besides. limit 0: not known. */
int open_files_check_node(uint32_t nranks, uint64_t limit, struct err *e);

#endif
