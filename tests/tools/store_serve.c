/* A stand-alone store for tests: store_serve [ADDRESS [PORT]]. Prints "listening HOST:PORT";
 * a line "generation" on standard input begins a new one and prints "ok"; end of input ends it.
 * Notes go to standard error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <uv.h>

#include "rendezvous/port.h"

struct serve {
    struct port *port;
    uv_pipe_t input;
    char line[64];
    size_t len;
};

static void on_note(void *ctx, const struct server_note *note)
{
    struct buf text;
    (void)ctx;
    buf_init(&text, 0);
    server_note_format(note, &text);
    fprintf(stderr, "store_serve: %s\n", buf_str(&text));
    buf_fini(&text);
}

static void on_line(struct serve *s)
{
    if (strcmp(s->line, "generation") == 0) {
        port_gate_close(s->port);
        port_generation_next(s->port);
        puts("ok");
    } else {
        puts("what?");
    }
    fflush(stdout);
}

static void on_alloc(uv_handle_t *h, size_t size, uv_buf_t *out)
{
    struct serve *s = h->data;
    (void)size;
    *out = uv_buf_init(s->line + s->len, 1);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *in)
{
    struct serve *s = stream->data;
    if (n < 0) {
        uv_close((uv_handle_t *)stream, NULL);
        port_close(s->port, NULL, NULL);
    } else if (n == 1 && *in->base == '\n') {
        s->line[s->len] = '\0';
        s->len = 0;
        on_line(s);
    } else if (n == 1 && s->len < sizeof s->line - 2) {
        s->len++;
    }
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    struct serve s = {0};
    struct port_options opt = port_options_default();
    struct err e;
    if (argc > 1)
        opt.address = argv[1];
    if (argc > 2)
        opt.port = (uint16_t)atoi(argv[2]);
    opt.on_note = on_note;
    if (getrandom(opt.seed, sizeof opt.seed, 0) != sizeof opt.seed)
        return 1;
    s.port = port_open(loop, &opt, &e);
    if (!s.port) {
        fprintf(stderr, "store_serve: %s\n", e.text);
        return err_exit_status(e.code);
    }
    printf(strchr(port_address(s.port), ':') ? "listening [%s]:%u\n" : "listening %s:%u\n",
           port_address(s.port), port_number(s.port));
    fflush(stdout);
    uv_pipe_init(loop, &s.input, 0);
    s.input.data = &s;
    if (uv_pipe_open(&s.input, 0) != 0
        || uv_read_start((uv_stream_t *)&s.input, on_alloc, on_read) != 0)
        return 1;
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 ? 0 : 1;
}
