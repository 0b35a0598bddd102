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
    for (int i = 0; i < SIGNALS_MAX; i++) {
        if (watched[i] != SIGCHLD && is_ignored(watched[i]))
            continue;
        uv_signal_t *handle = &s->handles[s->nhandles++];
        uv_signal_init(loop, handle);
        handle->data = s;
        uv_signal_start(handle, on_uv_signal, watched[i]);
    }
}

void signals_close(struct signals *s)
{
    for (int i = 0; i < s->nhandles; i++)
        uv_close((uv_handle_t *)&s->handles[i], NULL);
}
