#include "launcher/io/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

void descriptors_keep(void)
{
    if (syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC, Linux 5.11 */) == 0)
        return;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        int fd = atoi(entry->d_name);
        if (fd > STDERR_FILENO && fd != dirfd(dir))
            fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    if (dir)
        closedir(dir);
}

uint64_t descriptors_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max != RLIM_INFINITY
               ? limit.rlim_max
               : UINT64_MAX;
}

struct rlimit descriptors_raise_limit(void)
{
    struct rlimit original = {1024, 1024};
    if (getrlimit(RLIMIT_NOFILE, &original) == 0 && original.rlim_cur < original.rlim_max) {
        struct rlimit raised = {original.rlim_max, original.rlim_max};
        setrlimit(RLIMIT_NOFILE, &raised);
    }
    return original;
}
