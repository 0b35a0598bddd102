/* muster stack: what every rank of a running job is doing, as SIGQUIT to its muster shows it.
 */
#include <stdio.h>

#include "launcher/cmd/cmd.h"
#include "launcher/cmd/job_pick.h"

static void print(const struct control_status *job)
{
    for (size_t i = 0; i < job->nranks; i++)
        printf("rank %zu (host %s, pid %u): %s\n", i, job->ranks[i].host,
               (unsigned)job->ranks[i].pid,
               job->ranks[i].where                   ? job->ranks[i].where
               : job->ranks[i].state == RANK_RUNNING ? "could not be looked at"
                                                     : rank_state_word(job->ranks[i].state));
    if (job->stacks)
        printf("stacks in full: %s\n", job->stacks);
}

int cmd_stack(char *const *args)
{
    struct err e;
    struct jobs_options opt;
    struct control_status job;
    int status = job_command_begin(JOBS_STACK, COMMAND_stack, args, &opt);
    if (status >= 0)
        return status;
    if (job_pick(&opt, CONTROL_STACK, NULL, &job, &e) < 0)
        return cmd_fail(&e);
    print(&job);
    control_status_fini(&job);
    return 0;
}
