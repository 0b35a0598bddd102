/* head_admission.h - who is served at the job's port, as far as the head knows: which addresses
 * and users are the job's, and what becomes of those who are turned away.
 *
 * A part of the head's driver, on the state of driver_head_state.h. Answers what admission.h
 * asks.
 */
#ifndef MUSTER_LAUNCHER_IO_HEAD_ADMISSION_H
#define MUSTER_LAUNCHER_IO_HEAD_ADMISSION_H

#include "launcher/io/driver_head_state.h"
#include "rendezvous/peer_ip.h"
#include "rendezvous/port.h"

/* Makes d->admission. 0, or -1 with ERR_SYSTEM. */
int head_admission_open(struct driver_head *d, struct err *e);

/* As in port.h; ctx: the driver. */
bool head_admission_admit(void *ctx, const struct sockaddr *near, const struct sockaddr *far);
void head_admission_note(void *ctx, const struct server_note *note);

/* A connection of a node ended before it had proved itself, as in head_links.h; ctx: the
 * driver. */
void head_admission_unproven(void *ctx, const struct peer_ip *ip, bool is_named,
                             const struct err *why);

#endif
