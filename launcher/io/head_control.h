/* head_control.h - the job's control socket, seen from the head: what other commands of this
 * user ask becomes an event of the job or is answered from its state.
 *
 * A part of the head's driver, on the state of driver_head_state.h. Carries between
 * control_server.h (the socket) and job_control.h (the meaning).
 */
#ifndef MUSTER_LAUNCHER_IO_HEAD_CONTROL_H
#define MUSTER_LAUNCHER_IO_HEAD_CONTROL_H

#include "launcher/core/job_control.h"
#include "launcher/io/driver_head_state.h"

/* Opens d->control, which stays NULL where nothing will run, and where it cannot be had (a
 * debug line). */
void head_control_open(struct driver_head *d);

/* What the job's machine does not know of itself, now; borrowed from d, and cwd, which may be
 * NULL. */
struct control_facts head_control_facts(const struct driver_head *d, const char *cwd);

#endif
