/* signals.h - the signals that reach muster, as numbers for whoever drives the job.
 *
 * Owns the handles; what a signal means is decided in core/.
 */
#ifndef MUSTER_LAUNCHER_IO_SIGNALS_H
#define MUSTER_LAUNCHER_IO_SIGNALS_H

#include <uv.h>

enum { SIGNALS_MAX = 24 };

struct signals {
    uv_signal_t handles[SIGNALS_MAX];
    int nhandles;
    uv_loop_t *loop;
    void *ctx;
    void (*on_signal)(void *ctx, int signo);
};

/* Watches INT, TERM, HUP, QUIT, USR1, USR2, TSTP, CONT and CHLD; what was ignored when muster
 * started (nohup, background jobs) stays ignored. SIGPIPE is ignored: writing says EPIPE.
 * Caller's memory until the loop has ended. */
void signals_open(struct signals *s, uv_loop_t *loop, void *ctx,
                  void (*on_signal)(void *ctx, int signo));

/* Watches those of a set (bit N: signal N) that are not watched yet, after signals_open. */
void signals_add(struct signals *s, uint64_t set);
/* Asynchronous: the memory is in use until the loop has ended. */
void signals_close(struct signals *s);

#endif
