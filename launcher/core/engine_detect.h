/* engine_detect.h - what the environment says of who started us: Slurm, an MPI launcher, Flux,
 * Kubernetes, nobody.
 *
 * Owns which variables count, which launcher is the innermost one, and what follows for the way
 * to start agents and for --node-rank auto. Pure: the environment comes in as a list, and text
 * members borrow from it. A variable that holds no number counts as not set.
 *
 * Slurm: a task has SLURM_STEP_ID, and SLURM_STEP_NUM_TASKS that agrees with SLURM_NTASKS. A
 * batch script also has SLURM_PROCID, SLURM_LOCALID and SLURM_NODEID, but no step; the shell of
 * an interactive salloc has a step whose number is one of the reserved ones.
 */
#ifndef MUSTER_LAUNCHER_CORE_ENGINE_DETECT_H
#define MUSTER_LAUNCHER_CORE_ENGINE_DETECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "launcher/core/host_list.h"
#include "launcher/core/engine_start.h"

/* Who started this process as one of its tasks. */
enum engine {
    ENGINE_NONE,
    ENGINE_SLURM,
    ENGINE_OPENMPI,
    ENGINE_HYDRA,
    ENGINE_FLUX,
    ENGINE_COUNT
};

enum { ENGINE_UNKNOWN = -1 };

struct engine_view {
    enum engine engine;
    /* Of the innermost engine's tasks, ENGINE_UNKNOWN where it does not say. */
    int64_t task, ntasks;
    int64_t local_task, local_ntasks;
    int64_t node, nnodes;      /* node: only where it has one task a node */
    const char *node_variable; /* where `node` stood */
    const char *node_name;     /* our name in the engine's node list; NULL = not said */
    bool in_allocation;        /* head of a Slurm allocation: not a task, nodes to start on */
    const char *nodelist;      /* of the step, or of the allocation; NULL = none */
    const char *job_id;        /* of Slurm */
    int64_t gpus_on_node;      /* SLURM_GPUS_ON_NODE */
    int64_t completion_index;  /* of a Kubernetes Indexed Job */
};

/* pid: our own; a Slurm task that it started directly is not some MPI launcher's. */
void engine_detect(const char *const *environment, int64_t pid, struct engine_view *out);

/* Appends one line without its end that says what was found; nothing if that was nothing. */
void engine_format(const struct engine_view *view, struct buf *out);

struct engine_request {
    enum engine_start launch; /* --engine */
    bool has_hosts;           /* --hosts or --hostfile */
    bool has_endpoint;        /* --rdzv-endpoint */
    uint32_t nnodes;
};

/* How the nodes are started; never START_AUTO. ERR_USAGE where each of several tasks would
 * start a whole job, and where what was asked for cannot be had here. */
int engine_choose(const struct engine_view *view, const struct engine_request *request,
                  enum engine_start *out, struct err *e);

/* ERR_USAGE if the engine has several tasks on this node and each would start several workers.
 * nproc: -n, 0 = not given. */
int engine_check_tasks(const struct engine_view *view, uint32_t nproc, struct err *e);

/* Our place in a list, by the name that the engine gives us, else by `host`; ENGINE_UNKNOWN if
 * it is not there. */
int64_t engine_place(const struct engine_view *view, const struct host_list *list,
                     const char *host);

/* The node rank. given: --node-rank, MUSTER_NODE_RANK or PET_NODE_RANK as a number, which ends
 * the matter; else JOB_COMPLETION_INDEX, the innermost engine, and place (engine_place), where
 * given and place may be ENGINE_UNKNOWN. ERR_USAGE with both values where two differ, and where
 * nothing is known. Sets *from (constant text) to where it came from. */
int engine_node_rank(const struct engine_view *view, int64_t given, int64_t place,
                     uint32_t *rank, const char **from, struct err *e);

#endif
