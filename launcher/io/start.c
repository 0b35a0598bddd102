#include "launcher/io/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/boot_record.h"
#include "launcher/core/remote_failure.h"

enum { WORDS_MAX = 4096 }; /* kept of a command's standard error */

/* ---- its end ---- */

static void login_over(struct start *m)
{
    if (m->state != START_LOGIN)
        return;
    m->state = START_UP;
    m->owner->nlogins--;
    remotes_more(m->owner);
}

/* Of its nodes the first without a link; all have one: just behind the last. */
static uint32_t first_unlinked(const struct start *m)
{
    uint32_t node = m->node;
    while (node < m->node + m->nnodes && m->owner->is_linked[node])
        node++;
    return node;
}

static bool is_wanted(const struct start *m)
{
    return !m->owner->is_closing && first_unlinked(m) < m->node + m->nnodes;
}

static void tell_state(struct start *m, const char *state, const char *more)
{
    struct remotes *r = m->owner;
    if (!is_wanted(m))
        return;
    snprintf(m->words, sizeof m->words, "%s%s", state, more);
    for (uint32_t node = m->node; node < m->node + m->nnodes; node++)
        if (!r->is_linked[node])
            r->events.on_state(r->events.ctx, node, m->host, m->words);
}

static void tell_step(const struct start *m, enum remotes_step step)
{
    const struct remotes *r = m->owner;
    if (r->events.on_step && !r->is_closing)
        r->events.on_step(r->events.ctx, m->node, step);
}

static void fail(struct start *m, bool is_way)
{
    struct remotes *r = m->owner;
    if (m->is_told)
        return;
    if (!is_wanted(m)) {
        tell_step(m, REMOTES_ENDED);
        return;
    }
    m->is_told = true;
    r->events.on_failed(r->events.ctx, first_unlinked(m), m->host, is_way, &m->why);
}

static struct remote_end end_of(const struct start *m, int status)
{
    return (struct remote_end){
        .program = m->argv.words[0],
        .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
        .signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
        .complaint = {m->complaint.data ? m->complaint.data : "", m->complaint.len},
        .was_up = m->state == START_UP,
        .is_group = m->is_group};
}

/* Whether it is tried once more. */
static bool try_later(struct start *m, enum remote_failure failure, bool was_up)
{
    uint32_t random = 0;
    if (was_up || !m->is_again || !is_wanted(m)
        || getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        return false;
    uint64_t pause_ms = remote_failure_pause_ms(failure, m->tries, random);
    if (!pause_ms)
        return false;
    m->state = START_PAUSE;
    m->owner->npaused++;
    m->due_ms = now_ms() + pause_ms;
    log_debug("remote", "%s: %s; once more in %llu ms", m->host, m->why.text,
              (unsigned long long)pause_ms);
    tell_state(m, remote_failure_words(failure), ", trying again");
    remotes_arm(m->owner);
    return true;
}

static void tell_process(struct start *m, bool is_running)
{
    const struct remotes *r = m->owner;
    if (is_running)
        m->pid = remote_pid(m->remote);
    if (r->events.on_process && !r->is_closing)
        r->events.on_process(r->events.ctx, m->pid, is_running);
}

static void on_ended(void *ctx, int status)
{
    struct start *m = ctx;
    struct remotes *r = m->owner;
    bool was_login = m->state == START_LOGIN, was_up = m->state == START_UP;
    const struct remote_end end = end_of(m, status);
    enum remote_failure failure = remote_failure_of(end.exit_code, end.complaint);
    r->nlogins -= was_login;
    tell_process(m, false);
    if (r->is_closing && m->is_group)
        remotes_sweep(r);
    if (!m->is_told) {
        remote_failure_describe(&end, &m->why);
        m->state = START_ENDED;
        if (!try_later(m, failure, was_up))
            fail(m, !was_up && remote_failure_is_way(failure));
    }
    if (was_login)
        remotes_more(r);
}

/* ---- what they say ---- */

/* The agent runs: now it may have the secret. */
static int send_boot(struct start *m)
{
    const struct remotes *r = m->owner;
    struct buf text;
    buf_init(&text, 0);
    int rc = r->events.boot(r->events.ctx, m->node, &text, &m->why);
    if (rc == 0)
        remote_send(m->remote, (struct str){text.data, text.len});
    if (text.data)
        boot_record_wipe(text.data, text.len);
    buf_fini(&text);
    return rc;
}

static int check_version(struct str protocol, struct str version, struct err *e)
{
    if (str_eq(version, MUSTER_VERSION) && str_eq(protocol, "1"))
        return 0;
    return err_set(
        e, ERR_UNAVAILABLE,
        "its muster has version %.*s (protocol %.*s), this one %s (1); --remote-muster",
        STR_ARG(version), STR_ARG(protocol), MUSTER_VERSION);
}

static void on_marker(void *ctx, struct str protocol, struct str version)
{
    struct start *m = ctx;
    login_over(m);
    if (m->owner->is_closing)
        return;
    if (check_version(protocol, version, &m->why) == 0 && send_boot(m) == 0) {
        tell_state(m, m->is_group ? "its step runs, no link" : REMOTES_UP_WORDS, "");
        tell_step(m, REMOTES_UP);
        return;
    }
    fail(m, false);
    remote_end_input(m->remote);
}

/* What the agent of one host says of itself, until it has its link, and of those below it; or
 * what it answers to a question. */
static void on_line(void *ctx, const char *line)
{
    struct start *m = ctx;
    const struct remotes *r = m->owner;
    struct status_line s;
    if (m->is_group || r->is_closing)
        return;
    if (!status_line_parse(line, &s)) {
        if (r->events.on_answer)
            r->events.on_answer(r->events.ctx, m->node, line);
        return;
    }
    if (s.kind == STATUS_TRY)
        tell_state(m, REMOTES_UP_WORDS ": ", s.text);
    else if (s.kind == STATUS_LINKED)
        m->owner->is_linked[m->node] = true;
    else if (r->events.on_below)
        r->events.on_below(r->events.ctx, m->node, &s);
}

/* What muster says on the other host is for people here; words of ssh and srun are not. */
static void pass_on(struct start *m, const char *p, size_t n)
{
    static const char own[] = "muster: ";
    const struct remotes *r = m->owner;
    char *end;
    buf_add(&m->line, p, n);
    while (m->line.len && (end = memchr(m->line.data, '\n', m->line.len))) {
        *end = '\0';
        if (strncmp(m->line.data, own, sizeof own - 1) == 0)
            r->events.on_words(m->line.data + sizeof own - 1);
        buf_consume(&m->line, (size_t)(end + 1 - m->line.data));
    }
    if (m->line.len > WORDS_MAX)
        buf_reset(&m->line);
}

static bool has_link(const struct start *m)
{
    for (uint32_t node = m->node; node < m->node + m->nnodes; node++)
        if (m->owner->is_linked[node])
            return true;
    return false;
}

static void on_complaint(void *ctx, const char *p, size_t n)
{
    struct start *m = ctx;
    if (has_link(m)) {
        pass_on(m, p, n);
        return;
    }
    log_debug("remote", "%s: %.*s", m->host, (int)n, p);
    if (m->complaint.len > WORDS_MAX)
        buf_consume(&m->complaint, m->complaint.len - WORDS_MAX / 2);
    buf_add(&m->complaint, p, n);
}

/* ---- starting ---- */

void start_one(struct start *m)
{
    struct remotes *r = m->owner;
    r->npaused -= m->state == START_PAUSE;
    m->state = START_LOGIN;
    m->tries++;
    r->nlogins++;
    buf_reset(&m->complaint);
    if (m->is_group)
        tell_state(m, m->host, " has not started it yet");
    else
        tell_state(m, "not logged in yet", "");
    tell_step(m, REMOTES_BEGAN);
    if (remote_start(m->remote, &m->why) == 0) {
        r->nleft++;
        tell_process(m, true);
        if (!m->token)
            login_over(m);
        return;
    }
    m->state = START_ENDED;
    r->nlogins--;
    m->why.code = ERR_UNAVAILABLE;
    fail(m, true);
}

/* ---- the whole ---- */

struct start *start_new(struct remotes *r, const struct remote_command *command)
{
    struct start *m = mem_alloc(1, sizeof *m);
    m->owner = r;
    m->node = command->node;
    m->nnodes = command->nnodes;
    m->host = mem_strdup(command->host);
    m->token = mem_strdup(command->token);
    m->argv = *command->argv;
    *command->argv = (struct argv){0};
    m->is_again = command->is_again;
    m->is_group = command->is_group;
    buf_init(&m->complaint, 0);
    buf_init(&m->line, 0);
    const struct remote_setup setup = {.loop = r->loop,
                                       .spawn = &r->spawn,
                                       .slab = r->slab,
                                       .argv = m->argv.words,
                                       .hidden = command->hidden,
                                       .token = m->token};
    const struct remote_events events = {.ctx = m,
                                         .on_marker = on_marker,
                                         .on_line = on_line,
                                         .on_complaint = on_complaint,
                                         .on_exit = on_ended,
                                         .on_over = remotes_over};
    m->remote = remote_new(&setup, &events);
    return m;
}

void start_free(struct start *m)
{
    remote_free(m->remote);
    free(m->host);
    free(m->token);
    argv_fini(&m->argv);
    buf_fini(&m->complaint);
    buf_fini(&m->line);
    free(m);
}
