#include "launcher/io/agent_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"

struct agent_input {
    void *ctx;
    void (*more)(void *ctx);
    int read_end;
    uv_pipe_t pipe; /* to be written */
    uv_write_t write;
    char *bytes; /* that are being written */
    bool has_begun, is_closed, is_left;
};

static void on_written(uv_write_t *write, int status)
{
    struct agent_input *ai = write->data;
    free(ai->bytes);
    ai->bytes = NULL;
    if (status == 0)
        ai->more(ai->ctx);
}

struct agent_input *agent_input_new(struct uv_loop_s *loop, void *ctx, void (*more)(void *ctx),
                                    struct err *e)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(e, errno, "cannot make a pipe (open files: see ulimit -n)"), NULL;
    struct agent_input *ai = mem_alloc(1, sizeof *ai);
    ai->ctx = ctx;
    ai->more = more;
    ai->read_end = fds[0];
    uv_pipe_init(loop, &ai->pipe, 0);
    ai->pipe.data = ai;
    uv_pipe_open(&ai->pipe, fds[1]);
    return ai;
}

int agent_input_fd(const struct agent_input *ai)
{
    return ai->read_end;
}

void agent_input_begin(struct agent_input *ai)
{
    if (!ai->has_begun)
        ai->more(ai->ctx);
    ai->has_begun = true;
}

/* The end is all that a reader had to see; the rest stays until nobody needs it. */
static void on_closed(uv_handle_t *handle)
{
    struct agent_input *ai = handle->data;
    ai->is_closed = true;
    if (ai->is_left)
        free(ai);
}

void agent_input_take(struct agent_input *ai, struct str bytes)
{
    if (ai->bytes || uv_is_closing((uv_handle_t *)&ai->pipe))
        return;
    if (!bytes.n) {
        uv_close((uv_handle_t *)&ai->pipe, on_closed);
        return;
    }
    ai->bytes = mem_dup(bytes.p, bytes.n);
    ai->write.data = ai;
    uv_buf_t buf = uv_buf_init(ai->bytes, (unsigned)bytes.n);
    if (uv_write(&ai->write, (uv_stream_t *)&ai->pipe, &buf, 1, on_written) < 0) {
        free(ai->bytes);
        ai->bytes = NULL;
    }
}

void agent_input_close(struct agent_input *ai)
{
    if (!ai)
        return;
    close(ai->read_end);
    ai->is_left = true;
    if (ai->is_closed)
        free(ai);
    else if (!uv_is_closing((uv_handle_t *)&ai->pipe))
        uv_close((uv_handle_t *)&ai->pipe, on_closed);
}
