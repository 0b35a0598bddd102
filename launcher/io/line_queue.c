#include "launcher/io/line_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"

enum { FULL_BYTES = 1024 * 1024 };

/* How to write without ever blocking. */
enum queue_kind {
    QUEUE_FILE,   /* a regular file or device: does not block for long */
    QUEUE_POLLED, /* opened once more, non-blocking */
    QUEUE_SOCKET, /* MSG_DONTWAIT */
    QUEUE_CAREFUL /* cannot be opened again: write only what poll promises to fit */
};

struct line_queue {
    const char *name;
    int fd;
    enum queue_kind kind;
    bool is_dead, is_waiting, is_closing;
    uint64_t nlost;
    struct buf pending;
    uv_poll_t poll;
    uv_timer_t timer;
    int nhandles;
};

static void reopen(struct line_queue *q)
{
    struct stat st;
    char path[32];
    q->kind = QUEUE_FILE;
    if (fstat(q->fd, &st) < 0)
        return;
    if (S_ISSOCK(st.st_mode)) {
        q->kind = QUEUE_SOCKET;
    } else if (S_ISFIFO(st.st_mode) || isatty(q->fd)) {
        q->kind = QUEUE_POLLED;
        if (fcntl(q->fd, F_GETFL) & O_NONBLOCK)
            return;
        snprintf(path, sizeof path, "/proc/self/fd/%d", q->fd);
        int again = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        q->kind = again >= 0 ? QUEUE_POLLED : QUEUE_CAREFUL;
        if (again >= 0) {
            close(q->fd);
            q->fd = again;
        }
    }
}

static ssize_t try_write(const struct line_queue *q, const char *p, size_t n)
{
    if (q->kind == QUEUE_SOCKET)
        return send(q->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    struct pollfd ready = {q->fd, POLLOUT, 0};
    if (q->kind == QUEUE_CAREFUL && poll(&ready, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(q->fd, p, n);
}

/* The first line, or what one write can take of it. */
static size_t first_piece(const struct buf *b)
{
    const char *end = memchr(b->data, '\n', b->len);
    size_t n = end ? (size_t)(end - b->data) + 1 : b->len;
    return n < PIPE_BUF ? n : PIPE_BUF;
}

static void finish(struct line_queue *q);
static void wait_for_reader(struct line_queue *q, bool is_waiting);

static void die(struct line_queue *q, int why)
{
    q->is_dead = true;
    buf_reset(&q->pending);
    log_warn(q->name, "%s cannot be written any more: %s", q->name, strerror(why));
}

/* Copies once for many lines: consumed only at the end. */
static void flush(struct line_queue *q)
{
    struct buf rest = q->pending;
    while (rest.len) {
        ssize_t n = try_write(q, rest.data, first_piece(&rest));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        rest.data += n;
        rest.len -= (size_t)n;
    }
    int why = errno;
    bool is_left = rest.len > 0;
    buf_consume(&q->pending, q->pending.len - rest.len);
    if (is_left && (q->kind == QUEUE_FILE || why != EAGAIN)) {
        die(q, why); /* the job goes on without */
        is_left = false;
    }
    wait_for_reader(q, is_left);
    if (!is_left && q->is_closing)
        finish(q);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    flush(poll->data);
}

static void wait_for_reader(struct line_queue *q, bool is_waiting)
{
    if (q->is_waiting == is_waiting)
        return;
    q->is_waiting = is_waiting;
    if (is_waiting)
        uv_poll_start(&q->poll, UV_WRITABLE, on_writable);
    else
        uv_poll_stop(&q->poll);
}

struct line_queue *line_queue_new(uv_loop_t *loop, int fd, const char *name)
{
    struct line_queue *q = mem_alloc(1, sizeof *q);
    q->name = name;
    q->fd = fd;
    buf_init(&q->pending, 0);
    reopen(q);
    uv_timer_init(loop, &q->timer);
    q->timer.data = q;
    q->nhandles = 1;
    if (q->kind == QUEUE_FILE)
        return q;
    int flags = fcntl(q->fd, F_GETFL);
    if (uv_poll_init(loop, &q->poll, q->fd) < 0) {
        q->kind = QUEUE_FILE;
        return q;
    }
    fcntl(q->fd, F_SETFL, flags); /* libuv made it non-blocking for all who share it */
    q->poll.data = q;
    q->nhandles++;
    return q;
}

bool line_queue_add(struct line_queue *q, const char *line, size_t n)
{
    if (q->is_dead)
        return true;
    if (q->pending.len + n > FULL_BYTES) {
        q->nlost++;
        return false;
    }
    buf_add(&q->pending, line, n);
    if (!q->is_waiting)
        flush(q);
    return true;
}

uint64_t line_queue_take_lost(struct line_queue *q)
{
    uint64_t nlost = q->pending.len <= FULL_BYTES / 2 ? q->nlost : 0;
    if (nlost)
        q->nlost = 0;
    return nlost;
}

static void on_closed(uv_handle_t *handle)
{
    struct line_queue *q = handle->data;
    if (--q->nhandles)
        return;
    close(q->fd);
    buf_fini(&q->pending);
    free(q);
}

static void finish(struct line_queue *q)
{
    q->is_closing = false;
    uv_close((uv_handle_t *)&q->timer, on_closed);
    if (q->poll.data)
        uv_close((uv_handle_t *)&q->poll, on_closed);
}

static void on_timer(uv_timer_t *timer)
{
    struct line_queue *q = timer->data;
    log_warn(q->name, "nobody reads them; what was still to be written is lost");
    finish(q);
}

void line_queue_close(struct line_queue *q, uint64_t wait_ms)
{
    q->is_closing = true;
    if (q->is_waiting)
        uv_timer_start(&q->timer, on_timer, wait_ms, 0);
    else
        finish(q);
}
