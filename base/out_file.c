#include "base/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static bool is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

static bool is_replaced(const char *path)
{
    struct stat st;
    return lstat(path, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
}

/* Standard output or error, if path leads there; else -1. */
static int own_stream(const char *path)
{
    struct stat named, own;
    if (stat(path, &named) < 0)
        return -1;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &own) == 0 && own.st_dev == named.st_dev && own.st_ino == named.st_ino)
            return fd;
    return -1;
}

/* 0 or an errno value. */
static int write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno != EINTR)
            return errno;
        p += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
    return 0;
}

static int write_in_place(const char *path, const void *p, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0)
        return errno;
    int why = write_all(fd, p, n);
    return close(fd) < 0 && !why ? errno : why;
}

static int replace(const char *path, const void *p, size_t n)
{
    char *beside = mem_printf("%s.%ld.tmp", path, (long)getpid());
    int why = write_in_place(beside, p, n);
    if (!why && rename(beside, path) < 0)
        why = errno;
    if (why)
        unlink(beside);
    free(beside);
    return why;
}

int out_file_check(const char *path)
{
    struct stat st;
    const char *slash = strrchr(path, '/');
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return EISDIR;
    if (!is_replaced(path) && own_stream(path) >= 0)
        return 0;
    char *dir = !slash ? mem_strdup(".") : mem_printf("%.*s", (int)(slash - path + 1), path);
    int why = access(!is_replaced(path) && is_there(path) ? path : dir, W_OK) < 0 ? errno : 0;
    free(dir);
    return why;
}

int out_file_write(const char *path, const void *p, size_t n, struct err *e)
{
    int why, fd;
    if (is_replaced(path))
        why = replace(path, p, n);
    else if ((fd = own_stream(path)) >= 0)
        why = write_all(fd, p, n);
    else
        why = write_in_place(path, p, n);
    return why ? err_sys(e, why, "cannot write %s", path) : 0;
}
