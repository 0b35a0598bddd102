/* strangers.h - those who came to the job's port and were turned away: of whom something has
 * been told, and how many they were. Who is turned away decides who turns away; what is told is
 * bounded here, however many come.
 */
#ifndef MUSTER_LAUNCHER_CORE_STRANGERS_H
#define MUSTER_LAUNCHER_CORE_STRANGERS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "rendezvous/peer_ip.h"

enum {
    STRANGERS_TOLD_MAX =
        64, /* pairs of address and reason; those that come after are counted */
    STRANGERS_REASON_MAX = 200, /* bytes of a reason that are compared */
};

struct strangers;

/* Whether a connection that ended as a link before it proved anything is a stranger's.
 * is_named: it had named this job by its key. Then it was a node's that has let go of it, for
 * another address of the head was quicker, or that came too late to say more; a hello that
 * somebody else repeats looks the same and gains nothing. A proof that is wrong is a
 * stranger's. */
bool strangers_is_one(bool is_named, const struct err *why);

struct strangers *strangers_new(void);
void strangers_free(struct strangers *s); /* NULL is fine */

/* Counts one connection from this address, turned away for this reason (copied). Whether it is
 * to be told: the first of its kind, while there is room to remember. */
bool strangers_add(struct strangers *s, const struct peer_ip *ip, const char *reason);

/* Appends how many there were, address by address, on one line without newline; nothing if each
 * of them was told. */
void strangers_format(const struct strangers *s, struct buf *out);

#endif
