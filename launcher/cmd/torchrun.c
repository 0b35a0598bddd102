/* torchrun, or muster torchrun: a job from torchrun's command line. */
#include <stdio.h>
#include <unistd.h>

#include "launcher/cmd/cmd.h"
#include "launcher/core/torchrun_options.h"

static int print(const struct options *opt)
{
    struct buf text;
    buf_init(&text, 0);
    if (opt->torchrun.shell)
        torchrun_options_completion(opt->torchrun.shell, &text);
    else
        torchrun_options_help(&text);
    fputs(buf_str(&text), stdout);
    buf_fini(&text);
    return 0;
}

int cmd_torchrun(char *const *args)
{
    struct err e;
    struct options opt;
    if (torchrun_options_parse(args, (const char *const *)environ, &opt, &e) < 0)
        return cmd_fail_early(&opt, &e);
    return opt.is_help || opt.torchrun.shell ? print(&opt) : cmd_run_job(&opt, args);
}
