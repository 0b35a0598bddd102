/* store_floor: what the same loop, sockets and bytes cost without a store. Prints "listening
 * HOST:PORT"; ends with its input.
 *
 * A batch is two u64, little-endian: how many bytes follow, and how many to answer once they
 * have come. PARK instead of that number: one byte, when a batch with RELEASE comes from
 * anyone. */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "store_floor.h"

enum { SLAB = 64 * 1024, ANSWER_MAX = 64 << 20, BACKLOG = 65535, HEADER = 16 };

struct conn {
    uv_tcp_t tcp;
    size_t len; /* of header */
    uint64_t left, answer;
    unsigned char header[HEADER];
};

struct server {
    uv_tcp_t listener;
    uv_pipe_t input;
    char *slab, *answer;
    struct conn **parked;
    size_t count, cap;
};

static struct server *server_of(const uv_handle_t *h)
{
    return h->loop->data;
}

/* A crowd of which one goes is none any more. */
static void on_closed(uv_handle_t *h)
{
    server_of(h)->count = 0;
    free(h->data);
}

static void close_one(uv_handle_t *h, void *arg)
{
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, on_closed);
}

static void on_written(uv_write_t *req, int status)
{
    (void)status;
    free(req);
}

static void send_answer(struct conn *c, uint64_t n)
{
    struct server *s = server_of((uv_handle_t *)&c->tcp);
    uv_buf_t part = uv_buf_init(s->answer, (unsigned)n);
    int sent = uv_try_write((uv_stream_t *)&c->tcp, &part, 1);
    if (sent == (int)n)
        return;
    part.len -= sent > 0 ? (size_t)sent : 0;
    uv_write(calloc(1, sizeof(uv_write_t)), (uv_stream_t *)&c->tcp, &part, 1, on_written);
}

static void park(struct server *s, struct conn *c)
{
    if (s->count == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 64;
        s->parked = realloc(s->parked, s->cap * sizeof(struct conn *));
    }
    s->parked[s->count++] = c;
}

static void answer(struct conn *c)
{
    struct server *s = server_of((uv_handle_t *)&c->tcp);
    if (c->answer == PARK) {
        park(s, c);
    } else if (c->answer == RELEASE) {
        for (size_t i = 0; i < s->count; i++)
            send_answer(s->parked[i], 1);
        s->count = 0;
    } else {
        send_answer(c, c->answer < ANSWER_MAX ? c->answer : ANSWER_MAX);
    }
}

/* The bytes of one batch, or a part; how many were taken. */
static size_t take(struct conn *c, const char *p, size_t n)
{
    if (c->len < HEADER) {
        size_t k = n < HEADER - c->len ? n : HEADER - c->len;
        memcpy(c->header + c->len, p, k);
        c->len += k;
        uint64_t both[2];
        memcpy(both, c->header, HEADER);
        c->left = le64toh(both[0]);
        c->answer = le64toh(both[1]);
        return k;
    }
    size_t k = n < c->left ? n : (size_t)c->left;
    c->left -= k;
    if (!c->left) {
        c->len = 0;
        answer(c);
    }
    return k;
}

static void on_alloc(uv_handle_t *h, size_t size, uv_buf_t *out)
{
    (void)size;
    *out = uv_buf_init(server_of(h)->slab, SLAB);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *in)
{
    if (n < 0) {
        uv_close((uv_handle_t *)stream, on_closed);
        return;
    }
    for (const char *p = in->base; n > 0;) {
        size_t k = take(stream->data, p, (size_t)n);
        p += k;
        n -= (ssize_t)k;
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct conn *c = status < 0 ? NULL : calloc(1, sizeof *c);
    if (!c)
        return;
    uv_tcp_init(listener->loop, &c->tcp);
    c->tcp.data = c;
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0) {
        uv_close((uv_handle_t *)&c->tcp, on_closed);
        return;
    }
    uv_tcp_nodelay(&c->tcp, 1);
    uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
}

static void on_input(uv_stream_t *input, ssize_t n, const uv_buf_t *in)
{
    (void)in;
    if (n < 0)
        uv_stop(input->loop);
}

static void say_address(const struct server *s)
{
    struct sockaddr_in addr;
    int len = sizeof addr;
    uv_tcp_getsockname(&s->listener, (struct sockaddr *)&addr, &len);
    printf("listening 127.0.0.1:%u\n", ntohs(addr.sin_port));
    fflush(stdout);
}

int main(void)
{
    uv_loop_t loop;
    struct server s = {.slab = malloc(SLAB), .answer = malloc(ANSWER_MAX)};
    struct sockaddr_in addr;
    /* real pages: untouched they would all be the one page of zeros, always in the cache */
    if (s.answer)
        memset(s.answer, 'a', ANSWER_MAX);
    uv_loop_init(&loop);
    loop.data = &s;
    uv_ip4_addr("127.0.0.1", 0, &addr);
    uv_tcp_init(&loop, &s.listener);
    uv_pipe_init(&loop, &s.input, 0);
    if (!s.slab || !s.answer || uv_tcp_bind(&s.listener, (const struct sockaddr *)&addr, 0) != 0
        || uv_listen((uv_stream_t *)&s.listener, BACKLOG, on_connection) != 0
        || uv_pipe_open(&s.input, 0) != 0) {
        fprintf(stderr, "store_floor: cannot listen\n");
        return 1;
    }
    uv_read_start((uv_stream_t *)&s.input, on_alloc, on_input);
    say_address(&s);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_walk(&loop, close_one, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    free(s.slab);
    free(s.answer);
    free(s.parked);
    return 0;
}
