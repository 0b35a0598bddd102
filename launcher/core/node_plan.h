/* node_plan.h - what one node will run: program, and per local rank its rank, device and files.
 * Pure: request, inherited environment and inventory come in, a plan or one error comes out,
 * before anything starts.
 */
#ifndef MUSTER_LAUNCHER_CORE_NODE_PLAN_H
#define MUSTER_LAUNCHER_CORE_NODE_PLAN_H

#include "base/err.h"
#include "launcher/core/device_select.h"
#include "launcher/core/event.h"
#include "launcher/core/facts.h"
#include "launcher/core/log_paths.h"
#include "launcher/core/options.h"

struct worker_plan {
    uint32_t rank, local_rank;
    int env_local_rank;                   /* what LOCAL_RANK says under the binding */
    const char *cvd, *cuda_order;         /* NULL = leave the inherited value alone */
    char *gpu_uuid, *gpu_pci, *gpu_index; /* NULL = no GPU */
    char *cpus;                           /* CPU list, "0-7,16-23"; NULL = not bound */
    int mem_node;                         /* preferred NUMA node; -1 = no policy */
    uint32_t omp_threads;                 /* its share of the cores, at least 1 */
    char **wrapped;                       /* argv with the words of --wrap; NULL = none */
    bool owns_terminal;                   /* its streams are the terminal that muster is on */
    char **argv; /* its own, where it differs from the plan's; else NULL */
};

/* All text is owned by the plan. */
struct node_plan {
    struct order order;
    enum binding binding;
    char **argv; /* the program as it will be executed, interpreter included; NULL-terminated */
    struct worker_plan *workers; /* order.nworkers of them */
    char *role;
    enum scheduler_env scheduler_env;
    unsigned compat; /* presets, 1 << COMPAT_x */
    enum log_layout layout;
    bool is_unbound; /* torchrun's way with more workers than GPUs: the binding became none */
    struct device_choice choice;
    unsigned cpu_warnings; /* PLACEMENT_ bits */
    char *omp_why;         /* one line: how local rank 0's omp_threads came about */
};

/* Whether the plan depends on which GPUs there are: not for `--gpus none`, nor where the
 * binding leaves all to the environment and the number of workers is given. */
bool node_plan_needs_gpus(const struct options *opt);

/* Whether it also depends on how busy they are: only where muster is to choose (`auto`). */
bool node_plan_needs_load(const struct options *opt);

/* What CUDA reads of the environment. */
struct ambient node_plan_ambient(const struct facts *facts);

/* The request of the command line, with n workers (0 = not given), against this node's
 * environment and inventory: as device_resolve, with ERR_GPU_REQUEST. */
int node_plan_resolve(const struct options *opt, const struct facts *facts, int n,
                      struct device_choice *choice, struct err *e);

/* How many workers this node would run: nproc, or its units, or its CPUs, as nproc_source says.
 * 0, or -1 with ERR_GPU_REQUEST. */
int node_plan_slots(const struct options *opt, const struct facts *facts, uint32_t *slots,
                    struct err *e);

/* NULL with ERR_GPU_REQUEST or ERR_USAGE. Copies order and its text. Free with node_plan_free.
 */
struct node_plan *node_plan_build(const struct options *opt, const struct facts *facts,
                                  const struct order *order, struct err *e);
void node_plan_free(struct node_plan *plan);

/* What a worker executes: the program, or its wrapper with it. Owned by the plan. */
char *const *node_plan_argv(const struct node_plan *plan, uint32_t local_rank);

/* "GPU 1 (GPU-1f9b10d2)" of a worker, for people; appends nothing for a worker without GPU. */
void node_plan_gpu_format(const struct node_plan *plan, uint32_t local_rank, struct buf *out);

#endif
