#include "launcher/io/proc_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool proc_stat_read(pid_t pid, struct proc_stat *out)
{
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *end = strrchr(text, ')'); /* the name before it may hold anything */
    return end
           && sscanf(end + 1,
                     " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
                     &out->state, &out->parent, &out->group, &out->session, &out->nthreads)
                  == 5;
}

bool proc_stat_is_alive(const struct proc_stat *stat)
{
    return (stat->state != 'Z' && stat->state != 'X') || stat->nthreads > 1;
}
