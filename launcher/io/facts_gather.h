/* facts_gather.h - asks the machine and the environment what core may know. Starts nothing,
 * changes nothing. */
#ifndef MUSTER_LAUNCHER_IO_FACTS_GATHER_H
#define MUSTER_LAUNCHER_IO_FACTS_GATHER_H

#include "base/err.h"
#include "launcher/core/facts.h"
#include "launcher/core/options.h"
#include "launcher/io/probe.h"

/* What to ask of the GPUs, which takes longer than all else. */
enum facts_gpus {
    FACTS_NO_GPUS,
    FACTS_GPUS,
    FACTS_GPUS_LOAD /* also how busy they are */
};

/* What a run with these options needs to know of them. */
enum facts_gpus facts_gpus_for(const struct options *opt);

/* out borrows the
 * process's environment; release with facts_release. 0, or -1 with ERR_SYSTEM for an inventory
 * that exists but cannot be read. */
int facts_gather(enum facts_gpus gpus, struct facts *out, struct err *e);

/* Adds the topology where CPUs may have to be bound: cpu_bind (the option's value, NULL = not
 * given) asks for it, or GPUs are known and the CPUs are in several NUMA nodes; then it takes
 * some 10 ms, else at most one small file is read. Never fails: without a topology nothing is
 * bound, which is a warning only where it was asked for. */
void facts_gather_topology(const char *cpu_bind, struct facts *facts);

/* The GPUs alone, for facts that were gathered without: *found says where from, why has the
 * reason if nothing tells of them. Where numbers can only be understood with CUDA's own order,
 * asks for it (probe_order); without an answer a warning says so. */
int facts_gather_gpus(struct facts *facts, bool with_load, enum probe_source *found,
                      struct err *why, struct err *e);

/* Releases what the three have gathered. */
void facts_release(struct facts *facts);

#endif
