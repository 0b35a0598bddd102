/* torchrun, or muster torchrun: a job from torchrun's command line. */
#include <stdio.h>
#include <unistd.h>

#include "launcher/cmd/cmd.h"
#include "launcher/core/completion_render.h"
#include "launcher/core/torchrun_options.h"

static int print_completion(const char *shell)
{
    struct err e;
    struct buf text;
    buf_init(&text, 0);
    int rc = completion_render_torchrun(shell, &text, &e);
    fputs(buf_str(&text), stdout);
    buf_fini(&text);
    return rc < 0 ? cmd_fail(&e) : 0;
}

int cmd_torchrun(char *const *args)
{
    struct err e;
    struct options opt;
    if (torchrun_options_parse(args, (const char *const *)environ, &opt, &e) < 0)
        return cmd_fail_early(&opt, &e);
    if (opt.torchrun.shell)
        return print_completion(opt.torchrun.shell);
    return opt.is_help ? cmd_help(COMMAND_torchrun) : cmd_run_job(&opt, args);
}
