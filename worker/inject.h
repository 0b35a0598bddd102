/* inject.h - faults that the user asks for with --inject, to see them named. Pure. */
#ifndef MUSTER_WORKER_INJECT_H
#define MUSTER_WORKER_INJECT_H

#include <stdint.h>

#include "base/err.h"
#include "worker/phase_table.h"

enum inject_kind {
    INJECT_NONE,
    INJECT_CORRUPT,  /* flip a bit of a result */
    INJECT_SLOW,     /* sleep before each operation */
    INJECT_SLOWLINK, /* sleep before each operation of one pair of ranks alone */
    INJECT_HANG,     /* stop for ever before a phase */
    INJECT_DIE,      /* end before a phase */
    INJECT_LATE,     /* sleep before a phase */
};

struct inject {
    enum inject_kind kind;
    uint32_t rank, a, b; /* slowlink: a and b, others rank */
    enum phase phase;
    uint64_t size_bytes; /* corrupt: 0 = every size */
    uint64_t ms;         /* slow, slowlink, late */
    int signal;          /* die: 0 = exit status 1 */
};

/* "slow:rank=R,ms=N"; the whole grammar is in the message. 0, or -1 with ERR_USAGE. */
int inject_parse(struct inject *out, const char *value, struct err *e);

#endif
