#include "launcher/io/stdin_fan.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

enum {
    CHUNK_BYTES = 64 * 1024,
    CHUNKS_MAX = 16, /* one after the other, before others get their turn */
};

/* How to read without ever blocking. */
enum source_kind {
    SOURCE_FILE,   /* a regular file or device: always ready */
    SOURCE_POLLED, /* pipe or terminal opened once more, non-blocking */
    SOURCE_SOCKET, /* MSG_DONTWAIT */
    SOURCE_CAREFUL /* cannot be opened again: read only what poll promises */
};

struct end {
    struct stdin_fan *fan;
    int fd;      /* -1 = reads no more */
    size_t done; /* of the chunk */
    struct watch watch;
};

struct stdin_fan {
    struct watch_set *watches;
    int fd;
    enum source_kind kind;
    bool is_own_fd, is_ended, has_started;
    bool drops; /* what nobody reads any more is read all the same */
    struct watch watch;
    struct end *ends; /* by local rank */
    uint32_t nends;
    size_t len;
    char chunk[CHUNK_BYTES];
};

static void pump(struct stdin_fan *f);

static void on_ready(void *ctx)
{
    struct stdin_fan *f = ctx;
    watch_stop(f->watches, &f->watch, f->fd);
    pump(f);
}

static void on_writable(void *ctx)
{
    struct end *end = ctx;
    watch_stop(end->fan->watches, &end->watch, end->fd);
    pump(end->fan);
}

/* ---- to one worker ---- */

static void end_close(struct end *end)
{
    if (end->fd < 0)
        return;
    watch_stop(end->fan->watches, &end->watch, end->fd);
    close(end->fd);
    end->fd = -1;
}

static void end_wait(struct end *end)
{
    struct err e;
    if (!end->watch.on_ready
        && watch_start_writable(end->fan->watches, &end->watch, end->fd, on_writable, end, &e)
               < 0) {
        log_warn("stdin", "%s", e.text);
        end_close(end);
    }
}

/* Whether it has taken the chunk, or takes nothing any more. */
static bool end_flush(struct end *end)
{
    while (end->fd >= 0 && end->done < end->fan->len) {
        ssize_t n = write(end->fd, end->fan->chunk + end->done, end->fan->len - end->done);
        if (n > 0)
            end->done += (size_t)n;
        else if (errno == EAGAIN)
            return end_wait(end), false;
        else if (errno != EINTR)
            end_close(end); /* EPIPE: it has closed its input */
    }
    return true;
}

/* ---- from the source ---- */

static void source_open(struct stdin_fan *f, int fd)
{
    struct stat st;
    char path[32];
    f->fd = fd;
    f->kind = SOURCE_FILE;
    if (fstat(fd, &st) < 0)
        f->is_ended = true;
    else if (S_ISSOCK(st.st_mode))
        f->kind = SOURCE_SOCKET;
    else if (S_ISFIFO(st.st_mode) || isatty(fd)) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int again = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        f->kind = again >= 0 ? SOURCE_POLLED : SOURCE_CAREFUL;
        f->is_own_fd = again >= 0;
        f->fd = again >= 0 ? again : fd;
    }
}

static ssize_t source_try(struct stdin_fan *f)
{
    if (f->kind == SOURCE_SOCKET)
        return recv(f->fd, f->chunk, sizeof f->chunk, MSG_DONTWAIT);
    struct pollfd ready = {f->fd, POLLIN, 0};
    if (f->kind == SOURCE_CAREFUL && poll(&ready, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return read(f->fd, f->chunk, sizeof f->chunk);
}

/* Whether there is a chunk or the end; else we are called once there is. */
static bool source_read(struct stdin_fan *f)
{
    ssize_t n;
    struct err e;
    while ((n = source_try(f)) < 0 && errno == EINTR)
        ;
    if (n < 0 && errno == EAGAIN
        && watch_start(f->watches, &f->watch, f->fd, on_ready, f, &e) == 0)
        return false;
    if (n < 0)
        log_warn("stdin", "standard input cannot be read: %s", strerror(errno));
    f->is_ended = n <= 0;
    f->len = n > 0 ? (size_t)n : 0;
    for (uint32_t i = 0; i < f->nends; i++)
        f->ends[i].done = 0;
    return true;
}

/* ---- the whole ---- */

static struct end *any_open(struct stdin_fan *f)
{
    for (uint32_t i = 0; i < f->nends; i++)
        if (f->ends[i].fd >= 0)
            return &f->ends[i];
    return NULL;
}

static bool is_wanted(struct stdin_fan *f)
{
    return any_open(f) || (f->drops && f->has_started);
}

static bool flush_all(struct stdin_fan *f)
{
    bool is_done = true;
    for (uint32_t i = 0; i < f->nends; i++)
        is_done = end_flush(&f->ends[i]) && is_done;
    return is_done;
}

static void go_on_later(struct stdin_fan *f)
{
    struct err e;
    struct end *end = any_open(f);
    if (end)
        end_wait(end);
    else if (watch_start(f->watches, &f->watch, f->fd, on_ready, f, &e) < 0)
        log_warn("stdin", "%s", e.text);
}

static void pump(struct stdin_fan *f)
{
    if (f->watch.on_ready) /* nothing to pass on yet */
        return;
    for (int i = 0; i < CHUNKS_MAX; i++) {
        if (!flush_all(f))
            return;
        for (uint32_t k = 0; f->is_ended && k < f->nends; k++)
            end_close(&f->ends[k]);
        if (f->is_ended || !is_wanted(f) || !source_read(f))
            return;
    }
    go_on_later(f);
}

struct stdin_fan *stdin_fan_new(struct watch_set *watches, int fd)
{
    struct stdin_fan *f = mem_alloc(1, sizeof *f);
    f->watches = watches;
    source_open(f, fd);
    return f;
}

static void close_ends(struct stdin_fan *f)
{
    for (uint32_t i = 0; i < f->nends; i++)
        end_close(&f->ends[i]);
    free(f->ends);
    f->ends = NULL;
    f->nends = 0;
    f->len = 0;
    watch_stop(f->watches, &f->watch, f->fd);
}

void stdin_fan_never_stall(struct stdin_fan *f)
{
    f->drops = true;
}

void stdin_fan_begin(struct stdin_fan *f, uint32_t nworkers)
{
    close_ends(f);
    f->has_started = false;
    f->ends = mem_alloc(nworkers, sizeof *f->ends);
    f->nends = nworkers;
    for (uint32_t i = 0; i < nworkers; i++)
        f->ends[i] = (struct end){.fan = f, .fd = -1};
}

int stdin_fan_add(struct stdin_fan *f, uint32_t local_rank, int *read_end, struct err *e)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(e, errno, "cannot make a pipe (open files: see ulimit -n)");
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
    *read_end = fds[0];
    f->ends[local_rank].fd = fds[1];
    return 0;
}

void stdin_fan_start(struct stdin_fan *f)
{
    f->has_started = true;
    pump(f);
}

void stdin_fan_drop(struct stdin_fan *f, uint32_t local_rank)
{
    end_close(&f->ends[local_rank]);
    pump(f);
}

void stdin_fan_free(struct stdin_fan *f)
{
    if (!f)
        return;
    close_ends(f);
    if (f->is_own_fd)
        close(f->fd);
    free(f);
}
