#include "launcher/core/job_signal.h"

#include <signal.h>

#include "launcher/core/job_ending.h"
#include "launcher/core/job_look.h"
#include "launcher/core/note.h"

static void relay(struct job *j, int signo, struct effects *fx)
{
    for (uint32_t i = 0; i < j->nodes.n; i++)
        if (j->nodes.list[i].status == MEMBER_RUNNING)
            job_send(j, fx, &j->nodes.list[i], FRAME_SIGNAL)->u.signal.signo = signo;
}

static void on_end_signal(struct job *j, int signo, uint64_t now_ms, struct effects *fx)
{
    /* A key pressed again. A closed terminal may send SIGHUP twice without anybody's will. */
    bool is_key = signo == SIGINT;
    bool is_again = is_key && j->ninterrupts > 0;
    j->ninterrupts += is_key;
    j->is_user_end = true;
    if (j->state == JOB_FLUSH) {
        job_ending_give_up_output(j, fx);
        return;
    }
    if (j->state == JOB_STOP) {
        job_ending_send_stop(j, fx, is_again ? SIGTERM : job_ending_signal(signo),
                             is_again ? 0 : j->opt->grace_ms, now_ms);
        return;
    }
    if (signo == SIGINT && j->state == JOB_RUN) {
        struct note *note = note_add(fx, NOTE_INTERRUPTED);
        note->number = signo;
        note->rank = j->nalive;
    }
    job_ending_with(j, VERDICT_SIGNAL, signo, NULL, now_ms, fx);
}

void job_signal_take(struct job *j, int signo, uint64_t now_ms, struct effects *fx)
{
    if (j->opt->end_signals >> signo & 1) {
        on_end_signal(j, signo, now_ms, fx);
        return;
    }
    switch (signo) {
    case SIGUSR1:
    case SIGUSR2:
        relay(j, signo, fx);
        return;
    case SIGQUIT:
        job_look_quit(j, now_ms, fx);
        return;
    case SIGTSTP: /* a process of another session ignores SIGTSTP */
        relay(j, SIGSTOP, fx);
        for (uint32_t i = 0; j->beat_ms && i < j->nodes.n; i++)
            if (j->nodes.list[i].link != LINK_NONE && j->nodes.list[i].status != MEMBER_LOST)
                job_send(j, fx, &j->nodes.list[i], FRAME_BEAT)->u.beat.is_last = true;
        for (size_t i = 0; j->beat_ms && i < j->spares.n; i++)
            job_send_link(j, fx, j->spares.list[i].link, FRAME_BEAT)->u.beat.is_last = true;
        effects_add(fx, FX_SUSPEND);
        return;
    case SIGCONT:
        relay(j, SIGCONT, fx);
        return;
    default:
        on_end_signal(j, signo, now_ms, fx);
    }
}

void job_signal_at_once(struct job *j, uint64_t now_ms, struct effects *fx)
{
    if (j->state == JOB_STOP)
        job_ending_send_stop(j, fx, SIGTERM, 0, now_ms);
}
