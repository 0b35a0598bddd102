#include "launcher/io/log_reader.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 64 * 1024, LINE_BYTES_MAX = 1 << 20 };

void log_reader_init(struct log_reader *r, char *path, char *prefix, FILE *to)
{
    *r = (struct log_reader){.path = path, .prefix = prefix, .fd = -1, .to = to};
    buf_init(&r->part, 0);
}

static void print_part(struct log_reader *r)
{
    fputs(r->prefix, r->to);
    fwrite(buf_str(&r->part), 1, r->part.len, r->to);
    fputc('\n', r->to);
    buf_reset(&r->part);
}

static void take(struct log_reader *r, const char *p, size_t n)
{
    const char *end;
    while (n && (end = memchr(p, '\n', n))) {
        buf_add(&r->part, p, (size_t)(end - p));
        print_part(r);
        n -= (size_t)(end + 1 - p);
        p = end + 1;
    }
    buf_add(&r->part, p, n);
    if (r->part.len > LINE_BYTES_MAX)
        print_part(r);
}

static void read_rest(struct log_reader *r)
{
    char bytes[CHUNK];
    ssize_t n;
    while (r->fd >= 0 && (n = read(r->fd, bytes, sizeof bytes)) > 0)
        take(r, bytes, (size_t)n);
}

/* Whether the path now means another file than the one that is being read. */
static bool is_replaced(const struct log_reader *r)
{
    struct stat now, ours;
    return r->fd >= 0 && stat(r->path, &now) == 0 && fstat(r->fd, &ours) == 0
           && (now.st_ino != ours.st_ino || now.st_dev != ours.st_dev);
}

bool log_reader_go_on(struct log_reader *r)
{
    bool is_new = is_replaced(r);
    read_rest(r);
    if (is_new) {
        close(r->fd);
        r->fd = -1;
    }
    if (r->fd < 0) {
        r->fd = open(r->path, O_RDONLY | O_CLOEXEC);
        read_rest(r);
    }
    return r->fd >= 0;
}

void log_reader_fini(struct log_reader *r)
{
    if (r->part.len)
        print_part(r);
    buf_fini(&r->part);
    if (r->fd >= 0)
        close(r->fd);
    free(r->path);
    free(r->prefix);
}
