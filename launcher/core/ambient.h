/* ambient.h - what CUDA would enumerate for the CUDA_VISIBLE_DEVICES that muster inherited.
 *
 * Reads the value as the CUDA driver does (rules measured on driver 580), not as one might wish
 * it were read: no ranges, no keywords, the first bad entry ends the list, a duplicate fails
 * the process. Decides nothing about the request; it is the list that the request chooses from.
 */
#ifndef MUSTER_LAUNCHER_CORE_AMBIENT_H
#define MUSTER_LAUNCHER_CORE_AMBIENT_H

#include <stdbool.h>

#include "launcher/core/device.h"
#include "launcher/core/gpu_error.h"

/* The launcher's own environment; strings are borrowed, NULL = unset. */
struct ambient {
    const char *cvd;   /* CUDA_VISIBLE_DEVICES */
    const char *order; /* CUDA_DEVICE_ORDER */
    bool mps;          /* an MPS daemon stands between workers and GPUs */
};

struct visible {
    struct gpu_unit *units; /* owned; in CUDA's order. A GPU with MIG on stands for itself */
    int nunits;
    bool by_uuid;       /* the value is a list of UUIDs */
    bool blank;         /* the value is set, and there is nothing in it */
    bool order_guessed; /* W_ORDER: numbers count on mixed GPUs and no order is set */
    bool fastest_first; /* mixed GPUs counted in CUDA's default order */
    struct str sloppy;  /* the first entry with text after its number; p NULL = none */
    const char *tail;   /* inside ambient.cvd: from the first dropped entry on; NULL = none */
};

/* Fills out for an inventory that is known. Fails with E_AMBIENT_BAD where cuInit would give
 * 101 (a device twice, an unknown CUDA_DEVICE_ORDER), with E_ORDER where the numbers mean
 * CUDA's own order on mixed GPUs and inv->probe is missing. out needs visible_fini only on
 * success. */
int ambient_enumerate(const struct ambient *amb, const struct inventory *inv,
                      struct visible *out, struct gpu_fault *f);
void visible_fini(struct visible *v);

/* The same value where no inventory can be had: entries that are well formed, as text. */
struct visible_text {
    char **entries; /* owned: "2" or "GPU-..."; MIG names too */
    int nentries;
    bool blank;
    struct str sloppy;
    const char *tail; /* as in struct visible */
};

/* Fails with E_AMBIENT_BAD for an entry given twice and for an unknown CUDA_DEVICE_ORDER. */
int ambient_read_text(const struct ambient *amb, struct visible_text *out, struct gpu_fault *f);
void visible_text_fini(struct visible_text *v);

#endif
