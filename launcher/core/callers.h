/* callers.h - which of the connections to a small server gives way, and which has taken too
 * long. Each says what it wants, may wait for the answer, and takes it. Pure; the connections
 * themselves are the server's.
 */
#ifndef MUSTER_LAUNCHER_CORE_CALLERS_H
#define MUSTER_LAUNCHER_CORE_CALLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

/* One of a list, in which they stand in the order in which they came. */
struct call {
    struct list link;
    uint64_t deadline_ms; /* UINT64_MAX = none */
    bool is_waiting;      /* it has asked */
    bool is_answered;     /* it is being given its answer, or has it */
};

/* The first that has not said what it wants, which gives way to others; NULL if all have. */
struct call *callers_idle(const struct list *calls);

/* The first deadline; UINT64_MAX if there is none. */
uint64_t callers_deadline(const struct list *calls);

/* One whose deadline has come; NULL if there is none. */
struct call *callers_late(const struct list *calls, uint64_t now_ms);

#endif
