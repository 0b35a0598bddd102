#include "launcher/io/above.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/io/proc_stat.h"

enum { ANCESTORS_MAX = 64 };

/* How the names of those processes begin. */
static const char *const launchers[] = {"mpirun", "mpiexec", "orte",       "orted",
                                        "prte",   "hydra",   "slurmstepd", "flux"};

static bool is_launcher(pid_t pid)
{
    char path[32], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, name, sizeof name - 1);
    if (fd >= 0)
        close(fd);
    for (size_t i = 0; n > 0 && i < sizeof launchers / sizeof launchers[0]; i++)
        if (strncmp(name, launchers[i], strlen(launchers[i])) == 0)
            return true;
    return false;
}

bool above_is_launcher(void)
{
    struct proc_stat stat;
    pid_t pid = getpid();
    for (int i = 0; i < ANCESTORS_MAX && proc_stat_read(pid, &stat) && stat.parent > 0; i++) {
        pid = stat.parent;
        if (is_launcher(pid))
            return true;
    }
    return false;
}
