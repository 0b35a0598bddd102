/* muster completion SHELL: the completions of a shell, for a muster that came without a
 * package. */
#include <stdio.h>

#include "launcher/cmd/cmd.h"
#include "launcher/core/completion_render.h"

int cmd_completion(char *const *args)
{
    struct err e;
    struct buf text;
    buf_init(&text, 0);
    int rc = completion_render(args[0], &text, &e);
    fputs(buf_str(&text), stdout);
    buf_fini(&text);
    return rc < 0 ? cmd_fail(&e) : 0;
}
