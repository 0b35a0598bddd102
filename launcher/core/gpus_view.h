/* gpus_view.h - what `muster gpus` has to say, before it is printed: each GPU with its place in
 * CUDA's list under the present environment and the ranks it would get, and in words what
 * changed that picture.
 *
 * Decides nothing of its own: CUDA's list is ambient's, the ranks are those of
 * node_plan_resolve. The words are gpus_words', the table gpus_render's, JSON io/gpus_json's.
 */
#ifndef MUSTER_LAUNCHER_CORE_GPUS_VIEW_H
#define MUSTER_LAUNCHER_CORE_GPUS_VIEW_H

#include "launcher/core/ambient.h"
#include "launcher/core/device_select.h"
#include "launcher/core/facts.h"
#include "launcher/core/options.h"

/* Where the knowledge came from. */
struct gpus_source {
    const char *name; /* "NVML"; NULL = there is no inventory */
    const char *why;  /* then the reason, "" if there is none but the missing driver */
    int nbus;         /* NVIDIA GPUs on the PCI bus; -1 = not looked for */
};

struct gpus_row {
    struct gpu_unit unit;
    int position; /* CUDA's ordinal now; -1 = hidden. A MIG instance has its GPU's or none */
    char *ranks;  /* "0", "0,1"; NULL = none */
};

struct gpus_view {
    const struct options *opt;
    const struct facts *facts;
    const struct inventory *inv; /* NULL = none */
    struct gpus_source source;
    struct gpus_row *rows; /* in the inventory's order, instances behind their GPU */
    int nrows;
    bool has_seen; /* CUDA would start here */
    struct visible seen;
    struct gpu_fault fault; /* else why not; text in seen_err */
    struct err seen_err;
    bool has_choice; /* run would accept the options */
    struct device_choice choice;
    struct err refusal; /* else why not */
    bool has_request;   /* an option of GPU selection was given, not all are defaults */
    char **words;       /* sentences, for people */
    size_t nwords;
};

/* Keeps references to opt, facts and what source points to. Free with gpus_view_fini. */
void gpus_view_init(struct gpus_view *v, const struct options *opt, const struct facts *facts,
                    const struct gpus_source *source);
void gpus_view_fini(struct gpus_view *v);

/* 0: it could answer; ERR_GPU_REQUEST's status: run would refuse the options that were given;
 * ERR_PREFLIGHT's: the GPUs of this machine cannot be known. */
int gpus_view_status(const struct gpus_view *v);

#endif
