#include "tests/sim/world.h"

#include <stdlib.h>

#include "base/mem.h"
#include "launcher/core/job_control.h"
#include "launcher/core/node_sample.h"
#include "launcher/core/samples.h"

/* What a helper tells of a node's ranks, with figures as long as they get. */
static void format_measured(struct world *w)
{
    const struct maybe_u64 big = {true, 1ull << 50};
    struct rank_sample sample = {.at_ms = big, .cpu_ms = big, .rss = big};
#define X(member) sample.gpu.member = big;
    GPU_FIGURES(X)
#undef X
    for (uint32_t i = 0; i < w->config->workers; i++)
        node_sample_add_figures(i, &sample, &w->look.measured);
}

static void ask_at(struct world *w, uint64_t at_ms)
{
    const struct event ev = {.type = EV_SAMPLE};
    world_post(w, HEAP_HEAD, at_ms - w->now_ms, &ev, HEAP_ANY);
}

void look_begin(struct world *w)
{
    if (!w->config->look_ms)
        return;
    format_measured(w);
    ask_at(w, w->config->look_ms);
}

void look_fini(struct world *w)
{
    buf_fini(&w->look.measured);
    for (uint32_t i = 0; i < w->config->nodes; i++)
        for (int k = 0; k < 2; k++)
            buf_fini(&w->nodes[i].sampled[k]);
}

void look_measure(struct world *w, uint32_t node)
{
    struct event ev = {.type = EV_SAMPLED};
    if (!w->config->look_ms)
        world_broken(w, "node %u measures, and nobody looks", node);
    ev.u.sampled.text = (struct str){buf_str(&w->look.measured), w->look.measured.len};
    world_post(w, node, world_random(w, 100), &ev, w->nodes[node].generation);
}

void look_keep(struct world *w, uint32_t node, struct frame *frame)
{
    struct buf *kept = &w->nodes[node].sampled[frame->generation % 2];
    buf_reset(kept);
    buf_add(kept, frame->u.sampled.text.p, frame->u.sampled.text.n);
    frame->u.sampled.text = (struct str){buf_str(kept), kept->len};
}

void look_count(struct world *w, const struct frame *frame)
{
    struct sim_result *r = w->result;
    r->samples_asked += frame->type == FRAME_SAMPLE;
    if (frame->type != FRAME_SAMPLED)
        return;
    r->samples++;
    r->sample_bytes_max = frame->u.sampled.text.n > r->sample_bytes_max
                              ? frame->u.sampled.text.n
                              : r->sample_bytes_max;
    if (r->samples > r->samples_asked)
        world_broken(w, "more answers than questions");
}

void look_check(struct world *w, const struct event *ev)
{
    bool is_waiting = !w->is_done && job_control_must_wait(w->job, CONTROL_SAMPLE);
    if (ev->type == EV_SAMPLE) {
        ask_at(w, w->now_ms + w->config->look_ms);
        if (is_waiting && !w->look.is_waiting) {
            w->look.began_ms = w->now_ms;
            w->result->looks++;
        }
    }
    if (w->look.is_waiting && !is_waiting
        && w->now_ms - w->look.began_ms > w->result->look_ms_max)
        w->result->look_ms_max = w->now_ms - w->look.began_ms;
    w->look.is_waiting = is_waiting;
}
