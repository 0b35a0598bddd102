/* muster version */
#include <stdio.h>
#include <uv.h>

#include "launcher/cmd/cmd.h"

int cmd_version(char *const *args)
{
    (void)args;
    printf("muster " MUSTER_VERSION " (libuv %s)\n", uv_version_string());
    return 0;
}
