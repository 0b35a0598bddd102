#include "launcher/core/node_pulse.h"

#include "launcher/core/node_drain.h"
#include "launcher/core/node_sample.h"

/* ---- signs of life ---- */

static void tell_hangs(struct node *n, uint64_t now_ms, struct effects *fx)
{
    struct hang hang;
    while (n->state == NODE_UP && pulse_hung(n->pulse, now_ms, &hang))
        node_send(n, fx, FRAME_HUNG)->u.hung = hang;
}

void node_pulse_hold(struct node *n, enum pulse_hold_reason why, bool is_held, uint64_t now_ms,
                     struct effects *fx)
{
    if (!n->pulse)
        return;
    pulse_hold(n->pulse, why, is_held, now_ms);
    tell_hangs(n, now_ms, fx);
}

void node_pulse_notify(struct node *n, uint32_t local_rank, const struct sign *sign,
                       uint64_t now_ms)
{
    if (n->workers[local_rank].state == WORKER_ALIVE)
        pulse_sign(n->pulse, local_rank, sign, now_ms);
}

/* What waits to be read may be the very sign that is missed: it is read first. */
void node_pulse_check(struct node *n, uint64_t now_ms, struct effects *fx)
{
    if (n->state != NODE_UP || now_ms < pulse_deadline(n->pulse))
        return;
    if (now_ms - pulse_deadline(n->pulse) > NODE_ASLEEP_MS) {
        pulse_restart(n->pulse, now_ms);
        tell_hangs(n, now_ms, fx);
        return;
    }
    pulse_ask(n->pulse);
    effects_add(fx, FX_LOOK);
}

void node_pulse_looked(struct node *n, uint64_t output_at_ms, uint64_t now_ms,
                       struct effects *fx)
{
    if (!n->pulse)
        return;
    pulse_looked(n->pulse, output_at_ms, now_ms);
    tell_hangs(n, now_ms, fx);
}

/* ---- what workers are doing ---- */

void node_pulse_stacks(struct node *n, bool may_abort, struct effects *fx)
{
    bool has_workers = n->nalive && n->state != NODE_READY;
    if (n->is_looked_at) /* its answer is an answer to both */
        return;
    if (!has_workers) {
        node_send(n, fx, FRAME_STACKED);
        return;
    }
    n->is_looked_at = true;
    effects_add(fx, FX_STACKS)->u.stacks.may_abort = may_abort;
}

void node_pulse_stack(struct node *n, uint32_t local_rank, const char *where, uint64_t now_ms,
                      struct effects *fx)
{
    struct frame *frame = node_send(n, fx, FRAME_STACK);
    frame->u.stack.local_rank = local_rank;
    pulse_facts(n->pulse, local_rank, now_ms, &frame->u.stack.facts);
    frame->u.stack.facts.where = where;
}

void node_pulse_stacked(struct node *n, const char *file, struct effects *fx)
{
    n->is_looked_at = false;
    node_send(n, fx, FRAME_STACKED)->u.stacked.file = file;
    node_drain_check(n, fx);
}

/* ---- what workers use ---- */

static void answer(struct node *n, struct effects *fx)
{
    node_send(n, fx, FRAME_SAMPLED)->u.sampled.text =
        (struct str){buf_str(&n->sample), n->sample.len};
}

/* All nodes are asked at once, but measuring takes its time: steps are those of now. */
static void note_steps(struct node *n, uint64_t now_ms)
{
    size_t left_out = 0;
    for (uint32_t i = 0; i < n->nworkers; i++) {
        const struct worker_plan *w = &n->plan->workers[i];
        struct rank_facts facts;
        pulse_facts(n->pulse, i, now_ms, &facts);
        const struct node_sample_rank rank = {i,          w->gpu_index,   w->gpu_uuid,
                                              facts.step, facts.quiet_ms, {true, now_ms}};
        left_out += node_sample_add_rank(&rank, &n->sample);
    }
    node_sample_add_left_out(left_out, &n->sample);
}

void node_pulse_sample(struct node *n, uint64_t now_ms, struct effects *fx)
{
    if (n->is_sampling) /* its answer is an answer to both */
        return;
    buf_reset(&n->sample);
    if (!n->nalive || n->state == NODE_READY) {
        answer(n, fx);
        return;
    }
    note_steps(n, now_ms);
    n->is_sampling = true;
    effects_add(fx, FX_SAMPLE);
}

void node_pulse_sampled(struct node *n, struct str items, struct effects *fx)
{
    if (!n->is_sampling)
        return;
    n->is_sampling = false;
    node_sample_add_left_out(node_sample_add_items(items, &n->sample), &n->sample);
    answer(n, fx);
}
