#include "launcher/core/control.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define HEAD "muster/1 "

enum { RANKS_MAX = 1u << 20 };

static const char *const verbs[] = {
#define X(name, word) [CONTROL_##name] = word,
    CONTROL_VERBS(X)
#undef X
};
static_assert(sizeof verbs / sizeof verbs[0] == CONTROL_VERB_COUNT, "one row a verb");

static const char *const states[] = {
#define X(name, word) [RANK_##name] = word,
    RANK_STATES(X)
#undef X
};
static_assert(sizeof states / sizeof states[0] == RANK_STATE_COUNT, "one row a state");

static const char *const layouts[] = {
    [LOG_LAYOUT_RANK] = "rank",
    [LOG_LAYOUT_TORCHRUN] = "torchrun",
};

const char *rank_state_word(enum rank_state state)
{
    return states[state];
}

uint32_t control_running(const struct control_status *s)
{
    uint32_t n = 0;
    for (size_t i = 0; i < s->nranks; i++)
        n += s->ranks[i].state == RANK_RUNNING;
    return n;
}

/* ---- requests ---- */

void control_request_format(enum control_verb verb, struct buf *out)
{
    buf_addf(out, HEAD "%s\n", verbs[verb]);
}

/* The part behind the version; -1 with ERR_PROTOCOL. */
static int skip_head(struct str *line, struct err *e)
{
    if (!str_starts(*line, HEAD))
        return err_set(e, ERR_PROTOCOL,
                       "the other side does not speak version 1 of the control protocol; use "
                       "the muster that the job was started with");
    line->p += sizeof HEAD - 1;
    line->n -= sizeof HEAD - 1;
    return 0;
}

int control_request_parse(struct str line, enum control_verb *verb, struct err *e)
{
    if (skip_head(&line, e) < 0)
        return -1;
    for (unsigned i = 0; i < CONTROL_VERB_COUNT; i++)
        if (str_eq(line, verbs[i])) {
            *verb = (enum control_verb)i;
            return 0;
        }
    return err_set(e, ERR_PROTOCOL, "this muster does not know the request");
}

/* ---- answers ---- */

static void add_text(const char *text, struct buf *out)
{
    for (const char *p = text; *p; p++)
        buf_addc(out, (unsigned char)*p < 0x20 || *p == 0x7f ? ' ' : *p);
}

static void add_line(const char *key, const char *text, struct buf *out)
{
    if (!text)
        return;
    buf_addf(out, "%s ", key);
    add_text(text, out);
    buf_addc(out, '\n');
}

/* One word: a blank in it would be two. */
static void add_word(const char *text, struct buf *out)
{
    buf_addc(out, ' ');
    for (const char *p = text && *text ? text : "-"; *p; p++)
        buf_addc(out, (unsigned char)*p <= 0x20 || *p == 0x7f ? '_' : *p);
}

static void add_count(struct maybe_u64 n, struct buf *out)
{
    if (n.is_known)
        buf_addf(out, " %llu", (unsigned long long)n.value);
    else
        buf_adds(out, " -");
}

static void add_rank(size_t rank, const struct control_rank *r, struct buf *out)
{
    buf_addf(out, "rank %zu %u %u %u %s", rank, (unsigned)r->node, (unsigned)r->local_rank,
             (unsigned)r->pid, states[r->state]);
    add_word(r->gpu_index, out);
    add_word(r->gpu_uuid, out);
    add_count(r->step, out);
    add_count(r->quiet_ms, out);
    add_word(r->host, out);
    buf_addc(out, '\n');
    if (r->starts)
        buf_addf(out, "starts %zu %u\n", rank, (unsigned)r->starts);
    if (r->sample.asked_ms.is_known) {
        buf_addf(out, "sample %zu", rank);
        rank_sample_format(&r->sample, ' ', out);
        buf_addc(out, '\n');
    }
    if (!r->where)
        return;
    buf_addf(out, "at %zu ", rank);
    add_text(r->where, out);
    buf_addc(out, '\n');
}

void control_status_format(const struct control_status *s, struct buf *out)
{
    buf_adds(out, HEAD "ok\n");
    add_line("job", s->job_id, out);
    add_line("program", s->program, out);
    add_line("state", s->state, out);
    buf_addf(out,
             "pid %u\ngeneration %u\nmax_restarts %u\nnodes %u\nuptime_ms %llu\nlayout %s\n",
             (unsigned)s->pid, (unsigned)s->generation, (unsigned)s->max_restarts,
             (unsigned)s->nnodes, (unsigned long long)s->uptime_ms, layouts[s->layout]);
    if (s->here.is_known)
        buf_addf(out, "here %llu\n", (unsigned long long)s->here.value);
    add_line("log_dir", s->log_dir, out);
    add_line("log_root", s->log_root, out);
    add_line("stacks", s->stacks, out);
    add_line("sample_why", s->sample_why, out);
    add_line("metrics", s->metrics, out);
    for (size_t i = 0; i < s->nranks; i++)
        add_rank(i, &s->ranks[i], out);
    buf_adds(out, "end\n");
}

void control_refusal_format(const char *why, struct buf *out)
{
    buf_adds(out, HEAD "error ");
    add_text(why, out);
    buf_adds(out, "\nend\n");
}

/* ---- answers, read ---- */

static char *copy(struct str text)
{
    char *s = mem_alloc(text.n + 1, 1);
    if (text.n)
        memcpy(s, text.p, text.n);
    return s;
}

static void set_text(char **to, struct str text)
{
    free(*to);
    *to = copy(text);
}

static bool take_number(struct str *rest, uint64_t max, uint64_t *n)
{
    struct str word;
    return str_split(rest, ' ', &word) && str_parse_u64(word, 0, max, n) == 0;
}

static bool take_count(struct str *rest, struct maybe_u64 *n)
{
    struct str word;
    if (!str_split(rest, ' ', &word))
        return false;
    n->is_known = !str_eq(word, "-");
    return !n->is_known || str_parse_u64(word, 0, UINT64_MAX, &n->value) == 0;
}

static bool take_word(struct str *rest, struct str *word)
{
    return str_split(rest, ' ', word) && word->n;
}

static bool take_state(struct str *rest, enum rank_state *state)
{
    struct str word;
    if (!take_word(rest, &word))
        return false;
    for (unsigned i = 0; i < RANK_STATE_COUNT; i++)
        if (str_eq(word, states[i])) {
            *state = (enum rank_state)i;
            return true;
        }
    return false;
}

static char *copy_known(struct str word)
{
    return str_eq(word, "-") ? NULL : copy(word);
}

/* The next rank: they come in order. */
static bool read_rank(struct str rest, struct control_status *out, size_t *cap)
{
    uint64_t rank, node, local_rank, pid;
    struct control_rank r = {0};
    struct str index, uuid, host;
    if (out->nranks >= RANKS_MAX || !take_number(&rest, RANKS_MAX, &rank) || rank != out->nranks
        || !take_number(&rest, UINT32_MAX, &node)
        || !take_number(&rest, UINT32_MAX, &local_rank) || !take_number(&rest, UINT32_MAX, &pid)
        || !take_state(&rest, &r.state) || !take_word(&rest, &index) || !take_word(&rest, &uuid)
        || !take_count(&rest, &r.step) || !take_count(&rest, &r.quiet_ms)
        || !take_word(&rest, &host))
        return false;
    r.node = (uint32_t)node;
    r.local_rank = (uint32_t)local_rank;
    r.pid = (uint32_t)pid;
    r.gpu_index = copy_known(index);
    r.gpu_uuid = copy_known(uuid);
    r.host = copy(host);
    array_grow(out->ranks, out->nranks, *cap);
    out->ranks[out->nranks++] = r;
    return true;
}

/* The rank that a line after its own is about; NULL: none. */
static struct control_rank *take_rank(struct str *rest, struct control_status *out)
{
    uint64_t rank;
    if (!take_number(rest, RANKS_MAX, &rank) || rank >= out->nranks || !rest->p)
        return NULL;
    return &out->ranks[rank];
}

static bool read_where(struct str rest, struct control_status *out)
{
    struct control_rank *rank = take_rank(&rest, out);
    if (rank)
        set_text(&rank->where, rest);
    return rank != NULL;
}

static bool read_starts(struct str rest, struct control_status *out)
{
    uint64_t n;
    struct control_rank *rank = take_rank(&rest, out);
    if (!rank || str_parse_u64(rest, 0, UINT32_MAX, &n) < 0)
        return false;
    rank->starts = (uint32_t)n;
    return true;
}

static bool read_sample(struct str rest, struct control_status *out)
{
    struct control_rank *rank = take_rank(&rest, out);
    return rank && rank_sample_parse(&rest, ' ', &rank->sample);
}

static bool read_layout(struct str text, enum log_layout *layout)
{
    for (unsigned i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (str_eq(text, layouts[i])) {
            *layout = (enum log_layout)i;
            return true;
        }
    return false;
}

static bool read_text(struct str key, struct str rest, struct control_status *out)
{
    const struct {
        const char *key;
        char **to;
    } rows[] = {
        {"job", &out->job_id},
        {"program", &out->program},
        {"state", &out->state},
        {"log_dir", &out->log_dir},
        {"log_root", &out->log_root},
        {"stacks", &out->stacks},
        {"sample_why", &out->sample_why},
        {"metrics", &out->metrics},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (str_eq(key, rows[i].key)) {
            set_text(rows[i].to, rest);
            return true;
        }
    return false;
}

static bool read_number(struct str key, struct str rest, struct control_status *out, bool *ok)
{
    const struct {
        const char *key;
        uint32_t *to;
    } rows[] = {
        {"pid", &out->pid},
        {"generation", &out->generation},
        {"max_restarts", &out->max_restarts},
        {"nodes", &out->nnodes},
    };
    uint64_t n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (str_eq(key, rows[i].key)) {
            *ok = str_parse_u64(rest, 0, UINT32_MAX, &n) == 0;
            *rows[i].to = (uint32_t)n;
            return true;
        }
    return false;
}

static bool read_line(struct str line, struct control_status *out, size_t *cap)
{
    struct str rest = line, key;
    bool ok = true;
    if (!str_split(&rest, ' ', &key) || !rest.p)
        return false;
    if (str_eq(key, "rank"))
        return read_rank(rest, out, cap);
    if (str_eq(key, "at"))
        return read_where(rest, out);
    if (str_eq(key, "starts"))
        return read_starts(rest, out);
    if (str_eq(key, "sample"))
        return read_sample(rest, out);
    if (str_eq(key, "layout"))
        return read_layout(rest, &out->layout);
    if (str_eq(key, "here")) {
        out->here.is_known = true;
        return str_parse_u64(rest, 0, UINT32_MAX, &out->here.value) == 0;
    }
    if (str_eq(key, "uptime_ms"))
        return str_parse_u64(rest, 0, UINT64_MAX, &out->uptime_ms) == 0;
    if (read_number(key, rest, out, &ok))
        return ok;
    read_text(key, rest, out); /* else a key of a later muster */
    return true;
}

static int read_first(struct str line, struct err *e)
{
    if (skip_head(&line, e) < 0)
        return -1;
    if (str_eq(line, "ok"))
        return 0;
    if (!str_starts(line, "error "))
        return err_set(e, ERR_PROTOCOL, "an answer that is none");
    return err_set(e, ERR_PROTOCOL, "%.*s", (int)(line.n - 6 < 200 ? line.n - 6 : 200),
                   line.p + 6);
}

int control_status_parse(struct str text, struct control_status *out, struct err *e)
{
    struct str line;
    size_t cap = 0;
    *out = (struct control_status){0};
    if (!str_split(&text, '\n', &line))
        return err_set(e, ERR_PROTOCOL, "no answer came");
    if (read_first(line, e) < 0)
        return -1;
    bool ok = true, is_whole = false;
    while (ok && !is_whole && str_split(&text, '\n', &line)) {
        is_whole = str_eq(line, "end");
        ok = is_whole || read_line(line, out, &cap);
    }
    if (ok && is_whole && out->job_id && out->program && out->state)
        return 0;
    control_status_fini(out);
    return err_set(e, ERR_PROTOCOL, ok ? "the answer was cut off" : "an answer that is none");
}

void control_status_fini(struct control_status *s)
{
    for (size_t i = 0; i < s->nranks; i++) {
        free(s->ranks[i].host);
        free(s->ranks[i].gpu_index);
        free(s->ranks[i].gpu_uuid);
        free(s->ranks[i].where);
    }
    free(s->ranks);
    free(s->job_id);
    free(s->program);
    free(s->state);
    free(s->log_dir);
    free(s->log_root);
    free(s->stacks);
    free(s->sample_why);
    free(s->metrics);
    *s = (struct control_status){0};
}
