/* muster stop: ends a running job, as SIGTERM to its muster does. */
#include <stdio.h>

#include "launcher/cmd/cmd.h"
#include "launcher/cmd/job_pick.h"

int cmd_stop(char *const *args)
{
    struct err e;
    struct jobs_options opt;
    struct control_status job;
    int status = job_command_begin(JOBS_STOP, COMMAND_stop, args, &opt);
    if (status >= 0)
        return status;
    if (job_pick(&opt, opt.is_kill ? CONTROL_KILL : CONTROL_STOP, NULL, &job, &e) < 0)
        return cmd_fail(&e);
    printf("job %s (pid %u) %s\n", job.job_id, (unsigned)job.pid,
           opt.is_kill ? "is killed" : "is told to stop");
    control_status_fini(&job);
    return 0;
}
