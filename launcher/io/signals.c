#include "launcher/io/signals.h"

#include <signal.h>
#include <stdbool.h>

static void on_uv_signal(uv_signal_t *handle, int signo)
{
    struct signals *s = handle->data;
    s->on_signal(s->ctx, signo);
}

static bool is_ignored(int signo)
{
    struct sigaction now;
    return sigaction(signo, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void watch(struct signals *s, int signo)
{
    uv_signal_t *handle = &s->handles[s->nhandles++];
    uv_signal_init(s->loop, handle);
    handle->data = s;
    uv_signal_start(handle, on_uv_signal, signo);
}

void signals_open(struct signals *s, uv_loop_t *loop, void *ctx,
                  void (*on_signal)(void *ctx, int signo))
{
    static const int watched[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                  SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD};
    s->ctx = ctx;
    s->on_signal = on_signal;
    s->nhandles = 0;
    signal(SIGPIPE, SIG_IGN);
    sigset_t none; /* whoever started us may have left signals blocked: they would never come */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    s->loop = loop;
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++)
        if (watched[i] == SIGCHLD || !is_ignored(watched[i]))
            watch(s, watched[i]);
}

static bool is_watched(const struct signals *s, int signo)
{
    for (int i = 0; i < s->nhandles; i++)
        if (s->handles[i].signum == signo)
            return true;
    return false;
}

void signals_add(struct signals *s, uint64_t set)
{
    for (int signo = 1; signo < 32 && s->nhandles < SIGNALS_MAX; signo++)
        if (set >> signo & 1 && !is_watched(s, signo) && !is_ignored(signo))
            watch(s, signo);
}

void signals_close(struct signals *s)
{
    for (int i = 0; i < s->nhandles; i++)
        uv_close((uv_handle_t *)&s->handles[i], NULL);
}
