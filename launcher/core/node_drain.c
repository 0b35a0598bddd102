#include "launcher/core/node_drain.h"

#include <signal.h>

#include "launcher/core/node_mpi.h"
#include "launcher/core/node_pulse.h"
#include "launcher/core/note.h"

enum {
    TERM_MS = 1500, /* between SIGTERM and SIGKILL for what workers left behind */
    KILL_MS = 2000, /* from SIGKILL until pipes are closed and the rest is given up */
};

static void sweep(struct effects *fx, int signo)
{
    effects_add(fx, FX_SWEEP)->u.sweep.signo = signo;
}

void node_drain_reaped(struct node *n, struct effects *fx)
{
    node_move(n, NODE_REAPED);
    node_mpi_forget(n);
    if (n->nspawned)
        effects_add(fx, FX_REAP);
    node_send(n, fx, FRAME_REAPED);
}

static bool drain_is_over(const struct node *n)
{
    bool is_awaited = n->is_looked_at && !n->is_hurried; /* what is being found out is told */
    return n->nleft == 0 && n->nstreams == 0 && !n->is_blocked && !is_awaited;
}

static void close_streams(struct node *n, struct effects *fx)
{
    for (uint32_t i = 0; i < n->nworkers; i++) {
        if (!n->workers[i].has_streams)
            continue;
        note_add(fx, NOTE_STREAM_HELD)->rank = n->plan->order.first_rank + i;
        effects_add(fx, FX_CLOSE_STREAMS)->u.spawn.local_rank = i;
        n->workers[i].has_streams = false;
    }
    n->nstreams = 0;
}

void node_drain_next(struct node *n, uint64_t now_ms, struct effects *fx)
{
    switch (n->drain_step++) {
    case 0:
        n->deadline_ms = now_ms + NODE_QUIET_MS;
        sweep(fx, 0);
        return;
    case 1:
        if (n->nleft)
            note_add(fx, NOTE_SWEPT)->number = n->nleft;
        n->deadline_ms = now_ms + TERM_MS;
        if (n->nleft
            && n->deadline_ms < n->grace_end_ms) /* what is behind a wrapper may be saving */
            n->deadline_ms = n->grace_end_ms;
        sweep(fx, SIGTERM);
        return;
    case 2:
        n->deadline_ms = now_ms + KILL_MS;
        sweep(fx, SIGKILL);
        return;
    default:
        if (n->nleft)
            note_add(fx, NOTE_LEFT_BEHIND)->number = n->nleft;
        if (n->is_blocked)
            effects_add(fx, FX_DROP_OUTPUT);
        close_streams(n, fx);
        node_drain_reaped(n, fx);
    }
}

void node_drain_begin(struct node *n, uint64_t now_ms, struct effects *fx)
{
    node_move(n, NODE_DRAIN);
    n->nleft = 1; /* until counted */
    n->drain_step = n->is_hurried ? 2 : 0;
    if (n->is_hurried)
        effects_add(fx, FX_DROP_OUTPUT);
    node_drain_next(n, now_ms, fx);
}

void node_drain_check(struct node *n, struct effects *fx)
{
    if (n->state == NODE_DRAIN && drain_is_over(n))
        node_drain_reaped(n, fx);
}

bool node_drain_waits_for_reader(const struct node *n)
{
    return n->is_blocked && !n->is_final && n->nleft == 0;
}

/* Once no process is left there is no grace to wait for, only pipes to end. */
void node_drain_swept(struct node *n, uint32_t left, uint64_t now_ms, struct effects *fx)
{
    n->nleft = left;
    node_drain_check(n, fx);
    bool waits_for_grace = n->state == NODE_DRAIN && n->deadline_ms != UINT64_MAX
                           && n->deadline_ms > now_ms + TERM_MS && n->drain_step == 2;
    if (waits_for_grace && left == 0)
        n->deadline_ms = now_ms + TERM_MS;
}

void node_drain_flowing(struct node *n, bool is_blocked, uint64_t now_ms, struct effects *fx)
{
    n->is_blocked = is_blocked;
    node_pulse_hold(n, PULSE_BLOCKED, is_blocked, now_ms, fx);
    node_drain_check(n, fx);
    if (is_blocked || n->state != NODE_DRAIN)
        return;
    bool is_slow_reader = n->nleft == 0 && !n->is_final; /* it gets its quiet time each time */
    if (n->deadline_ms == UINT64_MAX || is_slow_reader)
        n->deadline_ms = now_ms + NODE_QUIET_MS;
}
