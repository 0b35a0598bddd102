/* clock.h - the only reader of the clock. Everything that decides gets its time from a caller.
 */
#ifndef MUSTER_BASE_CLOCK_H
#define MUSTER_BASE_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC: comparable within one machine and boot only. */
uint64_t now_ms(void);
uint64_t now_ns(void);

/* CLOCK_REALTIME in milliseconds since 1970, for people and log files; never compared. */
uint64_t wall_ms(void);

#endif
