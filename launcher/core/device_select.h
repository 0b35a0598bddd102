/* device_select.h - resolve(): a GPU request, what the launcher inherited and what the machine
 * has, to the GPUs of each worker.
 *
 * The one place that decides which GPU a local rank gets and what its CUDA_VISIBLE_DEVICES
 * says. Runs on each node with that node's environment and inventory, before anything starts.
 * Reads neither environment nor device; never loads CUDA. Grammar: gpu_spec. CUDA's view:
 * ambient. Items to units: device_pick. Units to ranks: device_ranks.
 */
#ifndef MUSTER_LAUNCHER_CORE_DEVICE_SELECT_H
#define MUSTER_LAUNCHER_CORE_DEVICE_SELECT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "launcher/core/ambient.h"
#include "launcher/core/device.h"
#include "launcher/core/gpu_error.h"
#include "launcher/core/gpu_spec.h"

/* X(name, spelling): what a worker may see, and how it finds its own GPU. */
#define GPU_BINDINGS(X)                                                                        \
    X(SHARED, "shared")                     /* the whole list, LOCAL_RANK indexes it */        \
    X(ISOLATED, "isolated")                 /* its own GPUs only */                            \
    X(ISOLATED_VIRTUAL, "isolated-virtual") /* the same, LOCAL_RANK 0 in every worker */       \
    X(ROTATED, "rotated")                   /* the whole list, own first, LOCAL_RANK 0 */      \
    X(NONE, "none")                         /* the environment stays as it is */
#define GPU_DISTS(X)                                                                           \
    X(BLOCK, "block")                                                                          \
    X(CYCLIC, "cyclic")
#define GPU_FORMATS(X)                                                                         \
    X(AUTO, "auto")                                                                            \
    X(INDEX, "index")                                                                          \
    X(UUID, "uuid")

#define X(name, spelling) BINDING_##name,
enum binding { GPU_BINDINGS(X) BINDING_COUNT };
#undef X
#define X(name, spelling) DIST_##name,
enum dist { GPU_DISTS(X) DIST_COUNT };
#undef X
#define X(name, spelling) GPU_FORMAT_##name,
enum gpu_format { GPU_FORMATS(X) GPU_FORMAT_COUNT };
#undef X

/* The spelling of a value, and back (0 or -1). */
const char *binding_name(enum binding b);
const char *dist_name(enum dist d);
const char *gpu_format_name(enum gpu_format f);
int binding_parse(struct str s, enum binding *out);
int dist_parse(struct str s, enum dist *out);
int gpu_format_parse(struct str s, enum gpu_format *out);

struct request {
    const struct gpu_spec *spec; /* --gpus; NULL = not given */
    int n;                       /* -n, workers on this node; 0 = not given */
    int procs_per_gpu;           /* 0 = not given = 1 */
    int gpus_per_proc;           /* 0 = not given = 1 */
    enum dist dist;
    enum binding binding;
    enum gpu_format format;
    const struct require *require; /* --gpu-require; NULL = not given */
    bool ignore_visible;           /* physical items may name GPUs the environment hides */
    bool strict_env;               /* W_TRUNC and W_SLOPPY are errors */
    bool skip_unhealthy;           /* leave lost GPUs out instead of failing */
    bool keeps_rest;               /* GPUs that no worker needs stay visible (torchrun's way);
                                    * binding shared, no MIG */
    bool slots; /* n is a hostfile's slots= next to its gpus=: too many is E_CONFLICT */
};

/* What one worker gets. cvd and order are values for CUDA_VISIBLE_DEVICES and
 * CUDA_DEVICE_ORDER; NULL = leave the variable as it was inherited. Owned by the choice. */
struct rank_device {
    const char *cvd, *order;
    int dev;        /* argument of cudaSetDevice; -1 = no GPU */
    int local_rank; /* value of LOCAL_RANK; the true local rank is the place in ranks[] */
    int first_unit; /* place in units[] of its first GPU; -1 = unknown or none */
};

struct gpu_note {
    enum gpu_warning kind;
    char text[256]; /* one line */
};

struct device_choice {
    enum gpu_error error;   /* after a failure: its class; else GPU_OK */
    bool units_known;       /* false without an inventory: units[] says nothing */
    struct gpu_unit *units; /* the GPUs in use, in order */
    int nunits;
    struct rank_device *ranks;
    int nranks;
    int gpus_per_proc;                        /* units of each rank from first_unit on */
    struct gpu_note notes[GPU_WARNING_COUNT]; /* at most one of a kind */
    int nnotes;
    char **strings; /* what ranks[] point to */
    int nstrings;
};

/* Decides. inv NULL = no inventory can be had. 0 and a choice to be released with
 * device_choice_fini; or -1, e (ERR_GPU_REQUEST, one line) and out->error with nothing to
 * release. E_ORDER may be answered by calling again with inv->probe. */
int device_resolve(const struct request *req, const struct ambient *amb,
                   const struct inventory *inv, struct device_choice *out, struct err *e);
void device_choice_fini(struct device_choice *c);

/* Appends the value of MUSTER_GPU_UUID, MUSTER_GPU_PCI_BUS_ID or MUSTER_GPU_INDEX (NVML index,
 * of a MIG instance's GPU) for a rank: a comma list if it has several GPUs, nothing if none is
 * known. */
enum gpu_fact { GPU_FACT_UUID, GPU_FACT_PCI_BUS_ID, GPU_FACT_INDEX };
void device_choice_fact(const struct device_choice *c, const struct inventory *inv, int rank,
                        enum gpu_fact fact, struct buf *out);

/* Whether Slurm's tasks are fenced in one by one: this task sees a single device node although
 * its step has several tasks here, so GPU peers cannot reach each other (W_TASK_SHARING, whose
 * line goes to note). */
bool device_task_is_fenced(int ndevices, int tasks_on_node, struct gpu_note *note);

#endif
