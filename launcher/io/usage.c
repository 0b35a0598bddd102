#include "launcher/io/usage.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct process {
    int session;
    unsigned long user_ticks, system_ticks;
    long rss_pages;
};

/* False when it is gone. Format: proc(5). */
static bool read_process(const char *pid, struct process *out)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *end = strrchr(text, ')'); /* the name before it may hold anything */
    return end
           && sscanf(end + 1,
                     " %*c %*d %*d %d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d "
                     "%*d %*u %*u %ld",
                     &out->session, &out->user_ticks, &out->system_ticks, &out->rss_pages)
                  == 4;
}

static void add(struct maybe_u64 *to, uint64_t value)
{
    to->is_known = true;
    to->value += value;
}

void usage_of_sessions(const uint32_t *sessions, size_t n, struct rank_sample *out)
{
    const long ticks_per_s = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
    struct process p;
    for (size_t i = 0; i < n; i++)
        out[i].cpu_ms = out[i].rss = (struct maybe_u64){0};
    DIR *dir = opendir("/proc");
    for (const struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        if (!isdigit((unsigned char)entry->d_name[0]) || !read_process(entry->d_name, &p))
            continue;
        for (size_t i = 0; i < n; i++)
            if (sessions[i] && (uint32_t)p.session == sessions[i]) {
                add(&out[i].cpu_ms,
                    (p.user_ticks + p.system_ticks) * 1000 / (uint64_t)ticks_per_s);
                add(&out[i].rss, (uint64_t)p.rss_pages * (uint64_t)page);
                break;
            }
    }
    if (dir)
        closedir(dir);
}
