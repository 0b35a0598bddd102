/* stack_compare.h - which rank differs from the rest, from what each was seen doing. Pure.
 *
 * Honest: a rank differs only where more than half of the others agree in what they do, or
 * where one is behind in its steps. Otherwise the line says that none can be told.
 */
#ifndef MUSTER_LAUNCHER_CORE_STACK_COMPARE_H
#define MUSTER_LAUNCHER_CORE_STACK_COMPARE_H

#include "base/buf.h"
#include "launcher/core/event.h"

/* One rank: owned texts, NULL = not known. */
struct seen {
    bool is_known; /* it lived and was looked at */
    char *where, *section, *status;
    struct maybe_u64 step, quiet_ms;
};

/* Takes over what facts say, copying the texts; what they do not say stays. */
void seen_take(struct seen *seen, const struct rank_facts *facts);
void seen_fini(struct seen *seen);

/* Appends one line without newline, "rank 3 differs: ranks 0-2 are in all_reduce (train.py:41),
 * rank 3 is in spin (train.py:17), last step 16 of 17". *rank is the one that differs; unknown
 * if none or several do. Appends nothing if no rank is known. */
void stack_compare(const struct seen *seen, uint32_t n, struct maybe_u64 *rank,
                   struct buf *out);

#endif
