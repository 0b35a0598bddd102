/* gpu_spec.h - the grammar of --gpus and of --gpu-require: text to items, nothing more.
 *
 * Owns what is well formed and what to say about text that is not. Needs no inventory, so the
 * head can check every host's request before it connects to any. Which GPU an item means is
 * device_pick's matter.
 *
 *   spec := item { "," item }         white space around items is ignored
 *   item := "all" | "none" | "auto" [":" N] | "n:" N | [ "^" | "!" ] atom
 *   atom := I | I "-" J | "phys:" I ["-" J] | "GPU-" hex | "MIG-" hex
 *         | "MIG-GPU-" uuid "/" gi "/" ci | "mig:" G ":" M | "pci:" [domain ":"] bb ":" dd
 * [".0"] | "minor:" N
 */
#ifndef MUSTER_LAUNCHER_CORE_GPU_SPEC_H
#define MUSTER_LAUNCHER_CORE_GPU_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum gpu_item_kind {
    GPU_ITEM_ALL,
    GPU_ITEM_NONE,
    GPU_ITEM_AUTO,       /* first = N, -1 = not given */
    GPU_ITEM_FIRST,      /* n:N, first = N */
    GPU_ITEM_POSITION,   /* first to last, either way round: places in the visible list */
    GPU_ITEM_PHYS,       /* the same, NVML indices */
    GPU_ITEM_GPU_UUID,   /* hex: a prefix of what follows "GPU-" */
    GPU_ITEM_MIG_UUID,   /* hex, after "MIG-" */
    GPU_ITEM_MIG_LEGACY, /* hex of the GPU, first = gi, last = ci */
    GPU_ITEM_MIG_SLOT,   /* first = NVML index, last = slot */
    GPU_ITEM_PCI,        /* domain (-1 = any), bus, dev */
    GPU_ITEM_MINOR       /* first = N of /dev/nvidiaN */
};

struct gpu_item {
    enum gpu_item_kind kind;
    bool removes; /* "^" */
    int first, last;
    char hex[40];
    int64_t domain;
    uint32_t bus, dev;
    char text[64]; /* as written, for messages */
};

struct gpu_spec {
    struct gpu_item *items; /* owned, at least one */
    int nitems;
};

/* Parses a whole --gpus value. Failure (ERR_GPU_REQUEST, class E_SYNTAX) names the item and the
 * spelling that would work, and leaves nothing to free. */
int gpu_spec_parse(const char *text, struct gpu_spec *out, struct err *e);
void gpu_spec_fini(struct gpu_spec *spec);

/* Whether the request leaves the choice to the environment: not given (NULL), or just `all`. */
bool gpu_spec_is_all(const struct gpu_spec *spec);
bool gpu_spec_is_none(const struct gpu_spec *spec);

/* Whether it is muster that chooses, by what the GPUs are doing. */
bool gpu_spec_has_auto(const struct gpu_spec *spec);

/* Whether an item that adds GPUs names them physically, not by their place in the visible
 * list. */
bool gpu_spec_has_physical(const struct gpu_spec *spec);

/* What --gpu-require asks of a GPU that `auto` may take; -1 = nothing. */
struct require {
    int64_t free_gib; /* free>=40G: memory in GiB */
    int util;         /* util<=10: percent */
    int procs;        /* procs=0: compute processes, exactly */
};

/* "free>=40G,util<=10,procs=0", each at most once, in any order. Failure as gpu_spec_parse. */
int gpu_require_parse(const char *text, struct require *out, struct err *e);

#endif
