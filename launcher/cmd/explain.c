/* muster explain CODE: what an error code means, from the registry. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "launcher/cmd/cmd.h"

static void print_row(enum err_code code)
{
    printf("%-15s exit %3d  %s\n", err_name(code), err_exit_status(code), err_hint(code));
}

int cmd_explain(char *const *args)
{
    for (int code = 1; code < ERR_CODE_COUNT; code++) {
        if (args[0] && strcasecmp(args[0], err_name((enum err_code)code)) != 0)
            continue;
        print_row((enum err_code)code);
        if (args[0])
            return 0;
    }
    if (!args[0])
        return 0;
    struct err e;
    err_set(&e, ERR_USAGE, "explain: no code is called '%s'; `muster explain` lists all",
            args[0]);
    return cmd_fail(&e);
}
