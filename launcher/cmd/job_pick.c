#include "launcher/cmd/job_pick.h"

#include "base/mem.h"
#include "launcher/cmd/cmd.h"
#include "launcher/io/control_client.h"

int job_command_begin(enum jobs_command command, enum command_id page, char *const *args,
                      struct jobs_options *opt)
{
    struct err e;
    if (jobs_options_parse(command, args, opt, &e) < 0)
        return cmd_fail(&e);
    return opt->is_help ? cmd_help(page) : -1;
}

/* It was asked once, and is not told what it would do as soon as it goes on. */
static int fail_silent(const struct job_row *row, struct err *e)
{
    unsigned pid = (unsigned)row->status.pid;
    return err_set(e, ERR_TIMEOUT,
                   "job %s (pid %u) does not answer; if it is suspended, kill -CONT %u lets it "
                   "go on, and kill -9 %u ends it with its workers",
                   row->status.job_id, pid, pid, pid);
}

int job_pick(const struct jobs_options *opt, enum control_verb verb, char **path,
             struct control_status *status, struct err *e)
{
    struct job_list list;
    if (control_find(CONTROL_STATUS, &list, e) < 0)
        return -1;
    const struct job_row *row = job_list_pick(&list, opt->job, e);
    if (row && row->why) {
        fail_silent(row, e);
        job_list_fini(&list);
        return -1;
    }
    int rc = row ? control_ask(row->path, verb, status, e) : -1;
    if (row && rc < 0)
        err_wrap(e, "job %s (pid %u)", row->status.job_id, (unsigned)row->status.pid);
    if (rc == 0 && path)
        *path = mem_strdup(row->path);
    job_list_fini(&list);
    return rc;
}
