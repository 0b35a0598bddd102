/* control_client.h - the other side of control_server.h, for commands that speak to jobs: finds
 * the jobs of this user and asks them. Blocking, with a limit; no loop.
 */
#ifndef MUSTER_LAUNCHER_IO_CONTROL_CLIENT_H
#define MUSTER_LAUNCHER_IO_CONTROL_CLIENT_H

#include "launcher/core/control.h"
#include "launcher/core/jobs_table.h"

/* Finds every job of this user, in order of their start, and asks all at the same time, by
 * CONTROL_STATUS or CONTROL_SAMPLE; one that has not answered after three seconds is in the
 * list as such. Removes nothing. 0, or -1 with ERR_SYSTEM: a folder is there that may not be
 * used. *out is then empty; else end it with job_list_fini. */
int control_find(enum control_verb verb, struct job_list *out, struct err *e);

/* Asks one job. 0 and a status to be ended with control_status_fini, or -1 with
 * ERR_UNAVAILABLE (it has ended), ERR_TIMEOUT (it does not answer: suspended, or of another
 * kind) or ERR_PROTOCOL. */
int control_ask(const char *path, enum control_verb verb, struct control_status *out,
                struct err *e);

#endif
