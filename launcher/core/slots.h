/* slots.h - the slots of one host that take part in a job: --include n2:0,2 and --exclude.
 *
 * Slot K is the worker that would be local rank K if all took part; those that do keep their
 * order and are numbered from 0 without gaps. Owns the text form of such a choice (what
 * host_slots_format writes), and which GPUs belong to it: those that these workers would have
 * had.
 */
#ifndef MUSTER_LAUNCHER_CORE_SLOTS_H
#define MUSTER_LAUNCHER_CORE_SLOTS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "launcher/core/device_select.h"

/* "0,2" or "^1" (all but these), of a host with `total` slots: *n numbers in *list, in order,
 * owned by the caller. 0, or -1 with ERR_HOSTFILE for a slot that the host does not have, and
 * where none is left. */
int slots_choose(const char *text, uint32_t total, uint32_t **list, uint32_t *n, struct err *e);

/* Appends a --gpus list of the GPUs of these slots; all is the choice for all of them. Nothing
 * if there are no GPUs, or nobody here knows them. */
void slots_gpus(const uint32_t *list, uint32_t n, const struct device_choice *all,
                const struct inventory *inv, struct buf *out);

#endif
