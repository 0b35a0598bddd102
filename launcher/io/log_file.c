#include "launcher/io/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

struct log_file {
    char *path;
    int fd; /* -1 = given up */
    uint64_t size, limit;
    bool is_at_line; /* what was written last ended a line */
};

static int open_empty(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

struct log_file *log_file_open(const char *path, uint64_t limit, struct err *e)
{
    int fd = open_empty(path);
    if (fd < 0) {
        err_sys(e, errno, "cannot write %s", path);
        return NULL;
    }
    struct log_file *f = mem_alloc(1, sizeof *f);
    f->path = mem_strdup(path);
    f->fd = fd;
    f->limit = limit;
    return f;
}

static void give_up(struct log_file *f)
{
    log_warn("output", "cannot write a worker's log file: %s; going on without it",
             strerror(errno));
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

static void rotate(struct log_file *f)
{
    char *older = mem_printf("%s.1", f->path);
    close(f->fd);
    f->fd = rename(f->path, older) == 0 ? open_empty(f->path) : -1;
    f->size = 0;
    if (f->fd < 0)
        give_up(f);
    free(older);
}

/* How many of n bytes go into the present file; 0: a new one has to begin. In the last eighth
 * it ends with the first line that ends there, so that a chunk's unfinished line is not cut. */
static size_t fitting(const struct log_file *f, const char *p, size_t n)
{
    uint64_t room = f->limit > f->size ? f->limit - f->size : 0, late = f->limit / 8;
    if (!f->limit || n + late <= room)
        return n;
    if (f->is_at_line && f->size && room <= late)
        return 0;
    const char *newline = memrchr(p, '\n', n < room ? n : (size_t)room);
    if (newline)
        return (size_t)(newline - p) + 1;
    if (n <= room)
        return n;
    return f->size ? 0 : (size_t)room;
}

static void write_all(struct log_file *f, const char *p, size_t n)
{
    while (n && f->fd >= 0) {
        ssize_t k = write(f->fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) {
            give_up(f);
            return;
        }
        f->size += (uint64_t)k;
        p += k;
        n -= (size_t)k;
    }
}

void log_file_write(struct log_file *f, const char *p, size_t n)
{
    while (n && f->fd >= 0) {
        size_t k = fitting(f, p, n);
        if (k == 0)
            rotate(f);
        else
            write_all(f, p, k);
        f->is_at_line = k && p[k - 1] == '\n';
        p += k;
        n -= k;
    }
}

void log_file_close(struct log_file *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    free(f);
}
