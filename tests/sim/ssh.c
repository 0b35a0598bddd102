/* How agents come in a job of ssh: who logs in where, windows, status lines. The head asks
 * start_tree.c whom to start, as head_remotes.c does; agents cut what is below them as
 * subtree.c does; lines and records are counted as they would be written. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/boot_record.h"
#include "launcher/core/start_faults.h"
#include "launcher/core/start_tree.h"
#include "launcher/core/status_line.h"
#include "launcher/core/tree_shape.h"
#include "tests/sim/world.h"

enum {
    LOGIN_MS = 150,       /* at least, and as much again at most */
    REFUSED_MS = 7500,    /* of the head, on a host that nobody reaches: five tries */
    SSH_ALIVE_MS = 15000, /* ServerAliveInterval x ServerAliveCountMax */
    MARKER_BYTES = 48,    /* "muster-agent 1 TOKEN VERSION" */
    WINDOW = TREE_RADIX,
};

enum { WHAT_LOGIN, WHAT_LINK, WHAT_STATUS, WHAT_ALARM, WHAT_COUNT };

struct ssh_host {
    uint32_t started_by; /* whose login came first; HEAP_ANY = nobody's yet */
    uint32_t nlogins;    /* its own, on others */
    bool is_started;     /* by the head */
    bool is_linked;      /* and the head knows */
};

struct ssh {
    struct start_tree *tree;
    struct ssh_host *hosts;
    uint32_t *queue; /* of the head, for its window */
    uint32_t nqueue, next, nlogins;
    uint64_t alarm_ms;
};

static const struct err unreachable = {ERR_UNAVAILABLE, 0, "connection refused"};

static void push(struct world *w, uint64_t delay_ms, uint32_t what, uint32_t by, uint32_t node,
                 uint32_t kind)
{
    struct item item = {.kind = ITEM_SSH, .target = by, .local = node};
    item.generation = what + WHAT_COUNT * kind;
    heap_push(&w->heap, w->now_ms + delay_ms, &item);
}

static bool is_alive(const struct world *w, uint32_t node)
{
    return node == HEAP_HEAD || (!w->nodes[node].is_dead && !w->nodes[node].is_over);
}

/* ---- what the head reads and writes ---- */

static void count(struct world *w, uint64_t bytes)
{
    w->result->start_messages++;
    w->result->start_bytes += bytes;
}

static void count_status(struct world *w, uint32_t node, enum status_kind kind)
{
    const struct status_line s = {
        kind, node, kind == STATUS_STATE ? "not logged in yet" : "connection refused"};
    struct buf text;
    buf_init(&text, 0);
    status_line_format(&s, &text);
    count(w, text.len);
    buf_fini(&text);
}

static void count_record(struct world *w, uint32_t node, uint32_t below)
{
    struct boot_record r;
    struct buf text;
    struct err e;
    char name[16];
    boot_record_init(&r);
    r.job = mem_strdup("0123456789abcdef");
    boot_record_add_address(&r, "10.0.0.1", 41234);
    r.node = node;
    r.radix = below ? w->config->radix : 0;
    r.muster = below ? mem_strdup("/usr/local/bin/muster") : NULL;
    for (uint32_t i = node + 1; i <= node + below; i++) {
        snprintf(name, sizeof name, "node%05u", i);
        boot_record_add_child(&r, i, NULL, name, 0);
    }
    buf_init(&text, 0);
    int rc = boot_record_encode(&r, &text, &e);
    assert(rc == 0);
    count(w, text.len);
    buf_fini(&text);
    boot_record_fini(&r);
}

/* `from` says it; lost if somebody on its way up is gone by then. */
static void tell(struct world *w, uint32_t from, uint32_t node, enum status_kind kind,
                 uint64_t delay_ms)
{
    for (uint32_t at = from; at != HEAP_HEAD; at = w->ssh->hosts[at].started_by) {
        if (!is_alive(w, at))
            return;
        delay_ms += 1 + world_random(w, 3);
    }
    push(w, delay_ms, WHAT_STATUS, from, node, kind);
}

/* ---- logins ---- */

static void login(struct world *w, uint32_t by, uint32_t node)
{
    struct ssh *s = w->ssh;
    uint32_t *nlogins = by == HEAP_HEAD ? &s->nlogins : &s->hosts[by].nlogins;
    if (++*nlogins > WINDOW)
        world_broken(w, "%u logins at a time", *nlogins);
    if (by == HEAP_HEAD) {
        if (s->hosts[node].is_started)
            world_broken(w, "the head starts node %u twice", node);
        s->hosts[node].is_started = true;
        w->result->logins++;
        start_tree_began(s->tree, node, w->now_ms);
    } else {
        tell(w, by, node, STATUS_STATE, 0);
    }
    const struct sim_fault *slow = world_find_fault(w, SIM_SSH_SLOW, node);
    uint64_t ms = LOGIN_MS + world_random(w, LOGIN_MS) + (slow ? slow->arg : 0);
    if (by == HEAP_HEAD && world_find_fault(w, SIM_SSH_REFUSED, node))
        ms = REFUSED_MS + world_random(w, REFUSED_MS / 2);
    push(w, ms, WHAT_LOGIN, by, node, 0);
}

static void start_more(struct world *w)
{
    struct ssh *s = w->ssh;
    while (s->next < s->nqueue && s->nlogins < WINDOW)
        login(w, HEAP_HEAD, s->queue[s->next++]);
}

static void start_due(struct world *w)
{
    struct ssh *s = w->ssh;
    uint32_t node;
    while (!w->is_done && start_tree_next(s->tree, w->now_ms, &node))
        s->queue[s->nqueue++] = node;
    start_more(w);
    uint64_t due_ms = start_tree_due_ms(s->tree);
    if (due_ms < s->alarm_ms && !w->is_done) {
        s->alarm_ms = due_ms;
        push(w, due_ms > w->now_ms ? due_ms - w->now_ms : 0, WHAT_ALARM, HEAP_HEAD, 0, 0);
    }
}

static void fail(struct world *w, uint32_t node, bool is_own, bool is_way)
{
    struct event ev = {.type = EV_NODE_FAILED};
    ev.u.node_failed.node = node;
    ev.u.node_failed.err = &unreachable;
    if (start_tree_failed(w->ssh->tree, node, is_own, is_way))
        world_post(w, HEAP_HEAD, START_FAULTS_MS, &ev, HEAP_ANY);
}

static void begin_agent(struct world *w, uint32_t by, uint32_t node)
{
    struct ssh *s = w->ssh;
    uint32_t below = by == HEAP_HEAD
                         ? start_tree_below(s->tree, node)
                         : tree_shape_find(w->config->nodes, w->config->radix, node).count - 1;
    if (by == HEAP_HEAD) {
        count(w, MARKER_BYTES);
        count_record(w, node, below);
    }
    push(w, 1 + world_random(w, 50), WHAT_LINK, by, node, 0);
    if (s->hosts[node].started_by == HEAP_ANY)
        s->hosts[node].started_by = by;
    if (world_find_fault(w, SIM_SSH_STALLS, node))
        return;
    uint32_t runs = below ? tree_shape_runs(below, w->config->radix) : 0;
    for (uint32_t i = 0; i < runs; i++)
        login(w, node, node + 1 + tree_shape_run(below, w->config->radix, i).first);
}

static void on_login(struct world *w, uint32_t by, uint32_t node)
{
    struct ssh *s = w->ssh;
    bool is_own = by == HEAP_HEAD;
    bool is_bad = !is_alive(w, node) || world_find_fault(w, SIM_SSH_REFUSED, node)
                  || (!is_own && world_find_fault(w, SIM_SSH_INNER, by));
    --*(is_own ? &s->nlogins : &s->hosts[by].nlogins);
    if (is_bad && is_own)
        fail(w, node, true, true);
    else if (is_bad)
        tell(w, by, node, STATUS_UNREACHABLE, 0);
    else if (is_own)
        start_tree_up(s->tree, node, w->now_ms);
    else
        tell(w, by, node, STATUS_UP, 0);
    if (!is_bad)
        begin_agent(w, by, node);
}

/* ---- links ---- */

/* Without a link an agent follows the end of who started it; of two one is sent home. */
static void on_link(struct world *w, uint32_t node)
{
    const struct event boot = {.type = EV_BOOT};
    if (is_alive(w, node) && !w->nodes[node].is_up)
        world_post(w, node, 0, &boot, HEAP_ANY);
    else
        w->result->farewells++;
}

void ssh_linked(struct world *w, uint32_t node)
{
    if (!w->ssh)
        return;
    w->ssh->hosts[node].is_linked = true;
    w->result->joined_ms = w->now_ms;
    start_tree_linked(w->ssh->tree, node, w->now_ms);
}

static void on_status(struct world *w, uint32_t from, uint32_t node, enum status_kind kind)
{
    struct ssh *s = w->ssh;
    bool is_own = from == HEAP_HEAD;
    if (!is_own)
        count_status(w, node, kind);
    if (kind == STATUS_STATE)
        return; /* for people */
    if (kind == STATUS_UP)
        start_tree_up(s->tree, node, w->now_ms);
    else if (kind == STATUS_ENDED && s->hosts[node].is_linked)
        start_tree_ended(s->tree, node);
    else
        fail(w, node, is_own, kind == STATUS_UNREACHABLE);
}

/* Its ssh ends, soon if its connections are reset. */
void ssh_dead(struct world *w, uint32_t node, bool is_reset)
{
    if (w->ssh && w->ssh->hosts[node].started_by != HEAP_ANY)
        tell(w, w->ssh->hosts[node].started_by, node, STATUS_ENDED,
             is_reset ? 1 + world_random(w, 20) : (uint64_t)SSH_ALIVE_MS);
}

void ssh_take(struct world *w, const struct item *item)
{
    uint32_t what = item->generation % WHAT_COUNT, kind = item->generation / WHAT_COUNT;
    if (w->is_done)
        return;
    if (what == WHAT_ALARM)
        w->ssh->alarm_ms = UINT64_MAX;
    else if (what == WHAT_STATUS)
        on_status(w, item->target, item->local, (enum status_kind)kind);
    else if (is_alive(w, item->target) && what == WHAT_LOGIN)
        on_login(w, item->target, item->local);
    else if (is_alive(w, item->target))
        on_link(w, item->local);
    start_due(w);
}

void ssh_begin(struct world *w)
{
    const struct sim_config *c = w->config;
    if (!c->has_ssh)
        return;
    struct ssh *s = w->ssh = mem_alloc(1, sizeof *s);
    s->tree = start_tree_new(c->nodes, c->radix);
    s->hosts = mem_alloc(c->nodes, sizeof *s->hosts);
    s->queue = mem_alloc(c->nodes, sizeof *s->queue);
    s->alarm_ms = UINT64_MAX;
    for (uint32_t i = 0; i < c->nodes; i++)
        s->hosts[i].started_by = HEAP_ANY;
    push(w, 1, WHAT_ALARM, HEAP_HEAD, 0, 0);
}

void ssh_fini(struct world *w)
{
    if (!w->ssh)
        return;
    start_tree_free(w->ssh->tree);
    free(w->ssh->hosts);
    free(w->ssh->queue);
    free(w->ssh);
}
