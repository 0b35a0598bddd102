/* sim.h - one job machine and many node machines in a world of virtual time: networks that are
 * slow or cut, agents that do not start, processes that do not die, nodes that freeze.
 *
 * Drives the same object code as the launcher. Effects become future events; idle time is
 * skipped; a seed decides everything. Each run is held to the invariants in check.c.
 * Kernel, NCCL and sockets are not simulated.
 */
#ifndef MUSTER_TESTS_SIM_SIM_H
#define MUSTER_TESTS_SIM_SIM_H

#include <stdbool.h>
#include <stdio.h>

#include "launcher/core/verdict.h"

/* X(name, what is injected) */
#define SIM_FAULTS(X)                                                                          \
    X(EXIT, "a worker exits with arg")                                                         \
    X(CRASH, "a worker dies of signal arg")                                                    \
    X(EXEC, "a worker's program cannot be executed, errno arg")                                \
    X(FORK, "a worker cannot be forked, errno arg")                                            \
    X(DEAF, "a worker ignores every signal but SIGKILL")                                       \
    X(UNKILLABLE, "a worker survives SIGKILL")                                                 \
    X(HANG, "a worker stands still from arg ms on: no heartbeat, no output, no end")           \
    X(SLOW_EXIT, "a worker takes arg ms to follow SIGTERM")                                    \
    X(CHILD, "a worker leaves a child with its pipe, which ends at SIGTERM")                   \
    X(CHILD_DEAF, "the same, which ends at SIGKILL only")                                      \
    X(CHILD_GHOST, "a process out of reach keeps the pipe for ever")                           \
    X(REFUSE, "a node cannot prepare what it should run")                                      \
    X(AGENT_SLOW, "a node comes arg ms late")                                                  \
    X(AGENT_REFUSED, "a node cannot be started on, at arg ms")                                 \
    X(AGENT_HANGS, "a node never comes")                                                       \
    X(SSH_SLOW, "a login on a node takes arg ms more")                                         \
    X(SSH_REFUSED, "nobody can log in on a node")                                              \
    X(SSH_INNER, "a node cannot log in on others")                                             \
    X(SSH_STALLS, "a node that should start others does not")                                  \
    X(DIE, "a node loses power; its connections are reset")                                    \
    X(VANISH, "a node loses power; nothing tells")                                             \
    X(FREEZE, "a node stands still for arg ms")                                                \
    X(CUT, "the network of a node is cut")                                                     \
    X(DEAF_UP, "what a node says does not arrive any more")                                    \
    X(DEAF_DOWN, "what a node should hear does not arrive any more")                           \
    X(BLOCK, "nobody reads the output of a node for arg ms; 0 = for ever")                     \
    X(SIGNAL, "muster gets signal arg")                                                        \
    X(SUSPEND, "Ctrl-Z, and fg after arg ms")

enum sim_fault_kind {
#define X(name, what) SIM_##name,
    SIM_FAULTS(X)
#undef X
        SIM_FAULT_COUNT
};

struct sim_fault {
    enum sim_fault_kind kind;
    uint32_t node, local_rank;
    uint32_t generation; /* of workers' faults */
    uint64_t at_ms;      /* since the start; of workers' faults since their start */
    uint64_t arg;
};

enum { SIM_FAULTS_MAX = 6 };

struct sim_config {
    uint32_t nodes, workers;
    uint64_t seed;
    uint32_t max_restarts;
    uint64_t restart_delay_ms, min_uptime_ms;
    uint64_t grace_ms, timeout_ms, run_ms; /* run: how long a worker works */
    uint64_t heartbeat_ms, silence_ms;     /* workers then beat and write each second */
    bool is_mpi;
    uint64_t look_ms;   /* how often somebody asks what the ranks do; 0 = nobody does */
    const char *notice; /* --preempt-signal, NULL = none */
    bool has_ssh;       /* agents come by ssh; else by themselves */
    uint32_t radix;     /* then: of the tree, 0 = the head starts all */
    struct sim_fault faults[SIM_FAULTS_MAX];
    size_t nfaults;
    FILE *trace; /* events and effects as text; NULL = none */
};

struct sim_result {
    enum verdict_kind kind;
    uint32_t rank, node, generation;
    int status;
    uint64_t done_ms, steps, hash;
    uint64_t frames, bytes; /* at the head, both ways, without beats and samples */
    /* Looks that had to wait, the longest; questions to nodes, answers, the longest of these.
     */
    uint64_t looks, look_ms_max, samples_asked, samples, sample_bytes_max;
    /* With ssh: the head's own logins; records, first words and status lines at the head; when
     * the last node had its link; agents that came twice. */
    uint64_t logins, start_messages, start_bytes, joined_ms, farewells;
    char broken[160]; /* the first invariant that did not hold; "" = all did */
};

const char *sim_fault_name(enum sim_fault_kind kind);
const char *sim_fault_text(enum sim_fault_kind kind);

void sim_run(const struct sim_config *config, struct sim_result *result);

#endif
