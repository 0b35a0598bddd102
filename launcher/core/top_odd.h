/* top_odd.h - which rank of a group that waits for one another differs from the rest. Pure.
 *
 * Utilisation does not tell: NVML counts the time in which any kernel ran, and a GPU that waits
 * in a collective runs one. What tells is the step (a rank that is behind) and the power (who
 * waits draws less than who works). Honest: nothing is named unless one rank alone differs
 * and all others agree.
 */
#ifndef MUSTER_LAUNCHER_CORE_TOP_ODD_H
#define MUSTER_LAUNCHER_CORE_TOP_ODD_H

#include "launcher/core/top_view.h"

enum {
    ODD_RANKS_MIN = 3, /* two that differ do not say which is the odd one */
    ODD_STEPS = 2,     /* behind; less is chance, as signs of life come one by one */
    ODD_RATE_PERCENT = 20,
    ODD_POWER_PERCENT = 25, /* off the others' middle, and */
    ODD_POWER_MW = 20000,   /* so much, so that idle GPUs are not compared */
    ODD_AGREE_PERCENT = 15  /* how far from their middle the others may be */
};

/* Marks the row that differs and appends how, "rank 3 differs: 4 steps behind"; or neither. */
void top_odd(struct top_row *rows, size_t n, struct buf *out);

#endif
