#include "launcher/core/job_refuse.h"

#include <string.h>

#include "launcher/core/job_ending.h"
#include "launcher/core/job_join.h"
#include "launcher/core/job_spare.h"
#include "launcher/core/note.h"

bool job_refuse_is_pending(const struct job *j)
{
    return j->refusals.n > 0;
}

/* It has said so already. */
static bool is_known(const struct job *j, uint32_t node, const char *host)
{
    for (size_t i = 0; i < j->refusals.n; i++)
        if (j->refusals.list[i].node == node && strcmp(j->refusals.list[i].host, host) == 0)
            return true;
    return false;
}

/* A job does not begin without the node. One that has begun waits for another in its place. */
static bool is_needed(const struct job *j)
{
    return j->state == JOB_JOIN && !j->generation;
}

void job_refuse_take(struct job *j, uint32_t link, const struct frame *frame, uint64_t now_ms,
                     struct effects *fx)
{
    const struct member *n = members_find(&j->nodes, link);
    const struct err *why = frame->u.refused.err;
    const char *host = n ? n->host : frame->u.refused.host;
    if (!n) { /* a member stays until the job ends */
        job_join_send_away(j, link, why, fx);
        job_spare_forget(j, link);
    }
    if (!n && !is_needed(j)) {
        buf_reset(&j->line);
        buf_addf(&j->line, "%s: %s", host ? host : "a node", why->text);
        note_add(fx, NOTE_NODE_REFUSED)->text = buf_str(&j->line);
        return;
    }
    if (j->nodes.n == 1 || !host || (j->state != JOB_JOIN && j->state != JOB_START)) {
        struct err e = *why;
        if (host && (j->nodes.n > 1 || options_has_hosts(j->opt)))
            err_wrap(&e, "%s", host);
        job_ending_with(j, VERDICT_ERROR, 0, &e, now_ms, fx);
        return;
    }
    uint32_t node = n ? members_rank(&j->nodes, n) : frame->u.refused.node_rank;
    if (!is_known(j, node, host))
        start_faults_add(&j->refusals, node, host, why, now_ms);
    job_refuse_check(j, now_ms, fx);
}

void job_refuse_check(struct job *j, uint64_t now_ms, struct effects *fx)
{
    uint32_t nheard = j->state == JOB_JOIN ? j->nodes.njoined : j->nready;
    if (job_refuse_is_pending(j)
        && (now_ms >= start_faults_due_ms(&j->refusals)
            || nheard + j->refusals.n >= j->nodes.n))
        job_ending_with(j, VERDICT_ERROR, 0, NULL, now_ms, fx); /* which settles them */
}

/* The verdict has the first; the others are notes, whose words stand one behind the other. */
void job_refuse_settle(struct job *j, uint64_t now_ms, struct effects *fx)
{
    uint32_t node, first = 0;
    enum err_code code;
    if (!job_refuse_is_pending(j))
        return;
    buf_reset(&j->line);
    while (start_faults_next(&j->refusals, &node, &code, &j->line)) {
        buf_addc(&j->line, '\0');
        if (j->verdict.kind != VERDICT_OK)
            continue;
        j->verdict.kind = VERDICT_ERROR;
        j->verdict.node = node;
        j->verdict.after_ms = now_ms - j->generation_at_ms;
        err_set(&j->verdict.err, code, "%s", j->line.data);
        first = (uint32_t)j->line.len;
    }
    for (size_t at = first; at < j->line.len; at += strlen(j->line.data + at) + 1)
        note_add(fx, NOTE_ALSO_REFUSED)->text = j->line.data + at;
    start_faults_fini(&j->refusals);
}
