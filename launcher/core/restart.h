/* restart.h - whether a group that failed is started again, and after which wait.
 *
 * Counts attempts that failed soon after their start and doubles the wait; knows the codes that
 * are never restarted. Who failed, and whether the user wants out, is the job's business. Pure:
 * times come in as numbers.
 */
#ifndef MUSTER_LAUNCHER_CORE_RESTART_H
#define MUSTER_LAUNCHER_CORE_RESTART_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/core/event.h"
#include "launcher/core/options.h"

enum {
    RESTART_DELAY_MS = 1000,      /* default of --restart-delay */
    RESTART_DELAY_MAX_MS = 30000, /* default of --restart-delay-max */
    RESTART_CRASHES_MAX = 3,      /* failures sooner than --min-uptime, in a row */
    RESTART_NEVER_CODE = 93,      /* a worker says "do not restart me" */
};

/* Zero before the first attempt. */
struct restart {
    uint32_t nsoon;    /* failures in a row that came before an attempt had proved itself */
    uint32_t ncrashes; /* of them, those sooner than --min-uptime */
};

enum restart_answer {
    RESTART_YES,
    RESTART_SPENT,   /* no restart is left */
    RESTART_CODE,    /* this end is never restarted */
    RESTART_CRASHES, /* it crashes at start, time and again */
};

/* An attempt (generation, from 0) failed by end after it had run lived_ms. *delay_ms: how long
 * to wait before the next; 0 = none. An attempt that ran for --min-uptime, or where that is not
 * given for --restart-delay-max, has proved itself: counting begins anew. */
enum restart_answer restart_decide(struct restart *r, const struct options *opt,
                                   uint32_t generation, const struct worker_end *end,
                                   uint64_t lived_ms, uint64_t *delay_ms);

/* Whether a text is a list of exit codes from 1 to 255. */
bool restart_codes_are_valid(const char *text);

#endif
