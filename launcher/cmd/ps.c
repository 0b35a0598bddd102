/* muster ps: the running jobs of this user on this host. */
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "launcher/cmd/cmd.h"
#include "launcher/cmd/job_pick.h"
#include "launcher/io/control_client.h"

static unsigned width(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int cmd_ps(char *const *args)
{
    struct err e;
    struct jobs_options opt;
    struct job_list list;
    int status = job_command_begin(JOBS_PS, COMMAND_ps, args, &opt);
    if (status >= 0)
        return status;
    if (control_find(opt.is_json ? CONTROL_SAMPLE : CONTROL_STATUS, &list, &e) < 0)
        return cmd_fail(&e);
    struct buf text;
    buf_init(&text, 0);
    if (opt.is_json)
        jobs_json_format(&list, &text);
    else
        jobs_table_format(&list, width(), &text);
    fwrite(buf_str(&text), 1, text.len, stdout);
    buf_fini(&text);
    job_list_fini(&list);
    return 0;
}
