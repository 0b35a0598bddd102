/* world.h - the simulator's inside: what nodes, links and processes are. sim.c runs the
 * machines and the network, process.c the processes of a node, fence.c their MPI, look.c who
 * looks at them, check.c holds the invariants.
 */
#ifndef MUSTER_TESTS_SIM_WORLD_H
#define MUSTER_TESTS_SIM_WORLD_H

#include "launcher/core/job.h"
#include "launcher/core/node.h"
#include "tests/sim/heap.h"
#include "tests/sim/setup.h"
#include "tests/sim/sim.h"

enum child_kind { CHILD_NONE, CHILD_POLITE, CHILD_TOUGH, CHILD_OUT_OF_REACH };

struct proc {
    bool was_spawned, is_alive, is_stopped, is_deaf, is_unkillable;
    bool has_pipes, is_reaped, has_end; /* has_end: it waits for SIGCONT */
    struct worker_end end;
    uint32_t exit_delay_ms;
    enum child_kind child; /* holds the pipe; CHILD_NONE once it is gone */
    uint64_t hang_ms;      /* it does nothing any more from then on; UINT64_MAX = never */
    uint64_t step, output_ms;
};

struct sim_node {
    struct node *machine;
    struct proc *procs;
    struct err *refusal;
    uint64_t offset_ms; /* its monotonic clock against ours */
    uint64_t tick_ms;   /* earliest pending tick; UINT64_MAX = none */
    uint64_t thaw_ms;   /* frozen until then */
    uint64_t last_up_ms, last_down_ms;
    bool tells_output;                    /* the next output is news */
    uint32_t generation, stop_generation; /* HEAP_ANY = none */
    uint32_t reaped_heard;                /* generation whose REAPED the head got */
    bool is_up, is_dead, is_over, is_lost, is_up_cut, is_down_cut, is_sweeping, is_blocked;
    uint32_t fence;        /* how many its ranks have passed in this generation */
    bool is_in_fence;      /* they wait in the next one */
    bool has_come;         /* and its machine knows it */
    struct buf sampled[2]; /* what it has said of its ranks, by parity of the generation */
    bool is_reaped;        /* the processes of this generation have been collected */
};

struct world {
    const struct sim_config *config;
    struct sim_result *result;
    struct setup setup;
    struct heap heap;
    uint64_t now_ms, random, suspend_ms;
    struct job *job;
    uint64_t job_tick_ms, job_thaw_ms;
    bool is_done;
    struct sim_node *nodes;
    struct ssh *ssh; /* NULL = agents come by themselves */
    struct effects effects;
    uint64_t beats;
    struct {
        struct buf measured; /* by each node */
        bool is_waiting;     /* the head waits for its nodes' samples */
        uint64_t began_ms;
    } look;
    uint32_t *fence_nodes; /* all */
    char *fence_data;      /* what they give, together */
    /* What went wrong so far, for the verdict to be held against. */
    struct cause {
        enum verdict_kind kind;
        uint32_t node, rank, generation;
        struct worker_end end;
        int signo;
        bool is_maybe; /* may also pass unnoticed */
    } * causes;
    size_t ncauses, causes_cap;
};

/* A number in [0, n). */
uint64_t world_random(struct world *w, uint64_t n);
/* For machine target in delay ms. */
void world_post(struct world *w, uint32_t target, uint64_t delay_ms, const struct event *ev,
                uint32_t generation);
/* The first fault of this kind on this node, NULL = none. */
const struct sim_fault *world_find_fault(const struct world *w, enum sim_fault_kind kind,
                                         uint32_t node);
void world_broken(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* process.c: effects of a node on its processes, and their natural end. */
void process_spawn(struct world *w, uint32_t node, uint32_t local_rank);
void process_natural_end(struct world *w, uint32_t node, uint32_t local_rank,
                         const struct worker_end *end);
void process_kill(struct world *w, uint32_t node, uint32_t local_rank, int signo);
void process_sweep(struct world *w, uint32_t node, int signo);
void process_close_streams(struct world *w, uint32_t node, uint32_t local_rank);
void process_reap(struct world *w, uint32_t node);
void process_block(struct world *w, uint32_t node, bool is_blocked);
void process_sign(struct world *w, uint32_t node, uint32_t local_rank);
void process_look(struct world *w, uint32_t node);
void process_stacks(struct world *w, uint32_t node, bool may_abort);

/* ssh.c: how agents come, if by ssh. linked: the head has a node's HELLO. dead: with its ssh,
 * which notices at once if its connections are reset. */
void ssh_begin(struct world *w);
void ssh_take(struct world *w, const struct item *item);
void ssh_linked(struct world *w, uint32_t node);
void ssh_dead(struct world *w, uint32_t node, bool is_reset);
void ssh_fini(struct world *w);
/* look.c: somebody looks at the ranks all the time, if anybody does. */
void look_begin(struct world *w);
void look_fini(struct world *w);
void look_measure(struct world *w, uint32_t node);
void look_keep(struct world *w, uint32_t node,
               struct frame *frame); /* beyond the node's step */
void look_count(struct world *w, const struct frame *frame);
void look_check(struct world *w, const struct event *ev); /* after a step of the head */

/* fence.c: an MPI job, all of whose nodes meet in fences, one after the other. */
void fence_init(struct world *w);
void fence_fini(struct world *w);
uint64_t fence_frames(const struct world *w); /* of a node and generation, at most */
void fence_begin(struct world *w, uint32_t node, const struct mpi_layout *layout);
void fence_keep(struct world *w, struct gathered *gathered); /* beyond the head's step */
void fence_answer(struct world *w, uint32_t node, const struct gathered *gathered);
void fence_seen(struct world *w, uint32_t node, enum event_type type); /* by its machine */
void fence_check(struct world *w);

/* check.c */
void check_cause(struct world *w, const struct cause *cause);
void check_spawn(struct world *w, uint32_t node);
void check_node_over(struct world *w, uint32_t node);
void check_done(struct world *w); /* when the job says so */
void check_end(struct world *w);  /* when nothing happens any more */

#endif
