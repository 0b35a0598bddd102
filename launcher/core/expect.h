/* expect.h - the bus bandwidth that a group of GPUs should reach, from how they are connected.
 *
 * The model is NCCL's own (its tables of link speeds, src/graph/topo.h): a large all-reduce
 * runs as a ring, and a ring is as fast as its slowest hop. NVLink SHARP can only be faster, so
 * it is not asked for. Two GPUs reach 93 % of their NVLinks, however large the message
 * (measured, docs/benchmarks.md). GB/s are 1e9 bytes in one direction. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_EXPECT_H
#define MUSTER_LAUNCHER_CORE_EXPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* X(id, word, GB/s of a hop through it): what joins the two halves of a machine. */
#define EXPECT_CPUS(X)                                                                         \
    X(UNKNOWN, "this CPU", 0)                                                                  \
    X(AMD, "AMD", 16)                                                                          \
    X(BROADWELL, "Broadwell", 6)                                                               \
    X(SKYLAKE, "Skylake", 10)                                                                  \
    X(SAPPHIRE_RAPIDS, "Sapphire Rapids", 22)                                                  \
    X(EMERALD_RAPIDS, "Emerald Rapids", 40)

enum expect_cpu {
#define X(id, word, gbs) EXPECT_CPU_##id,
    EXPECT_CPUS(X)
#undef X
        EXPECT_CPU_COUNT
};

/* The CPU that /proc/cpuinfo describes by vendor, family and model; -1 where it says nothing.
 */
enum expect_cpu expect_cpu_of(const char *vendor, int family, int model);

/* What the driver answers for a pair of GPUs. */
enum expect_p2p { EXPECT_P2P_UNKNOWN, EXPECT_P2P_OK, EXPECT_P2P_NONE };

struct expect_gpu {
    char pci[20];                  /* "00000000:65:00.0" */
    int cc_major, cc_minor;        /* compute capability; 0.0 = unknown */
    int numa;                      /* -1 = unknown */
    unsigned links;                /* NVLinks that are active */
    unsigned switch_links;         /* of these, those that end in a switch */
    unsigned pcie_gen, pcie_width; /* what it can do where it is; 0 = unknown */
};

/* n GPUs of one machine; to[a * n + b]: NVLinks from a straight to b; p2p likewise. */
struct expect_facts {
    struct expect_gpu *gpus;
    size_t n;
    unsigned *to;
    enum expect_p2p *p2p;
    enum expect_cpu cpu;
};

/* n GPUs of which nothing is known. */
void expect_facts_init(struct expect_facts *f, size_t n);
void expect_facts_fini(struct expect_facts *f);

/* The facts of those of its GPUs whose addresses are named, in any spelling of the domain;
 * false if one of them is not there. Free with expect_facts_fini. */
bool expect_facts_pick(const struct expect_facts *all, const char *const *pci, size_t n,
                       struct expect_facts *out);

struct expectation {
    double gbs;   /* 0: nothing can be said */
    bool is_firm; /* fewer than it is a failure; else a reason to look, no more */
};

/* The GPUs of one machine. why: one line for people, always written. */
struct expectation expect_node(const struct expect_facts *f, struct buf *why);

#endif
