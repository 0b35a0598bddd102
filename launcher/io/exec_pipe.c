#include "launcher/io/exec_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void exec_pipe_init(struct exec_pipe *p)
{
    *p = (struct exec_pipe){.read = -1, .write = -1};
}

static void on_readable(void *ctx)
{
    exec_pipe_read(ctx);
}

int exec_pipe_open(struct exec_pipe *p, struct watch_set *watches,
                   void (*on_failure)(void *ctx, const struct spawn_failure *failure),
                   void *ctx, struct err *e)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(e, errno, "cannot make a pipe (open files: see ulimit -n)");
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    p->read = fds[0];
    p->write = fds[1];
    p->watches = watches;
    p->on_failure = on_failure;
    p->ctx = ctx;
    return watch_start(watches, &p->watch, p->read, on_readable, p, e);
}

void exec_pipe_all_forked(struct exec_pipe *p)
{
    if (p->write >= 0)
        close(p->write);
    p->write = -1;
}

void exec_pipe_read(struct exec_pipe *p)
{
    struct spawn_failure failure;
    ssize_t n = -1;
    while (p->read >= 0
           && (n = read(p->read, &failure, sizeof failure)) == (ssize_t)sizeof failure)
        p->on_failure(p->ctx, &failure);
    if (n == 0)
        watch_stop(p->watches, &p->watch, p->read); /* every worker has executed */
}

void exec_pipe_close(struct exec_pipe *p)
{
    exec_pipe_all_forked(p);
    if (p->read < 0)
        return;
    watch_forget(&p->watch);
    close(p->read);
    p->read = -1;
}
