#include "live_server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "base/mem.h"

struct live_server {
    uv_loop_t loop;
    uv_async_t wake;
    uv_sem_t done;
    uv_thread_t thread;
    struct port *port;
    uint16_t number;
    void (*fn)(struct port *p, void *arg); /* NULL: stop */
    void *arg;
};

static void on_wake(uv_async_t *h)
{
    struct live_server *s = h->data;
    if (s->fn) {
        s->fn(s->port, s->arg);
    } else {
        port_close(s->port, NULL, NULL);
        uv_close((uv_handle_t *)h, NULL);
    }
    uv_sem_post(&s->done);
}

static void run(void *arg)
{
    struct live_server *s = arg;
    uv_run(&s->loop, UV_RUN_DEFAULT);
}

struct live_server *live_server_start(const struct port_options *opt)
{
    struct live_server *s = mem_alloc(1, sizeof *s);
    struct port_options defaults = port_options_default();
    struct err e;
    signal(SIGPIPE, SIG_IGN); /* as the launcher does */
    uv_loop_init(&s->loop);
    uv_sem_init(&s->done, 0);
    uv_async_init(&s->loop, &s->wake, on_wake);
    s->wake.data = s;
    s->port = port_open(&s->loop, opt ? opt : &defaults, &e);
    if (!s->port) {
        fprintf(stderr, "%s\n", e.text);
        exit(1);
    }
    s->number = port_number(s->port);
    uv_thread_create(&s->thread, run, s);
    return s;
}

uint16_t live_server_port(const struct live_server *s)
{
    return s->number;
}

void live_server_call(struct live_server *s, void (*fn)(struct port *p, void *arg), void *arg)
{
    s->fn = fn;
    s->arg = arg;
    uv_async_send(&s->wake);
    uv_sem_wait(&s->done);
}

static void next_generation(struct port *p, void *arg)
{
    (void)arg;
    port_gate_close(p);
    port_generation_next(p);
}

void live_server_generation(struct live_server *s)
{
    live_server_call(s, next_generation, NULL);
}

void live_server_stop(struct live_server *s)
{
    live_server_call(s, NULL, NULL);
    uv_thread_join(&s->thread);
    if (uv_loop_close(&s->loop) != 0)
        abort(); /* a handle was left behind */
    uv_sem_destroy(&s->done);
    free(s);
}
