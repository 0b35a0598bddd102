/* node_state.h - the state of the node machine, shared by the files that decide for it.
 *
 * Private to node.c, node_stop.c, node_drain.c, node_mpi.c and node_pulse.c: to everybody else
 * struct node is opaque (node.h). The drawing of the states, the table of allowed moves and the
 * switch on events stand in node.c. Decides nothing.
 */
#ifndef MUSTER_LAUNCHER_CORE_NODE_STATE_H
#define MUSTER_LAUNCHER_CORE_NODE_STATE_H

#include "launcher/core/node.h"
#include "launcher/core/pulse.h"

/* Drawn in node.c. */
enum node_state {
    NODE_IDLE,
    NODE_PREPARE,
    NODE_READY,
    NODE_UP,
    NODE_NOTICE,
    NODE_TERM,
    NODE_KILL,
    NODE_DRAIN,
    NODE_REAPED,
    NODE_STATE_COUNT
};

enum {
    NODE_QUIET_MS = 500,   /* for pipes to end and helpers to finish by themselves */
    NODE_ASLEEP_MS = 2000, /* a tick this late: we did not run, and news is still waiting */
};

enum worker_state { WORKER_NONE, WORKER_STARTING, WORKER_ALIVE, WORKER_ENDED };

struct worker {
    enum worker_state state;
    bool has_streams;
    uint32_t pid;
    char *gpu; /* what its end says of it; NULL until then */
};

struct node {
    const struct options *opt;
    const struct facts *facts;
    enum node_state state;
    uint32_t generation; /* of the last PLAN, also one that was refused */
    bool has_generation;
    struct node_plan *plan;
    struct worker *workers;
    uint32_t nworkers, nalive, nstreams; /* alive: starting or alive */
    uint32_t nspawned;
    uint32_t nleft; /* descendants at the last count */
    int drain_step;
    int stop_signo;     /* of the STOP in force, 0 = none */
    bool is_final;      /* the user ended the job: a stalled reader is not waited for */
    bool is_hurried;    /* a stop without grace: no politeness towards what is left either */
    bool is_blocked;    /* nobody reads our output */
    bool is_leaving;    /* BYE or lost link */
    bool is_head_still; /* it is suspended: no beats are to be expected */
    struct node_place place;
    uint64_t deadline_ms, next_beat_ms, last_heard_ms;
    uint64_t grace_end_ms; /* of the STOP in force, 0 = none */
    struct {               /* what follows a notice */
        int signo;
        uint64_t grace_ms;
    } stop;
    struct pulse *pulse; /* of this generation */
    bool is_looked_at;   /* FX_STACKS is under way */
    bool is_sampling;    /* FX_SAMPLE is under way */
    struct buf sample;   /* the last answer, referenced by its frame */
    char **meetings;     /* operations that ranks of this generation wait in for other nodes */
    size_t nmeetings, cap_meetings;
    struct err err; /* text of a refusal, referenced by frames */
};

/* Goes to the next state, which has no deadline at first. A move that node.c's table does not
 * allow is a bug: it asserts. */
void node_move(struct node *n, enum node_state next);

/* Appends a frame of this generation to the head and returns it to be filled. Valid until the
 * next effect is appended; owned by fx. */
struct frame *node_send(struct node *n, struct effects *fx, enum frame_type type);

#endif
