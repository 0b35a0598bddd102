/* pulse.h - the signs of life of one node's workers: when each was heard last, and which limit
 * has passed.
 *
 * Pure. A rank's heartbeat limit begins with its first sign of life, so that loading data and
 * compiling before it cost nothing; the silence limit begins with the start. An open section
 * with a time of its own has that time instead. Nothing is judged while the pulse is held (the
 * job is suspended, or nobody reads its output) or before the driver has looked at what waits
 * to be read (FX_LOOK). Does not know what happens to who is late.
 */
#ifndef MUSTER_LAUNCHER_CORE_PULSE_H
#define MUSTER_LAUNCHER_CORE_PULSE_H

#include "launcher/core/event.h"

struct pulse;

enum pulse_hold_reason { PULSE_SUSPENDED, PULSE_BLOCKED };

/* Limits in ms, 0 = none. */
struct pulse *pulse_new(uint32_t nworkers, uint64_t heartbeat_ms, uint64_t silence_ms);
void pulse_free(struct pulse *p); /* NULL is fine */

/* The workers are started. */
void pulse_start(struct pulse *p, uint64_t now_ms);
/* A message of this worker; its texts are copied. */
void pulse_sign(struct pulse *p, uint32_t local_rank, const struct sign *sign, uint64_t now_ms);
/* This worker has ended: nothing is due from it any more. */
void pulse_end(struct pulse *p, uint32_t local_rank);
/* While held nothing is due; after it every limit begins again. */
void pulse_hold(struct pulse *p, enum pulse_hold_reason why, bool is_held, uint64_t now_ms);
/* We did not run for a while: every limit begins again. */
void pulse_restart(struct pulse *p, uint64_t now_ms);

/* When a limit passes; UINT64_MAX = never, or the driver is being asked (pulse_ask). */
uint64_t pulse_deadline(const struct pulse *p);
/* FX_LOOK is on its way. */
void pulse_ask(struct pulse *p);
/* Its answer, or news of output: when output of any worker came last (0 = none yet). */
void pulse_looked(struct pulse *p, uint64_t output_at_ms, uint64_t now_ms);

/* The next limit that has passed and was not told: the longest overdue first. True and *hang,
 * or false. After a silence was told, HANG_NONE is told once there is output again. */
bool pulse_hung(struct pulse *p, uint64_t now_ms, struct hang *hang);

/* What is known of a worker; texts are the pulse's and change with its next message. */
void pulse_facts(const struct pulse *p, uint32_t local_rank, uint64_t now_ms,
                 struct rank_facts *out);

#endif
