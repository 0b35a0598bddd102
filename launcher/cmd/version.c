/* muster version */
#include <stdio.h>

#include "launcher/cmd/cmd.h"

int cmd_version(char *const *args)
{
    (void)args;
    puts("muster " MUSTER_VERSION);
    return 0;
}
