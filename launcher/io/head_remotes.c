#include "launcher/io/head_remotes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/start_faults.h"
#include "launcher/core/start_tree.h"
#include "launcher/core/tree_shape.h"
#include "launcher/io/agents.h"
#include "launcher/io/remotes.h"

struct head_remotes {
    struct spread *spread;
    struct agents *agents;
    struct remotes *remotes;
    struct start_tree *tree; /* of the hosts that ssh reaches */
    struct head_remotes_events events;
    struct start_faults faults;
    struct words { /* how far it is, of a host that another one starts */
        char text[128];
    } * words;       /* by place among those that ssh reaches */
    uint32_t *links; /* by node: its link; 0 = none yet */
    uint32_t nlinked;
    bool has_failed; /* and the job knows */
    struct err err;  /* which it was told */
};

static void tell_faults(struct head_remotes *hr)
{
    struct buf text;
    uint32_t node;
    enum err_code code;
    buf_init(&text, 0);
    while (start_faults_next(&hr->faults, &node, &code, &text)) {
        if (hr->has_failed) {
            log_error("remote", "%s", buf_str(&text));
        } else {
            hr->has_failed = true;
            err_set(&hr->err, code, "%s", buf_str(&text));
            hr->events.on_failed(hr->events.ctx, node, &hr->err);
        }
        buf_reset(&text);
    }
    buf_fini(&text);
    start_faults_fini(&hr->faults);
}

/* ---- who starts whom ---- */

/* What the tree wants the head to start now. */
static void start_due(struct head_remotes *hr)
{
    uint32_t place;
    while (!hr->has_failed && start_tree_next(hr->tree, now_ms(), &place)) {
        uint32_t node = hr->agents->far[place];
        if (agents_add_far(hr->agents, place, hr->remotes, &hr->err) == 0)
            continue;
        hr->has_failed = true;
        hr->events.on_failed(hr->events.ctx, node, &hr->err);
    }
    remotes_start(hr->remotes);
}

static void tell_state(const struct head_remotes *hr, uint32_t node, const char *state)
{
    hr->events.on_state(hr->events.ctx, node, spread_host(hr->spread, node), state);
}

static void tell_words(const struct head_remotes *hr, uint32_t place, const char *words,
                       const char *more)
{
    struct words *w = &hr->words[place];
    snprintf(w->text, sizeof w->text, "%s%s", words, more);
    tell_state(hr, hr->agents->far[place], w->text);
}

/* Those that others start are waited for, too. */
static void tell_delegated(const struct head_remotes *hr)
{
    const struct agents *a = hr->agents;
    for (uint32_t i = 0; a->radix && i < a->nfar; i++) {
        uint32_t parent = tree_shape_find(a->nfar, a->radix, i).parent;
        if (parent != TREE_HEAD)
            tell_words(hr, i, spread_host(hr->spread, a->far[parent]),
                       " has not started it yet");
    }
}

static void add_fault(struct head_remotes *hr, uint32_t node, const char *host,
                      const struct err *why)
{
    start_faults_add(&hr->faults, node, host, why, now_ms());
    if (hr->faults.n + hr->nlinked >= spread_nodes(hr->spread)) /* all have been heard */
        hr->faults.due_ms = now_ms();
}

/* ---- what becomes of the commands ---- */

static int boot(void *ctx, uint32_t node, struct buf *out, struct err *e)
{
    const struct head_remotes *hr = ctx;
    uint32_t place = agents_find_far(hr->agents, node);
    return agents_boot(hr->agents, node, start_tree_below(hr->tree, place), out, e);
}

static void on_failed(void *ctx, uint32_t node, const char *host, bool is_way,
                      const struct err *why)
{
    struct head_remotes *hr = ctx;
    uint32_t place = agents_find_far(hr->agents, node);
    if (start_tree_failed(hr->tree, place, true, is_way))
        add_fault(hr, node, host, why);
    start_due(hr);
}

static void on_state(void *ctx, uint32_t node, const char *host, const char *state)
{
    (void)host;
    tell_state(ctx, node, state);
}

static void on_step(void *ctx, uint32_t node, enum remotes_step step)
{
    struct head_remotes *hr = ctx;
    uint32_t place = agents_find_far(hr->agents, node);
    switch (step) {
    case REMOTES_BEGAN:
        start_tree_began(hr->tree, place, now_ms());
        return;
    case REMOTES_UP:
        start_tree_up(hr->tree, place, now_ms());
        return;
    case REMOTES_ENDED:
        start_tree_ended(hr->tree, place);
        start_due(hr);
        return;
    }
}

/* A command that another host ran for this one has failed. */
static void on_below_failed(struct head_remotes *hr, uint32_t place, bool is_way,
                            const char *why)
{
    uint32_t node = hr->agents->far[place];
    const char *host = spread_host(hr->spread, node);
    struct err e;
    err_set(&e, ERR_UNAVAILABLE, "%s", why);
    if (start_tree_failed(hr->tree, place, false, is_way))
        add_fault(hr, node, host, &e);
    else
        log_debug("remote", "%s, from another host: %s", host, why);
    start_due(hr);
}

static void on_below(void *ctx, uint32_t node, const struct status_line *s)
{
    struct head_remotes *hr = ctx;
    uint32_t place = agents_find_far(hr->agents, s->node);
    if (!start_tree_is_below(hr->tree, place, agents_find_far(hr->agents, node)))
        return;
    bool is_awaited =
        !start_tree_is_own(hr->tree, place) && !spread_has_come(hr->spread, s->node);
    switch (s->kind) {
    case STATUS_UP:
        start_tree_up(hr->tree, place, now_ms());
        if (is_awaited)
            tell_words(hr, place, REMOTES_UP_WORDS, "");
        return;
    case STATUS_STATE:
        if (is_awaited)
            tell_words(hr, place, s->text, "");
        return;
    case STATUS_UNREACHABLE:
    case STATUS_FAILED:
        on_below_failed(hr, place, s->kind == STATUS_UNREACHABLE, s->text);
        return;
    case STATUS_ENDED:
        start_tree_ended(hr->tree, place);
        start_due(hr);
        return;
    case STATUS_TRY:
    case STATUS_LINKED:
    case STATUS_KIND_COUNT:
        return; /* of who says it, not of others */
    }
}

static void on_words(const char *line)
{
    log_info("remote", "%s", line);
}

/* ---- life ---- */

struct head_remotes *head_remotes_new(struct uv_loop_s *loop, struct spread *spread,
                                      const struct rlimit *limits,
                                      const struct head_remotes_events *events)
{
    struct head_remotes *hr = mem_alloc(1, sizeof *hr);
    const struct remotes_events own = {.ctx = hr,
                                       .boot = boot,
                                       .on_failed = on_failed,
                                       .on_state = on_state,
                                       .on_step = on_step,
                                       .on_below = on_below,
                                       .on_words = on_words};
    hr->spread = spread;
    hr->agents = spread_agents(spread);
    hr->events = *events;
    hr->remotes = remotes_new(loop, limits, spread_nodes(spread), &own);
    hr->tree = start_tree_new(hr->agents->nfar, hr->agents->radix);
    hr->links = mem_alloc(spread_nodes(spread), sizeof *hr->links);
    hr->words = mem_alloc(hr->agents->nfar, sizeof *hr->words);
    return hr;
}

void head_remotes_start(struct head_remotes *hr, uint16_t port)
{
    if (agents_add(hr->agents, port, hr->remotes, &hr->err) == 0) {
        tell_delegated(hr);
        start_due(hr);
        return;
    }
    hr->has_failed = true;
    hr->events.on_failed(hr->events.ctx, 0, &hr->err);
}

int head_remotes_setup(struct head_remotes *hr, uint32_t link, const struct wire_who *who,
                       struct buf *out)
{
    struct err e;
    uint32_t node;
    if (hr->agents->radix && spread_has_come(hr->spread, who->node)) {
        const struct frame farewell = {.type = FRAME_BYE};
        log_debug("link", "%s has been started twice", who->host);
        link_wire_frame(&farewell, out);
        return 1;
    }
    if (spread_place(hr->spread, who, &node, &e) < 0
        || spread_setup(hr->spread, node, out, &e) < 0) {
        log_error("link", "%s: %s", who->host, e.text);
        return -1;
    }
    hr->links[node] = link;
    remotes_linked(hr->remotes, node);
    tell_state(hr, node, "linked, not ready yet");
    start_tree_linked(hr->tree, agents_find_far(hr->agents, node), now_ms());
    if (++hr->nlinked == spread_nodes(hr->spread))
        spread_started(hr->spread);
    return 0;
}

struct maybe_u64 head_remotes_place(const struct head_remotes *hr, uint32_t link)
{
    for (uint32_t node = 0; node < spread_nodes(hr->spread); node++)
        if (hr->links[node] == link)
            return (struct maybe_u64){true, node};
    return (struct maybe_u64){false, 0};
}

uint64_t head_remotes_deadline(const struct head_remotes *hr)
{
    uint64_t said = start_faults_due_ms(&hr->faults), due = start_tree_due_ms(hr->tree);
    return said < due || hr->has_failed ? said : due;
}

void head_remotes_tick(struct head_remotes *hr, uint64_t now_ms)
{
    if (now_ms >= start_faults_due_ms(&hr->faults))
        tell_faults(hr);
    if (now_ms >= start_tree_due_ms(hr->tree))
        start_due(hr);
}

void head_remotes_close(struct head_remotes *hr)
{
    spread_started(hr->spread);
    remotes_close(hr->remotes);
}

void head_remotes_free(struct head_remotes *hr)
{
    if (!hr)
        return;
    start_faults_fini(&hr->faults);
    start_tree_free(hr->tree);
    free(hr->words);
    free(hr->links);
    free(hr);
}
