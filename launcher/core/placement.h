/* placement.h - the cores and the memory node of each rank, from the topology table.
 *
 * Owns the rules of --cpu-bind. Pure: the table comes from io (hwloc), the masks go to whoever
 * starts workers. A wrong binding is worse than none, so whatever is unknown stays unbound.
 */
#ifndef MUSTER_LAUNCHER_CORE_PLACEMENT_H
#define MUSTER_LAUNCHER_CORE_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum { CPU_SET_MAX = 4096 };

/* CPUs by number; a value, all-zero is empty. */
struct cpu_set {
    uint64_t words[CPU_SET_MAX / 64];
};

void cpu_set_add(struct cpu_set *s, int cpu); /* out of range: ignored */
bool cpu_set_has(const struct cpu_set *s, int cpu);
int cpu_set_count(const struct cpu_set *s);

/* "0-3,16" both ways; parse takes decreasing or empty lists as errors: 0 or -1. */
int cpu_set_parse(struct str text, struct cpu_set *out);
void cpu_set_format(const struct cpu_set *s, struct buf *out);

/* One logical CPU. core, node, package and llc are numbers of their own within the machine (-1
 * = unknown); node is the operating system's. */
struct topology_cpu {
    int cpu, core, node, package, llc;
};

/* Where a PCI device hangs: the GPU's key is its bus id, never a rank or an ordinal. */
struct topology_pci {
    char pci[20]; /* as NVML writes it */
    int node;     /* -1 = unknown */
};

struct topology {
    struct topology_cpu *cpus; /* owned by whoever made the table; ascending in cpu */
    int ncpus;
    struct topology_pci *devices;
    int ndevices;
    int nnodes;
    struct cpu_set allowed; /* the launcher's own mask */
};

/* X(name, spelling). `list:` is not here: it names CPUs and needs no topology. */
#define CPU_BINDS(X)                                                                           \
    X(NONE, "none")                                                                            \
    X(NODE, "node")           /* all allowed CPUs of the GPU's NUMA node */                    \
    X(SOCKET, "socket")       /* all allowed CPUs of its package */                            \
    X(EXCLUSIVE, "exclusive") /* the node's cores split among the ranks there */               \
    X(LLC, "llc")             /* one last-level cache group of the node per rank */

#define X(name, spelling) CPU_BIND_##name,
enum cpu_bind { CPU_BINDS(X) CPU_BIND_COUNT };
#undef X

/* A spelling of CPU_BINDS. 0, or -1 for another one. */
int cpu_bind_parse(struct str s, enum cpu_bind *out);

/* A value of --cpu-bind taken apart; lists is what follows `list:`, borrowed, else p is NULL.
 */
struct cpu_request {
    enum cpu_bind bind;
    struct str lists;
};

/* A mode, or `list:` with CPU lists by local rank between ; or :. 0, or -1 for an unknown mode
 * or a list that cannot be read. */
int cpu_request_parse(struct str s, struct cpu_request *out);

/* Takes the next list; false when none is left. *list is valid if cpu_request_parse was
 * content. */
bool cpu_lists_next(struct str *lists, struct cpu_set *list);

/* The default: node where there are several NUMA nodes and the launcher's own mask is the whole
 * machine; none where somebody has already narrowed it. */
enum cpu_bind placement_default(const struct topology *t);

struct rank_cpus {
    bool bound;
    struct cpu_set cpus;
    int mem_node; /* preferred NUMA node, -1 = no policy */
};

enum {
    PLACEMENT_CPU_EMPTY = 1, /* W_CPU_EMPTY: no allowed CPU near the GPU: left unbound */
    PLACEMENT_CPU_FEW = 2    /* W_CPU_FEW: fewer cores than ranks: shared, as `node` */
};

/* Plans n ranks; pci[r] is the bus id of rank r's first GPU, NULL = none. Fills out[0..n) and
 * returns PLACEMENT_ bits. */
unsigned placement_plan(const struct topology *t, enum cpu_bind bind, const char *const *pci,
                        int n, struct rank_cpus *out);

/* What a rank has of the cores: cores of its mask, ranks on the one of them that most share,
 * and the whole cores that are left to it (a core with k ranks counts 1/k), at least 1. */
struct core_share {
    uint32_t cores, sharers, threads;
};

/* Fills out[0..n) for ranks as planned; an unbound one runs on all that is allowed. */
void placement_shares(const struct topology *t, const struct rank_cpus *ranks, int n,
                      struct core_share *out);

#endif
