/* job_pick.h - the running job that a command line means. */
#ifndef MUSTER_LAUNCHER_CMD_JOB_PICK_H
#define MUSTER_LAUNCHER_CMD_JOB_PICK_H

#include "launcher/core/command_page.h"
#include "launcher/core/control.h"
#include "launcher/core/jobs_options.h"

/* Reads the command line; --help is answered here. -1 = go on, else the status to exit with. */
int job_command_begin(enum jobs_command command, enum command_id page, char *const *args,
                      struct jobs_options *opt);

/* Finds the job and asks it. 0: *status is to be ended with control_status_fini, *path (of the
 * socket; NULL = not wanted) with free. -1 with ERR_USAGE, or as control_ask. */
int job_pick(const struct jobs_options *opt, enum control_verb verb, char **path,
             struct control_status *status, struct err *e);

#endif
