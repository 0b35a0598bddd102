#include "launcher/io/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"

enum { EVENTS_PER_ROUND = 256 };

struct watch_set {
    uv_poll_t poll;
    int fd; /* an epoll instance, readable when one of its descriptors is */
};

static void on_round(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct watch_set *set = poll->data;
    struct epoll_event ready[EVENTS_PER_ROUND];
    int n = epoll_wait(set->fd, ready, EVENTS_PER_ROUND, 0);
    for (int i = 0; i < n; i++) {
        struct watch *w = ready[i].data.ptr;
        if (w->on_ready) /* an earlier callback of this round may have ended it */
            w->on_ready(w->ctx);
    }
}

struct watch_set *watch_set_new(uv_loop_t *loop, struct err *e)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0) {
        err_sys(e, errno, "cannot make an epoll instance");
        return NULL;
    }
    struct watch_set *set = mem_alloc(1, sizeof *set);
    set->fd = fd;
    uv_poll_init(loop, &set->poll, fd);
    set->poll.data = set;
    uv_poll_start(&set->poll, UV_READABLE, on_round);
    return set;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void watch_set_close(struct watch_set *set)
{
    uv_close((uv_handle_t *)&set->poll, on_closed);
    close(set->fd);
}

static int start(struct watch_set *set, struct watch *w, int fd, uint32_t events,
                 void (*on_ready)(void *ctx), void *ctx, struct err *e)
{
    struct epoll_event event = {.events = events, .data.ptr = w};
    if (epoll_ctl(set->fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return err_sys(e, errno, "cannot watch a descriptor");
    w->on_ready = on_ready;
    w->ctx = ctx;
    return 0;
}

int watch_start(struct watch_set *set, struct watch *w, int fd, void (*on_ready)(void *ctx),
                void *ctx, struct err *e)
{
    return start(set, w, fd, EPOLLIN, on_ready, ctx, e);
}

int watch_start_writable(struct watch_set *set, struct watch *w, int fd,
                         void (*on_ready)(void *ctx), void *ctx, struct err *e)
{
    return start(set, w, fd, EPOLLOUT, on_ready, ctx, e);
}

void watch_stop(struct watch_set *set, struct watch *w, int fd)
{
    if (w->on_ready)
        epoll_ctl(set->fd, EPOLL_CTL_DEL, fd, NULL);
    w->on_ready = NULL;
}

void watch_forget(struct watch *w)
{
    w->on_ready = NULL;
}
