#include "launcher/io/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

enum { PIPE_BYTES = 1 << 20 }; /* what every user may ask for: fs.pipe-max-size, pipe(7) */

/* Once every piece is more than fits, muster and its reader take turns. */
static void widen(int fd)
{
    int bytes = fcntl(fd, F_GETPIPE_SZ);
    if (bytes >= 0 && bytes < PIPE_BYTES)
        fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES); /* as it was, if it may not grow */
}

void sink_open(struct sink *sink, uv_loop_t *loop, int fd, void *ctx,
               void (*on_waiting)(void *ctx), void (*on_dead)(void *ctx))
{
    struct stat st;
    sink->fd = fd;
    sink->kind = SINK_FILE;
    buf_init(&sink->pending, 0);
    sink->ctx = ctx;
    sink->on_waiting = on_waiting;
    sink->on_dead = on_dead;
    if (fstat(fd, &st) < 0) {
        sink->is_dead = true;
        return;
    }
    if (S_ISSOCK(st.st_mode)) {
        sink->kind = SINK_SOCKET;
    } else if (S_ISFIFO(st.st_mode) || isatty(fd)) {
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int again = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        sink->kind = again >= 0 ? SINK_POLLED : SINK_CAREFUL;
        sink->is_own_fd = again >= 0;
        sink->fd = again >= 0 ? again : fd;
    }
    if (sink->kind == SINK_FILE)
        return;
    widen(sink->fd);
    int flags = fcntl(sink->fd, F_GETFL);
    if (uv_poll_init(loop, &sink->poll, sink->fd) < 0) {
        sink->kind = SINK_FILE;
        return;
    }
    if (!sink->is_own_fd)
        fcntl(fd, F_SETFL, flags); /* libuv made it non-blocking for all who share it */
    sink->poll.data = sink;
}

static ssize_t try_write(struct sink *sink, const char *p, size_t n)
{
    if (sink->kind == SINK_SOCKET)
        return send(sink->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sink->kind == SINK_CAREFUL) {
        struct pollfd ready = {sink->fd, POLLOUT, 0};
        if (poll(&ready, 1, 0) == 0) {
            errno = EAGAIN;
            return -1;
        }
        n = n < PIPE_BUF ? n : PIPE_BUF;
    }
    return write(sink->fd, p, n);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct sink *sink = poll->data;
    sink_flush(sink);
}

static void set_waiting(struct sink *sink, bool is_waiting)
{
    if (sink->is_waiting == is_waiting)
        return;
    sink->is_waiting = is_waiting;
    if (is_waiting)
        uv_poll_start(&sink->poll, UV_WRITABLE, on_writable);
    else
        uv_poll_stop(&sink->poll);
    sink->on_waiting(sink->ctx);
}

static void die(struct sink *sink)
{
    sink->is_dead = true;
    buf_reset(&sink->pending);
    sink->on_dead(sink->ctx);
}

void sink_flush(struct sink *sink)
{
    size_t done = 0;
    while (done < sink->pending.len) {
        ssize_t n = try_write(sink, sink->pending.data + done, sink->pending.len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        done += (size_t)n;
    }
    int why = errno;
    bool is_left = done < sink->pending.len;
    buf_consume(&sink->pending, done);
    if (is_left && !(sink->kind != SINK_FILE && why == EAGAIN)) {
        die(sink); /* first: the message may want to go to this very sink */
        if (why != EPIPE && why != ECONNRESET && why != EIO) /* EIO: a closed terminal */
            log_error("output", "cannot write the workers' output: %s", strerror(why));
        is_left = false;
    }
    if (sink->kind != SINK_FILE)
        set_waiting(sink, is_left);
}

size_t sink_drop(struct sink *sink)
{
    size_t lost = sink->pending.len;
    buf_reset(&sink->pending);
    if (sink->is_waiting)
        set_waiting(sink, false);
    return lost;
}

static void finish(struct sink *sink)
{
    if (sink->is_own_fd)
        close(sink->fd);
    buf_fini(&sink->pending);
    sink->on_closed(sink->ctx);
}

static void on_poll_closed(uv_handle_t *handle)
{
    finish(handle->data);
}

void sink_close(struct sink *sink, void (*on_closed)(void *ctx))
{
    sink->on_closed = on_closed;
    if (sink->poll.data)
        uv_close((uv_handle_t *)&sink->poll, on_poll_closed);
    else
        finish(sink);
}
