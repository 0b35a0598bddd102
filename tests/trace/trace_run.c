/* trace_run FILE [--rewrite] - feeds the events of a trace to one machine and compares what it
 * answers with what the file says. --rewrite replaces the answers by those of the code: to be
 * read before they are committed.
 *
 * A trace: '#' comments; one line "machine job|node KEY=NUMBER..." (nodes, nproc, gpus, plan,
 * max_restarts, grace_ms, timeout_ms, beat_ms, restart_delay_ms, restart_delay_max_ms,
 * min_uptime_ms, no_restart_code, heartbeat_ms, silence_ms, notice: 1 = USR1 and 20 s); then
 * steps, each ended by an empty line:
 * events as event_parse reads them, "----", and the effects of all of them as effect_format
 * prints them. After the effects comes "deadline MS" if it has changed ("-" = none), and how it
 * ended once it has.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/core/job.h"
#include "launcher/core/node.h"
#include "tests/sim/setup.h"
#include "launcher/core/event_text.h"

enum { LINES_MAX = 64 }; /* events of one step */

struct run {
    struct setup setup;
    char code[16];
    struct job *job; /* one of the two */
    struct node *node;
    uint64_t deadline_ms;
    bool was_over;
    struct effects effects;
    struct buf out; /* the file as it should be */

    struct event_parts parts[LINES_MAX]; /* what the events of this step point to */
    char *lines[LINES_MAX];
    size_t nlines;
};

static void fail(const char *what, const char *line)
{
    fprintf(stderr, "trace: %s: %s\n", what, line);
    exit(1);
}

static bool restart_set(struct run *r, struct str key, uint64_t v)
{
    struct options *opt = &r->setup.options;
    if (str_eq(key, "restart_delay_ms")) {
        opt->restart_delay_ms = v;
        opt->origin[OPTION_RESTART_DELAY] = ORIGIN_COMMAND_LINE;
    } else if (str_eq(key, "restart_delay_max_ms")) {
        opt->restart_delay_max_ms = v;
    } else if (str_eq(key, "min_uptime_ms")) {
        opt->min_uptime_ms = v;
    } else if (str_eq(key, "no_restart_code")) {
        snprintf(r->code, sizeof r->code, "%u", (unsigned)v);
        opt->no_restart_codes = r->code;
    } else {
        return false;
    }
    return true;
}

static void machine_set(struct run *r, struct str key, uint64_t v, uint64_t *nodes,
                        uint64_t *beat_ms)
{
    struct options *opt = &r->setup.options;
    if (str_eq(key, "nodes"))
        *nodes = v;
    else if (str_eq(key, "beat_ms"))
        *beat_ms = v;
    else if (str_eq(key, "nproc"))
        opt->nproc = (uint32_t)v;
    else if (str_eq(key, "gpus"))
        setup_add_gpus(&r->setup, (int)v);
    else if (str_eq(key, "min_nodes"))
        opt->nnodes_min = (uint32_t)v;
    else if (str_eq(key, "last_call_ms"))
        opt->last_call_ms = v;
    else if (str_eq(key, "hosts")) /* muster starts the nodes */
        opt->hosts = v ? "list" : NULL;
    else if (str_eq(key, "max_restarts"))
        opt->max_restarts = (uint32_t)v;
    else if (str_eq(key, "plan"))
        opt->is_plan = v;
    else if (str_eq(key, "grace_ms"))
        opt->grace_ms = v;
    else if (str_eq(key, "timeout_ms"))
        opt->timeout_ms = v;
    else if (str_eq(key, "heartbeat_ms"))
        opt->heartbeat_ms = v;
    else if (str_eq(key, "silence_ms"))
        opt->silence_ms = v;
    else if (str_eq(key, "notice")) /* the one that can be had here */
        opt->preempt_signal = v ? "USR1:20s" : NULL;
    else if (!restart_set(r, key, v))
        fail("unknown key of a machine", key.p);
}

/* "machine job nodes=2 nproc=2 ..." */
static void make_machine(struct run *r, const char *line)
{
    struct str rest = str_from(line), word, key;
    uint64_t nodes = 1, beat_ms = 0;
    str_split(&rest, ' ', &word);
    str_split(&rest, ' ', &word);
    bool is_job = str_eq(word, "job");
    if (!is_job && !str_eq(word, "node"))
        fail("a machine is a job or a node", line);
    setup_init(&r->setup, 2);
    r->setup.options.nnodes_min = 0; /* all of them */
    while (str_split(&rest, ' ', &word)) {
        struct str value = word;
        uint64_t v = 0;
        str_split(&value, '=', &key);
        if (!value.p || str_parse_u64(value, 0, UINT32_MAX, &v) < 0)
            fail("not KEY=NUMBER", line);
        machine_set(r, key, v, &nodes, &beat_ms);
    }
    if (is_job) {
        struct options *opt = &r->setup.options;
        opt->nnodes_min = opt->nnodes_min ? opt->nnodes_min : (uint32_t)nodes;
        r->job = job_new(&r->setup.options, (uint32_t)nodes, beat_ms);
    } else {
        const struct node_place place = {.beat_ms = beat_ms, .node_rank = NODE_RANK_ANY};
        r->node = node_new(&r->setup.options, &r->setup.facts, &place);
    }
    r->deadline_ms = UINT64_MAX;
}

static void step(struct run *r, const char *line)
{
    if (r->nlines == LINES_MAX || (!r->job && !r->node))
        fail("too many events in a step, or no machine", line);
    struct event ev;
    struct err e;
    struct event_parts *parts = &r->parts[r->nlines];
    parts->order =
        (struct order){.job_id = "job", .master_addr = "127.0.0.1", .master_port = 29500};
    r->lines[r->nlines] = mem_strdup(line);
    if (event_parse(r->lines[r->nlines], &ev, parts, &e) < 0)
        fail(e.text, line);
    r->nlines++;
    size_t before = r->effects.len;
    if (r->job)
        job_step(r->job, &ev, &r->effects);
    else
        node_step(r->node, &ev, &r->effects);
    for (size_t i = before; i < r->effects.len; i++) {
        effect_format(&r->effects.items[i], &r->out);
        buf_addc(&r->out, '\n');
    }
}

static void add_verdict(struct run *r)
{
    const struct verdict *v = job_verdict(r->job);
    static const char *const kinds[] = {"ok",         "worker",    "signal", "error",
                                        "time_limit", "node_lost", "hang"};
    buf_addf(&r->out, "verdict %s", kinds[v->kind]);
    if (v->kind == VERDICT_WORKER)
        buf_addf(&r->out, " rank=%u node=%u", v->rank, v->node);
    if (v->kind == VERDICT_NODE_LOST)
        buf_addf(&r->out, " node=%u", v->node);
    if (v->kind == VERDICT_HANG && v->hang == HANG_HEARTBEAT)
        buf_addf(&r->out, " rank=%u quiet_ms=%llu", v->rank, (unsigned long long)v->quiet_ms);
    if (v->differs)
        buf_addf(&r->out, " (%s)", v->differs);
    buf_addf(&r->out, " status=%d generation=%u\n", verdict_exit_status(v),
             job_generation(r->job));
}

/* What is known after the step besides its effects. */
static void add_after(struct run *r)
{
    uint64_t deadline_ms = r->job ? job_deadline(r->job) : node_deadline(r->node);
    if (deadline_ms == UINT64_MAX && r->deadline_ms != UINT64_MAX)
        buf_adds(&r->out, "deadline -\n");
    else if (deadline_ms != r->deadline_ms)
        buf_addf(&r->out, "deadline %llu\n", (unsigned long long)deadline_ms);
    r->deadline_ms = deadline_ms;
    bool is_over = r->job ? job_done(r->job) : node_is_done(r->node);
    if (is_over && !r->was_over && r->job)
        add_verdict(r);
    else if (is_over && !r->was_over)
        buf_adds(&r->out, "over\n");
    r->was_over = is_over;
}

/* The events of one step stay in the file, the rest is written anew. Returns the next line. */
static char *run_step(struct run *r, char *first)
{
    char *line = first, *next;
    struct buf events;
    buf_init(&events, 0);
    for (; *line && strncmp(line, "----", 4) != 0; line = next) {
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        buf_add(&events, line, (size_t)(next - line));
    }
    buf_add(&r->out, buf_str(&events), events.len);
    buf_adds(&r->out, "----\n");
    effects_clear(&r->effects);
    struct str rest = str_from(buf_str(&events)), part;
    while (str_split(&rest, '\n', &part)) {
        char *text = mem_printf("%.*s", STR_ARG(part));
        if (*text && *text != '#')
            step(r, text);
        free(text);
    }
    add_after(r);
    while (r->nlines)
        free(r->lines[--r->nlines]);
    buf_fini(&events);
    char *end = strstr(line, "\n\n");
    return end ? end + 1 : line + strlen(line);
}

static void run_file(struct run *r, char *text)
{
    for (char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        if (n == 0 || *line == '#' || strncmp(line, "machine ", 8) == 0) {
            char *copy = mem_printf("%.*s", (int)n, line);
            if (*copy == 'm')
                make_machine(r, copy);
            buf_addf(&r->out, "%s\n", copy);
            free(copy);
            line += n + (line[n] == '\n');
        } else {
            line = run_step(r, line);
        }
    }
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail("cannot be read", path);
    struct buf text;
    buf_init(&text, 0);
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        buf_add(&text, part, n);
    fclose(f);
    return buf_steal(&text);
}

static int compare(const char *path, const char *is, const char *should)
{
    int line = 1;
    size_t at = 0, start = 0;
    for (; is[at] && is[at] == should[at]; at++) {
        if (is[at] == '\n') {
            line++;
            start = at + 1;
        }
    }
    if (is[at] == should[at])
        return 0;
    fprintf(stderr, "%s:%d:\n  file: %.*s\n  code: %.*s\n", path, line,
            (int)strcspn(is + start, "\n"), is + start, (int)strcspn(should + start, "\n"),
            should + start);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        fail("usage", "trace_run FILE [--rewrite]");
    struct run r = {0};
    buf_init(&r.out, 0);
    char *text = read_file(argv[1]);
    run_file(&r, text);
    int rc = 0;
    if (argc > 2 && strcmp(argv[2], "--rewrite") == 0) {
        FILE *f = fopen(argv[1], "wb");
        rc = !f || fwrite(r.out.data, 1, r.out.len, f) != r.out.len || fclose(f) != 0;
    } else {
        rc = compare(argv[1], text, buf_str(&r.out));
    }
    job_free(r.job);
    node_free(r.node);
    effects_fini(&r.effects);
    buf_fini(&r.out);
    free(text);
    return rc;
}
