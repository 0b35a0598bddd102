#include "launcher/core/job_spare.h"

#include <signal.h>

#include "launcher/core/job_leave.h"
#include "launcher/core/note.h"

int job_spare_park(struct job *j, uint32_t link, const struct frame *hello, uint64_t now_ms,
                   struct effects *fx, struct err *e)
{
    if (members_check(&j->nodes, hello, e) < 0)
        return -1;
    if (!hello->u.hello.slots)
        return err_set(e, ERR_USAGE,
                       "%s has no GPU to count workers by; say how many with -n N",
                       hello->u.hello.host);
    if (options_has_hosts(j->opt) || j->is_user_end)
        return err_set(e, ERR_UNAVAILABLE, "%s came too late: the job %s", hello->u.hello.host,
                       j->is_user_end ? "is ending" : "has begun");
    spares_add(&j->spares, link, hello, now_ms);
    note_add(fx, NOTE_NODE_SPARE)->text = j->spares.list[j->spares.n - 1].hello.u.hello.host;
    return 0;
}

bool job_spare_take(struct job *j, uint64_t now_ms)
{
    uint32_t before = j->nodes.njoined;
    for (size_t i = 0; i < j->spares.n && !members_complete(&j->nodes);) {
        struct spare *spare = &j->spares.list[i];
        struct err e;
        if (members_join(&j->nodes, spare->link, &spare->hello, now_ms, &e) == 0)
            spares_remove(&j->spares, spare);
        else
            i++; /* the place that it asks for is not free */
    }
    return j->nodes.njoined > before;
}

static bool is_end_signal(const struct job *j, int signo)
{
    static const uint64_t others = UINT64_C(1) << SIGUSR1 | UINT64_C(1) << SIGUSR2
                                   | UINT64_C(1) << SIGQUIT | UINT64_C(1) << SIGTSTP
                                   | UINT64_C(1) << SIGCONT;
    return (j->opt->end_signals >> signo & 1) || !(others >> signo & 1);
}

void job_spare_frame(struct job *j, struct spare *spare, const struct frame *frame,
                     uint64_t now_ms, struct effects *fx)
{
    spare->last_heard_ms = now_ms;
    if (frame->type != FRAME_INTERRUPT || !is_end_signal(j, frame->u.signal.signo))
        return;
    uint32_t link = spare->link;
    job_send_link(j, fx, link, FRAME_BYE)->u.bye.status = 128 + frame->u.signal.signo;
    effects_add(fx, FX_DROP_NODE)->u.drop_node.node = link;
    spares_remove(&j->spares, spare);
}

bool job_spare_forget(struct job *j, uint32_t link)
{
    struct spare *spare = spares_find(&j->spares, link);
    if (spare)
        spares_remove(&j->spares, spare);
    return spare != NULL;
}

void job_spare_lost(struct job *j, uint32_t link, struct effects *fx)
{
    if (job_spare_forget(j, link))
        effects_add(fx, FX_DROP_NODE)->u.drop_node.node = link;
}

void job_spare_check_beats(struct job *j, uint64_t now_ms, struct effects *fx)
{
    for (size_t i = j->spares.n; i-- > 0;) {
        const struct spare *spare = &j->spares.list[i];
        job_send_link(j, fx, spare->link, FRAME_BEAT);
        if (job_leave_is_silent(j, spare->last_heard_ms, now_ms))
            job_spare_lost(j, spare->link, fx);
    }
}

void job_spare_send_home(struct job *j, struct effects *fx)
{
    for (size_t i = 0; i < j->spares.n; i++)
        job_send_link(j, fx, j->spares.list[i].link, FRAME_BYE)->u.bye.status =
            verdict_exit_status(&j->verdict);
}
