#include "launcher/io/head_input.h"

#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "launcher/io/stdin_fan.h"

enum { CHUNK_BYTES = 64 * 1024 };

/* The fan knows how to read whatever standard input is without blocking; its one reader is our
 * pipe. */
struct head_input {
    void *ctx;
    void (*send)(void *ctx, uint32_t link, struct str bytes);
    uint32_t nreaders;
    uint32_t *links; /* that have asked */
    size_t nlinks, cap;
    struct watch_set *watches;
    struct stdin_fan *fan;
    uv_pipe_t pipe;
    bool has_ended, is_closing;
    char chunk[CHUNK_BYTES];
};

static bool is_in_background(void)
{
    pid_t group = tcgetpgrp(STDIN_FILENO);
    return group >= 0 && group != getpgrp();
}

static void send_all(struct head_input *hi, struct str bytes)
{
    for (size_t i = 0; i < hi->nlinks; i++)
        hi->send(hi->ctx, hi->links[i], bytes);
    hi->nlinks = 0;
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct head_input *hi = handle->data;
    (void)size;
    *buf = uv_buf_init(hi->chunk, sizeof hi->chunk);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct head_input *hi = stream->data;
    if (n == 0)
        return;
    uv_read_stop(stream);
    hi->has_ended = n < 0;
    send_all(hi, (struct str){buf->base, n > 0 ? (size_t)n : 0});
}

struct head_input *head_input_new(struct uv_loop_s *loop, uint32_t nreaders, void *ctx,
                                  void (*send)(void *ctx, uint32_t link, struct str bytes),
                                  struct err *e)
{
    int fd = -1;
    struct head_input *hi = mem_alloc(1, sizeof *hi);
    hi->ctx = ctx;
    hi->send = send;
    hi->nreaders = nreaders;
    hi->watches = watch_set_new(loop, e);
    if (!hi->watches) {
        free(hi);
        return NULL;
    }
    hi->fan = stdin_fan_new(hi->watches, STDIN_FILENO);
    stdin_fan_begin(hi->fan, 1);
    if (stdin_fan_add(hi->fan, 0, &fd, e) < 0) {
        stdin_fan_free(hi->fan);
        watch_set_close(hi->watches);
        free(hi);
        return NULL;
    }
    uv_pipe_init(loop, &hi->pipe, 0);
    hi->pipe.data = hi;
    uv_pipe_open(&hi->pipe, fd);
    hi->has_ended = is_in_background();
    return hi;
}

void head_input_more(struct head_input *hi, uint32_t link)
{
    for (size_t i = 0; i < hi->nlinks; i++)
        if (hi->links[i] == link)
            return;
    array_grow(hi->links, hi->nlinks, hi->cap);
    hi->links[hi->nlinks++] = link;
    if (hi->has_ended) {
        send_all(hi, (struct str){NULL, 0});
    } else if (hi->nlinks >= hi->nreaders && !hi->is_closing) {
        stdin_fan_start(hi->fan);
        uv_read_start((uv_stream_t *)&hi->pipe, on_alloc, on_read);
    }
}

void head_input_close(struct head_input *hi)
{
    if (!hi || hi->is_closing)
        return;
    hi->is_closing = true;
    stdin_fan_begin(hi->fan, 0);
    watch_set_close(hi->watches);
    uv_close((uv_handle_t *)&hi->pipe, NULL);
}

void head_input_free(struct head_input *hi)
{
    if (!hi)
        return;
    stdin_fan_free(hi->fan);
    free(hi->links);
    free(hi);
}
