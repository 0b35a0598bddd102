/* sim SCENARIO [--nodes N] [--workers W] [--seed S] [--seeds COUNT] [--fault KIND] [--trace]
 *
 * Scenarios: see the table at the end. "sim one --fault DIE --seed 7 --trace" shows one run.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "launcher/core/samples.h"
#include "tests/sim/sim.h"

enum { ANY = -1, INT = 2, QUIT = 3, TERM = 15, USR1 = 10 };

struct request {
    uint32_t nodes, workers;
    uint64_t seed, nseeds;
    enum sim_fault_kind fault;
    FILE *trace;
    uint64_t nruns, steps;
};

static uint64_t draw(uint64_t *state, uint64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % n;
}

static struct sim_config make_config(const struct request *r, uint64_t seed)
{
    return (struct sim_config){.nodes = r->nodes,
                               .workers = r->workers,
                               .seed = seed,
                               .grace_ms = 25000,
                               .run_ms = 20000,
                               .trace = r->trace};
}

/* Runs twice; kind and status: what must come out, ANY = no matter. */
static int expect(struct request *r, const struct sim_config *c, int kind, int status)
{
    struct sim_result first, second;
    sim_run(c, &first);
    r->nruns++;
    r->steps += first.steps;
    if (c->nodes <= 100 && !c->trace) {
        sim_run(c, &second);
        if (first.hash != second.hash)
            snprintf(first.broken, sizeof first.broken, "the same seed gave another trace");
    }
    if (c->trace)
        printf("verdict %d rank %u node %u status %d generation %u after %llu ms, hash %llx\n",
               (int)first.kind, first.rank, first.node, first.status, first.generation,
               (unsigned long long)first.done_ms, (unsigned long long)first.hash);
    if (!first.broken[0] && (kind == ANY || (int)first.kind == kind)
        && (status == ANY || first.status == status))
        return 0;
    printf("seed %llu: verdict %d, status %d: %s\n", (unsigned long long)c->seed,
           (int)first.kind, first.status, first.broken[0] ? first.broken : "not as expected");
    for (size_t i = 0; i < c->nfaults; i++)
        printf("  %s node=%u local_rank=%u generation=%u at=%llu arg=%llu (%s)\n",
               sim_fault_name(c->faults[i].kind), c->faults[i].node, c->faults[i].local_rank,
               c->faults[i].generation, (unsigned long long)c->faults[i].at_ms,
               (unsigned long long)c->faults[i].arg, sim_fault_text(c->faults[i].kind));
    return 1;
}

/* A fault of this kind, the rest by chance. */
static struct sim_fault make_fault(enum sim_fault_kind kind, const struct sim_config *c,
                                   uint64_t *state)
{
    static const uint64_t args[SIM_FAULT_COUNT][4] = {
        [SIM_EXIT] = {1, 2, 7, 255},
        [SIM_CRASH] = {6, 9, 11, 11},
        [SIM_EXEC] = {2, 13, 8, 2},
        [SIM_FORK] = {11, 12, 11, 12},
        [SIM_SLOW_EXIT] = {100, 5000, 24000, 40000},
        [SIM_SSH_SLOW] = {100, 3000, 9000, 15000},
        [SIM_AGENT_SLOW] = {100, 3000, 15000, 60000},
        [SIM_AGENT_REFUSED] = {1, 30, 1000, 9000},
        [SIM_FREEZE] = {500, 4000, 15000, 200000},
        [SIM_BLOCK] = {5, 700, 30000, 120000},
        [SIM_SIGNAL] = {INT, INT, TERM, 1},
        [SIM_SUSPEND] = {100, 3000, 10000, 100000},
        [SIM_HANG] = {2000, 5000, 9000, 15000},
    };
    struct sim_fault f = {.kind = kind};
    f.node = (uint32_t)draw(state, c->nodes);
    f.local_rank = (uint32_t)draw(state, c->workers);
    f.at_ms = draw(state, 2) ? draw(state, 150) : draw(state, c->run_ms + 500);
    f.arg = args[kind][draw(state, 4)];
    f.generation = c->max_restarts ? (uint32_t)draw(state, 2) : 0;
    return f;
}

static int clean(struct request *r)
{
    int rc = 0;
    for (uint32_t nodes = 1; nodes < 20; nodes += 3) {
        r->nodes = nodes;
        struct sim_config c = make_config(r, nodes);
        rc |= expect(r, &c, VERDICT_OK, 0);
    }
    return rc;
}

/* One fault of each kind, alone: what must be named. */
static int each_fault(struct request *r)
{
    static const struct {
        enum sim_fault_kind fault;
        int kind, status;
    } rows[] = {
        {SIM_EXIT, VERDICT_WORKER, ANY},
        {SIM_CRASH, VERDICT_WORKER, ANY},
        {SIM_EXEC, VERDICT_WORKER, ANY},
        {SIM_FORK, VERDICT_WORKER, 125},
        {SIM_DEAF, VERDICT_OK, 0},
        {SIM_SLOW_EXIT, VERDICT_OK, 0},
        {SIM_CHILD, VERDICT_OK, 0},
        {SIM_CHILD_DEAF, VERDICT_OK, 0},
        {SIM_CHILD_GHOST, VERDICT_OK, 0},
        {SIM_REFUSE, VERDICT_ERROR, 2},
        {SIM_AGENT_SLOW, VERDICT_OK, 0},
        {SIM_AGENT_REFUSED, VERDICT_NODE_LOST, 69},
        {SIM_AGENT_HANGS, VERDICT_NODE_LOST, 69},
        {SIM_DIE, ANY, ANY},
        {SIM_VANISH, ANY, ANY},
        {SIM_FREEZE, ANY, ANY},
        {SIM_CUT, ANY, ANY},
        {SIM_DEAF_UP, ANY, ANY},
        {SIM_DEAF_DOWN, ANY, ANY},
        {SIM_BLOCK, VERDICT_OK, 0},
        {SIM_SIGNAL, ANY, ANY},
        {SIM_SUSPEND, VERDICT_OK, 0},
    };
    int rc = 0;
    r->nodes = 5;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (uint64_t seed = 1; seed <= 12; seed++) {
            uint64_t state = seed * 977 + i;
            struct sim_config c = make_config(r, seed);
            c.faults[c.nfaults++] = make_fault(rows[i].fault, &c, &state);
            if (rows[i].fault == SIM_AGENT_HANGS)
                c.faults[0].node = 1 + c.faults[0].node % 4; /* somebody must be first */
            rc |= expect(r, &c, rows[i].kind, rows[i].status);
        }
    }
    return rc;
}

/* Failure, stop and restart at full size; the next attempt ends well. */
static int restart(struct request *r)
{
    struct sim_config c = make_config(r, r->seed);
    c.max_restarts = 1;
    c.faults[c.nfaults++] =
        (struct sim_fault){SIM_EXIT, c.nodes / 2, c.workers - 1, 0, 5000, 7};
    return expect(r, &c, VERDICT_OK, 0);
}

/* Every generation fails, so that the store is reset as often as it may. */
static int restarts(struct request *r)
{
    struct sim_config c = make_config(r, r->seed);
    c.max_restarts = 4;
    for (uint32_t g = 0; g <= 4; g++)
        c.faults[c.nfaults++] = (struct sim_fault){SIM_EXIT, g % c.nodes, g % c.workers,
                                                   g,        100 * g,     10 + (uint64_t)g};
    int rc = expect(r, &c, VERDICT_WORKER, 14);
    c.restart_delay_ms = 2000; /* the same with waits, up to 16 s */
    rc |= expect(r, &c, VERDICT_WORKER, 14);
    c.min_uptime_ms = 5000; /* all of these fail at start: the third is the last */
    rc |= expect(r, &c, VERDICT_WORKER, 12);
    c.restart_delay_ms = c.min_uptime_ms = 0;
    c.faults[2].arg = 93; /* and one that asks not to be started again */
    return rc | expect(r, &c, VERDICT_WORKER, 93);
}

/* A node is lost at each moment of the first seconds, and around a failure. */
static int node_lost(struct request *r)
{
    static const enum sim_fault_kind kinds[] = {SIM_DIE,     SIM_VANISH,    SIM_CUT,
                                                SIM_DEAF_UP, SIM_DEAF_DOWN, SIM_FREEZE};
    int rc = 0;
    for (uint64_t at = 0; at < 120; at++) {
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            struct sim_config c = make_config(r, at + 1);
            c.max_restarts = 1;
            c.faults[c.nfaults++] =
                (struct sim_fault){kinds[k], 1 + (uint32_t)at % 2, 0, 0, at, 60000};
            if (at % 3 == 0) /* with a failure, it may hit the stop or the restart */
                c.faults[c.nfaults++] = (struct sim_fault){SIM_EXIT, 0, 0, 0, at / 3, 3};
            bool is_sure = at >= 60 && at % 3; /* all have joined, nothing else is wrong */
            rc |= expect(r, &c, is_sure ? VERDICT_NODE_LOST : ANY, is_sure ? 75 : ANY);
        }
    }
    return rc;
}

/* MPI: every node passes every fence, also after a restart; one that is lost while others wait
 * for it leaves nobody behind. */
static int mpi(struct request *r)
{
    static const enum sim_fault_kind kinds[] = {SIM_DIE, SIM_VANISH, SIM_CUT, SIM_CRASH};
    struct sim_config c = make_config(r, r->seed);
    c.is_mpi = true;
    int rc = expect(r, &c, VERDICT_OK, 0);
    c.max_restarts = 1;
    c.faults[c.nfaults++] = (struct sim_fault){SIM_EXIT, 0, 0, 0, 30, 7};
    rc |= expect(r, &c, VERDICT_OK, 0);
    for (uint64_t at = 0; at < 200; at++) {
        c = make_config(r, at + 1);
        c.is_mpi = true;
        c.max_restarts = at % 2;
        c.faults[c.nfaults++] =
            (struct sim_fault){kinds[at % 4], 1 + (uint32_t)at % 3, 0, 0, at, 11};
        rc |= expect(r, &c, ANY, ANY);
    }
    return rc;
}

/* The user at random moments, once and twice; deaf workers make the second one matter. */
static int signals(struct request *r)
{
    int rc = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        uint64_t state = seed;
        struct sim_config c = make_config(r, seed);
        c.max_restarts = 1;
        uint64_t signo = seed % 3 == 0 ? TERM : INT;
        uint64_t at = draw(&state, 2) ? draw(&state, 150) : draw(&state, 19000);
        c.faults[c.nfaults++] = (struct sim_fault){SIM_SIGNAL, 0, 0, 0, at, signo};
        if (seed % 2)
            c.faults[c.nfaults++] = (struct sim_fault){
                SIM_SIGNAL, 0, 0, 0, at + draw(&state, 200), seed % 5 ? signo : USR1};
        if (seed % 4 == 1)
            c.faults[c.nfaults++] = make_fault(SIM_DEAF, &c, &state);
        if (seed % 7 == 1)
            c.faults[c.nfaults++] = make_fault(SIM_BLOCK, &c, &state);
        rc |= expect(r, &c, VERDICT_SIGNAL, 128 + (int)signo);
    }
    return rc;
}

static int time_limit(struct request *r)
{
    int rc = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t state = seed;
        struct sim_config c = make_config(r, seed);
        c.timeout_ms = 10 + draw(&state, 15000);
        if (seed % 2) { /* whoever does not read is not waited for */
            c.faults[c.nfaults++] = make_fault(SIM_BLOCK, &c, &state);
            c.faults[0].arg = 0;
        }
        rc |= expect(r, &c, VERDICT_TIME_LIMIT, 124);
    }
    return rc;
}

/* A worker stands still: it is named, by heartbeats or by silence, and a restart may follow. */
static int hang(struct request *r)
{
    int rc = 0;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        uint64_t state = seed * 13;
        r->nodes = 1 + (uint32_t)seed % 4;
        struct sim_config c = make_config(r, seed);
        bool is_restarted = seed % 5 == 0;
        c.max_restarts = is_restarted;
        c.heartbeat_ms = seed % 3 ? 5000 : 0;
        c.silence_ms = seed % 3 ? 0 : 5000;
        c.faults[c.nfaults++] = make_fault(SIM_HANG, &c, &state);
        c.faults[0].generation = 0;
        if (seed % 7 == 0)
            c.faults[c.nfaults++] = (struct sim_fault){SIM_SIGNAL, 0, 0, 0, 3000, QUIT};
        rc |= expect(r, &c, is_restarted ? VERDICT_OK : VERDICT_HANG, is_restarted ? 0 : 124);
    }
    return rc;
}

/* Who cannot be heard is not silent: a suspended job, a reader that does not read. SIGQUIT ends
 * nothing, and workers get notice of a SIGTERM. */
static int quiet(struct request *r)
{
    static const enum sim_fault_kind kinds[] = {SIM_SUSPEND, SIM_BLOCK, SIM_SIGNAL, SIM_DEAF};
    int rc = 0;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        uint64_t state = seed * 17;
        r->nodes = seed % 3 ? 1 : 3;
        struct sim_config c = make_config(r, seed);
        c.heartbeat_ms = seed % 2 ? 3000 : 0;
        c.silence_ms = seed % 2 ? 0 : 3000;
        struct sim_fault f = make_fault(kinds[seed / 3 % 4], &c, &state);
        f.arg = f.kind == SIM_SIGNAL ? QUIT : f.arg;
        c.faults[c.nfaults++] = f;
        rc |= expect(r, &c, VERDICT_OK, 0);
        c.notice = "USR1:4s";
        c.faults[c.nfaults++] = (struct sim_fault){SIM_SIGNAL, 0, 0, 0, 9000, TERM};
        rc |= expect(r, &c, c.faults[0].kind == SIM_SUSPEND ? ANY : VERDICT_SIGNAL, ANY);
    }
    return rc;
}

/* Head and node in one process: no beats, nothing lost, Ctrl-Z stops both. */
static int alone(struct request *r)
{
    static const enum sim_fault_kind kinds[] = {
        SIM_EXIT,  SIM_CRASH,      SIM_EXEC,        SIM_DEAF,  SIM_UNKILLABLE, SIM_SLOW_EXIT,
        SIM_CHILD, SIM_CHILD_DEAF, SIM_CHILD_GHOST, SIM_BLOCK, SIM_SIGNAL,     SIM_SUSPEND};
    int rc = 0;
    r->nodes = 1;
    for (uint64_t seed = 1; seed <= r->nseeds; seed++) {
        uint64_t state = seed;
        struct sim_config c = make_config(r, seed);
        c.max_restarts = (uint32_t)draw(&state, 3);
        c.restart_delay_ms = seed % 3 ? 0 : 1 + seed * 37 % 5000;
        c.min_uptime_ms = seed % 5 ? 0 : 3000;
        for (uint64_t n = 1 + draw(&state, 3); n > 0; n--)
            c.faults[c.nfaults++] =
                make_fault(kinds[draw(&state, sizeof kinds / sizeof kinds[0])], &c, &state);
        rc |= expect(r, &c, ANY, ANY);
    }
    return rc;
}

static bool is_of_ssh(enum sim_fault_kind kind)
{
    return kind == SIM_SSH_SLOW || kind == SIM_SSH_REFUSED || kind == SIM_SSH_INNER
           || kind == SIM_SSH_STALLS;
}

/* Any but those that take ssh. */
static enum sim_fault_kind draw_kind(uint64_t *state)
{
    enum sim_fault_kind kind;
    do
        kind = (enum sim_fault_kind)draw(state, SIM_FAULT_COUNT);
    while (is_of_ssh(kind));
    return kind;
}

/* Anything, several at a time. One seed alone: --seed S --seeds 1. */
static int sweep(struct request *r)
{
    int rc = 0;
    for (uint64_t seed = r->seed; seed < r->seed + r->nseeds; seed++) {
        uint64_t state = seed * 31;
        r->nodes = 3 + (uint32_t)draw(&state, 18);
        struct sim_config c = make_config(r, seed);
        c.workers = 1 + (uint32_t)draw(&state, r->workers);
        c.max_restarts = (uint32_t)draw(&state, 3);
        c.grace_ms = draw(&state, 4) ? 25000 : draw(&state, 3) * 1000;
        c.timeout_ms = draw(&state, 6) ? 0 : 1 + draw(&state, 25000);
        c.restart_delay_ms = seed % 3 ? 0 : 1 + seed * 37 % 5000;
        c.min_uptime_ms = seed % 5 ? 0 : 3000;
        c.look_ms = seed % 2 ? 0 : 700;
        for (uint64_t n = 1 + draw(&state, 4); n > 0; n--) {
            enum sim_fault_kind kind = draw_kind(&state);
            struct sim_fault f = make_fault(kind, &c, &state);
            if (kind == SIM_AGENT_HANGS && f.node == 0)
                f.node = 1;
            if (kind == SIM_HANG) /* somebody has to notice */
                c.heartbeat_ms = 4000;
            c.faults[c.nfaults++] = f;
        }
        rc |= expect(r, &c, ANY, ANY);
    }
    return rc;
}

static int say(const char *what, const struct sim_result *result)
{
    printf(
        "%s: %llu logins, %llu messages and %llu bytes at the head, last link after %llu ms\n",
        what, (unsigned long long)result->logins, (unsigned long long)result->start_messages,
        (unsigned long long)result->start_bytes, (unsigned long long)result->joined_ms);
    if (result->broken[0])
        printf("%s: %s\n", what, result->broken);
    return result->broken[0] || result->status != 0;
}

static int must(bool holds, const char *what)
{
    if (!holds)
        printf("does not hold: %s\n", what);
    return !holds;
}

/* The start of a large job, flat and as a tree: what it costs the head. In the tree it logs in
 * 32 times, gets two status lines a node at most, and the last node is there within a few
 * logins; flat it is as many logins as nodes, 32 at a time. */
static int tree(struct request *r)
{
    struct sim_config c = make_config(r, r->seed);
    struct sim_result flat, tall, no_key;
    uint64_t n = c.nodes;
    c.has_ssh = true;
    sim_run(&c, &flat);
    c.radix = 32;
    sim_run(&c, &tall);
    c.faults[c.nfaults++] = (struct sim_fault){.kind = SIM_SSH_INNER};
    sim_run(&c, &no_key);
    r->nruns += 3;
    r->steps += flat.steps + tall.steps + no_key.steps;
    int rc = say("flat", &flat) | say("tree", &tall) | say("one without a key", &no_key);
    rc |= must(tall.farewells + no_key.farewells == 0, "nobody is started twice");
    rc |= must(no_key.logins <= 2 * 32 && no_key.joined_ms <= 3000,
               "whom a host cannot reach the head starts, and at once");
    rc |= must(flat.logins == n && tall.logins == 32, "logins: one a node, or 32");
    rc |= must(flat.start_messages == 2 * n && tall.start_messages <= 2 * n,
               "messages: two a node");
    rc |= must(flat.start_bytes >= 180 * n && tall.start_bytes <= 90 * n + 300 * 32,
               "bytes: more than 180 a node, or at most 90");
    rc |= must(flat.joined_ms >= n / 32 * 150 && tall.joined_ms <= 3 * 400,
               "time: a login for each 32 nodes, or one for each of three levels");
    rc |= must(tall.frames == flat.frames && tall.bytes == flat.bytes,
               "once all have their links there is no difference");
    return rc;
}

/* Hosts that are slow, that cannot log in on others or do not: everybody comes in the end. */
static int tree_slow(struct request *r)
{
    static const enum sim_fault_kind kinds[] = {SIM_SSH_SLOW, SIM_SSH_INNER, SIM_SSH_STALLS};
    struct sim_config c = make_config(r, r->seed);
    int rc = 0;
    c.has_ssh = true;
    c.radix = 32;
    for (uint32_t i = 0; i < 3; i++) /* at the top, each with its thirtieth of the nodes */
        c.faults[c.nfaults++] =
            (struct sim_fault){kinds[i], i * (c.nodes / 32 + 1), 0, 0, 0, 15000};
    rc |= expect(r, &c, VERDICT_OK, 0);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t state = seed * 41;
        r->nodes = 5 + (uint32_t)draw(&state, 90);
        c = make_config(r, seed);
        c.has_ssh = true;
        c.radix = 2 + (uint32_t)draw(&state, 5);
        for (uint64_t n = draw(&state, 5); n > 0; n--)
            c.faults[c.nfaults++] = make_fault(kinds[draw(&state, 3)], &c, &state);
        rc |= expect(r, &c, VERDICT_OK, 0);
    }
    return rc;
}

/* Hosts that nobody reaches, or that die on the way: they are named, and nobody else. */
static int tree_dead(struct request *r)
{
    static const enum sim_fault_kind kinds[] = {SIM_SSH_REFUSED, SIM_DIE,       SIM_VANISH,
                                                SIM_SSH_SLOW,    SIM_SSH_INNER, SIM_SSH_STALLS};
    int rc = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t state = seed * 43;
        r->nodes = 5 + (uint32_t)draw(&state, 90);
        struct sim_config c = make_config(r, seed);
        c.has_ssh = true;
        c.radix = seed % 7 ? 2 + (uint32_t)draw(&state, 5) : 0;
        for (uint64_t n = 1 + draw(&state, 4); n > 0; n--) {
            enum sim_fault_kind kind = kinds[c.nfaults ? draw(&state, 6) : draw(&state, 3)];
            struct sim_fault f = make_fault(kind, &c, &state);
            f.at_ms = kind == SIM_SSH_REFUSED ? 0 : draw(&state, 2000);
            c.faults[c.nfaults++] = f;
        }
        rc |= expect(r, &c, VERDICT_NODE_LOST, ANY);
    }
    return rc;
}

static int say_look(const char *what, const struct sim_result *result)
{
    printf("%s: %llu looks, at most %llu ms; %llu questions, %llu answers of at most %llu "
           "bytes\n",
           what, (unsigned long long)result->looks, (unsigned long long)result->look_ms_max,
           (unsigned long long)result->samples_asked, (unsigned long long)result->samples,
           (unsigned long long)result->sample_bytes_max);
    if (result->broken[0])
        printf("%s: %s\n", what, result->broken);
    return result->broken[0] || result->status != 0;
}

/* Somebody looks at a large job, then very many do, then a node stands still: what it costs the
 * head, and how long they wait. */
static int look(struct request *r)
{
    struct sim_config c = make_config(r, r->seed);
    struct sim_result once, often, frozen;
    uint64_t n = c.nodes, nrounds = c.run_ms / SAMPLES_GAP_MS + 2;
    c.look_ms = 1000;
    sim_run(&c, &once);
    c.look_ms = 10;
    sim_run(&c, &often);
    c.look_ms = 1000;
    c.faults[c.nfaults++] = (struct sim_fault){SIM_FREEZE, 3, 0, 0, 5300, 6000};
    sim_run(&c, &frozen);
    r->nruns += 3;
    r->steps += once.steps + often.steps + frozen.steps;
    int rc = say_look("one", &once) | say_look("many", &often) | say_look("frozen", &frozen);
    rc |= must(once.looks >= c.run_ms / 1000 - 2, "each look asks");
    rc |= must(once.samples_asked == once.looks * n && once.samples == once.samples_asked,
               "one question and one answer a node and look");
    rc |= must(once.sample_bytes_max <= 400 * (uint64_t)c.workers,
               "an answer has at most 400 bytes a rank");
    rc |= must(once.look_ms_max < 300, "who answers is not waited for longer");
    rc |= must(often.samples_asked <= nrounds * n && often.looks <= nrounds,
               "many looks cost as much as one each 200 ms");
    rc |= must(frozen.look_ms_max == SAMPLES_LIMIT_MS,
               "a node that stands still is not waited for");
    rc |= must(frozen.samples == frozen.samples_asked && frozen.samples_asked < frozen.looks * n
                   && frozen.looks > 10,
               "it is asked once, and again when it has answered");
    return rc;
}

static int one(struct request *r)
{
    uint64_t state = r->seed;
    struct sim_config c = make_config(r, r->seed);
    if (r->fault != SIM_FAULT_COUNT)
        c.faults[c.nfaults++] = make_fault(r->fault, &c, &state);
    if (r->fault == SIM_HANG)
        c.heartbeat_ms = 4000;
    c.has_ssh = r->fault != SIM_FAULT_COUNT && is_of_ssh(r->fault);
    c.radix = 2;
    return expect(r, &c, ANY, ANY);
}

static const struct {
    const char *name;
    int (*run)(struct request *r);
    uint32_t nodes, workers;
    uint64_t nseeds;
} scenarios[] = {
    {"one", one, 4, 2, 1},
    {"clean", clean, 0, 8, 1},
    {"faults", each_fault, 5, 3, 1},
    {"restart", restart, 10000, 8, 1},
    {"restarts", restarts, 7, 3, 1},
    {"node-lost", node_lost, 4, 2, 1},
    {"mpi", mpi, 5, 2, 1},
    {"signals", signals, 4, 2, 1},
    {"time-limit", time_limit, 4, 2, 1},
    {"hang", hang, 0, 4, 1},
    {"quiet", quiet, 0, 3, 1},
    {"alone", alone, 1, 4, 300},
    {"sweep", sweep, 0, 4, 600},
    {"look", look, 1000, 8, 1},
    {"tree", tree, 10000, 8, 1},
    {"tree-slow", tree_slow, 10000, 8, 1},
    {"tree-dead", tree_dead, 0, 3, 1},
};

static int parse(struct request *r, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        uint64_t v = 0;
        bool is_number = str_parse_u64(str_from(value), 1, UINT32_MAX, &v) == 0;
        if (strcmp(argv[i], "--trace") == 0) {
            r->trace = stdout;
            continue;
        }
        i++;
        if (strcmp(argv[i - 1], "--nodes") == 0 && is_number)
            r->nodes = (uint32_t)v;
        else if (strcmp(argv[i - 1], "--workers") == 0 && is_number)
            r->workers = (uint32_t)v;
        else if (strcmp(argv[i - 1], "--seed") == 0 && is_number)
            r->seed = v;
        else if (strcmp(argv[i - 1], "--seeds") == 0 && is_number)
            r->nseeds = v;
        else if (strcmp(argv[i - 1], "--fault") == 0) {
            r->fault = 0;
            while (r->fault < SIM_FAULT_COUNT && strcmp(sim_fault_name(r->fault), value) != 0)
                r->fault++;
            if (r->fault == SIM_FAULT_COUNT)
                return -1;
        } else
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    size_t count = sizeof scenarios / sizeof scenarios[0], k = 0;
    while (argc > 1 && k < count && strcmp(scenarios[k].name, argv[1]) != 0)
        k++;
    struct request r = {.seed = 1, .fault = SIM_FAULT_COUNT};
    if (argc > 1 && k < count) {
        r.nodes = scenarios[k].nodes;
        r.workers = scenarios[k].workers;
        r.nseeds = scenarios[k].nseeds;
    }
    if (argc < 2 || k == count || parse(&r, argc, argv) < 0) {
        fprintf(stderr, "usage: sim SCENARIO [--nodes N] [--workers W] [--seed S] "
                        "[--seeds COUNT] [--fault KIND] [--trace]\nscenarios:");
        for (k = 0; k < count; k++)
            fprintf(stderr, " %s", scenarios[k].name);
        fprintf(stderr, "\n");
        return 2;
    }
    int rc = scenarios[k].run(&r);
    printf("%s: %llu runs, %llu steps\n", scenarios[k].name, (unsigned long long)r.nruns,
           (unsigned long long)r.steps);
    return rc;
}
