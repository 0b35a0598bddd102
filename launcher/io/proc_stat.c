#include "launcher/io/proc_stat.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_file(pid_t pid, const char *name, char *text, size_t size)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return true;
}

bool proc_stat_read(pid_t pid, struct proc_stat *out)
{
    char text[512];
    if (!read_file(pid, "stat", text, sizeof text))
        return false;
    const char *end = strrchr(text, ')'); /* the name before it may hold anything */
    return end
           && sscanf(end + 1,
                     " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %ld %*d "
                     "%llu %*u %ld",
                     &out->state, &out->parent, &out->group, &out->session, &out->user_ticks,
                     &out->system_ticks, &out->nthreads, &out->start_ticks, &out->rss_pages)
                  == 9;
}

bool proc_stat_user(pid_t pid, uint32_t *uid)
{
    char text[1024];
    if (!read_file(pid, "status", text, sizeof text))
        return false;
    const char *line = strstr(text, "\nUid:");
    return line && sscanf(line, " Uid: %*u %" SCNu32, uid) == 1;
}

/* "Max file locks   SOFT   HARD   locks" */
uint64_t proc_stat_mark(pid_t pid)
{
    static const char name[] = "Max file locks";
    char text[4096];
    const char *line = read_file(pid, "limits", text, sizeof text) ? strstr(text, name) : NULL;
    return line ? strtoull(line + strlen(name), NULL, 10) : 0; /* "unlimited" is 0 */
}

bool proc_stat_is_alive(const struct proc_stat *stat)
{
    return (stat->state != 'Z' && stat->state != 'X') || stat->nthreads > 1;
}
