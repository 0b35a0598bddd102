#include "launcher/core/node_stop.h"

#include <signal.h>

#include "launcher/core/node_drain.h"
#include "launcher/core/node_pulse.h"
#include "launcher/core/note.h"

enum { KILL_WAIT_MS = 10000 }; /* a process that survives SIGKILL this long is left behind */

void node_stop_worker(struct effects *fx, uint32_t local_rank, int signo)
{
    struct effect *kill = effects_add(fx, FX_KILL);
    kill->u.kill.local_rank = local_rank;
    kill->u.kill.signo = signo;
}

/* Groups whose leader is dead get the signal too: its children may live. */
static void kill_all(struct node *n, struct effects *fx, int signo)
{
    for (uint32_t i = 0; i < n->nworkers; i++)
        if (n->workers[i].pid)
            node_stop_worker(fx, i, signo);
}

void node_stop_kill(struct node *n, uint64_t now_ms, struct effects *fx)
{
    node_move(n, NODE_KILL);
    n->stop_signo = SIGKILL;
    kill_all(n, fx, SIGKILL);
    n->deadline_ms = now_ms + KILL_WAIT_MS;
}

void node_stop_term(struct node *n, int signo, uint64_t grace_ms, uint64_t now_ms,
                    struct effects *fx)
{
    node_move(n, NODE_TERM);
    n->stop_signo = signo;
    n->deadline_ms = n->grace_end_ms = now_ms + grace_ms;
    kill_all(n, fx, signo);
    kill_all(n, fx, SIGCONT); /* a stopped process acts on no signal */
}

static void enter_notice(struct node *n, const struct frame *stop, uint64_t now_ms,
                         struct effects *fx)
{
    node_move(n, NODE_NOTICE);
    n->stop_signo = stop->u.stop.notice.signo;
    n->stop.signo = stop->u.stop.signo;
    n->stop.grace_ms = stop->u.stop.grace_ms;
    n->deadline_ms = now_ms + stop->u.stop.notice.ms;
    n->grace_end_ms = n->deadline_ms + stop->u.stop.grace_ms;
    kill_all(n, fx, n->stop_signo);
    kill_all(n, fx, SIGCONT);
}

void node_stop_frame(struct node *n, const struct frame *stop, uint64_t now_ms,
                     struct effects *fx)
{
    int signo = stop->u.stop.signo;
    uint64_t grace_ms = stop->u.stop.grace_ms;
    bool is_final = stop->u.stop.is_final;
    n->is_final = n->is_final || is_final;
    n->is_hurried = n->is_hurried || !grace_ms;
    switch (n->state) {
    case NODE_IDLE:
    case NODE_PREPARE:
    case NODE_READY:
        node_drain_reaped(n, fx);
        return;
    case NODE_UP:
        if (!grace_ms)
            node_stop_kill(n, now_ms, fx);
        else if (stop->u.stop.notice.ms)
            enter_notice(n, stop, now_ms, fx);
        else
            node_stop_term(n, signo, grace_ms, now_ms, fx);
        return;
    case NODE_NOTICE: /* asked once more in the same way, they keep their time */
        if (!grace_ms)
            node_stop_kill(n, now_ms, fx);
        else if (!stop->u.stop.notice.ms)
            node_stop_term(n, signo, grace_ms, now_ms, fx);
        return;
    case NODE_TERM:
        if (!grace_ms)
            node_stop_kill(n, now_ms, fx);
        return;
    case NODE_DRAIN:
        if (!grace_ms && n->drain_step < 3) {
            n->drain_step = 2;
            effects_add(fx, FX_DROP_OUTPUT);
            node_drain_next(n, now_ms, fx);
        } else if (is_final && n->deadline_ms == UINT64_MAX) {
            n->deadline_ms = now_ms + NODE_QUIET_MS; /* it was waiting for a reader */
        }
        return;
    case NODE_KILL:
    case NODE_REAPED:
    case NODE_STATE_COUNT:
        return;
    }
}

static void on_stop(struct node *n, int signo, uint64_t grace_ms, bool is_final,
                    uint64_t now_ms, struct effects *fx)
{
    struct frame stop = {.type = FRAME_STOP};
    stop.u.stop.signo = signo;
    stop.u.stop.grace_ms = grace_ms;
    stop.u.stop.is_final = is_final;
    node_stop_frame(n, &stop, now_ms, fx);
}

void node_stop_relay(struct node *n, int signo, uint64_t now_ms, struct effects *fx)
{
    if (n->state != NODE_UP)
        return;
    kill_all(n, fx, signo);
    if (signo == SIGSTOP || signo == SIGCONT)
        node_pulse_hold(n, PULSE_SUSPENDED, signo == SIGSTOP, now_ms, fx);
}

void node_stop_leave(struct node *n, uint64_t now_ms, struct effects *fx)
{
    n->is_leaving = true;
    n->next_beat_ms = UINT64_MAX;
    if (n->state != NODE_IDLE)
        on_stop(n, SIGTERM, n->opt->grace_ms, true, now_ms, fx);
}

void node_stop_signal(struct node *n, int signo, uint64_t now_ms, struct effects *fx)
{
    if (!n->is_leaving)
        node_send(n, fx, FRAME_INTERRUPT)->u.signal.signo = signo;
    else if (signo != SIGCONT && n->state != NODE_IDLE)
        on_stop(n, SIGTERM, 0, true, now_ms, fx);
}
