#include "launcher/io/subtree.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/io/remotes.h"
#include "launcher/io/say.h"

struct subtree {
    const struct boot_record *record;
    struct subtree_events events;
    struct remotes *remotes;
};

static void tell(const struct subtree *s, enum status_kind kind, uint32_t node,
                 const char *text)
{
    const struct status_line line = {kind, node, text};
    s->events.on_status(s->events.ctx, &line);
}

static void on_failed(void *ctx, uint32_t node, const char *host, bool is_way,
                      const struct err *why)
{
    (void)host; /* the head has its own name for it */
    tell(ctx, is_way ? STATUS_UNREACHABLE : STATUS_FAILED, node, why->text);
}

static void on_state(void *ctx, uint32_t node, const char *host, const char *state)
{
    (void)host;
    if (strcmp(state, REMOTES_UP_WORDS) != 0) /* which the step says */
        tell(ctx, STATUS_STATE, node, state);
}

static void on_step(void *ctx, uint32_t node, enum remotes_step step)
{
    if (step == REMOTES_UP)
        tell(ctx, STATUS_UP, node, "");
    else if (step == REMOTES_ENDED)
        tell(ctx, STATUS_ENDED, node, "");
}

static void on_below(void *ctx, uint32_t node, const struct status_line *line)
{
    const struct subtree *s = ctx;
    (void)node;
    s->events.on_status(s->events.ctx, line);
}

static void on_words(const char *line)
{
    char *text = mem_printf("muster: %s\n", line);
    say(text, strlen(text), SAY_LINE_MS);
    free(text);
}

static void on_process(void *ctx, pid_t pid, bool is_running)
{
    const struct subtree *s = ctx;
    s->events.on_process(s->events.ctx, pid, is_running);
}

static int boot(void *ctx, uint32_t node, struct buf *out, struct err *e)
{
    const struct subtree *s = ctx;
    struct boot_record record;
    uint32_t i = 0;
    while (boot_record_child(s->record, i)->node != node)
        i++;
    boot_record_for_child(s->record, i, &record);
    int rc = boot_record_encode(&record, out, e);
    boot_record_fini(&record);
    return rc;
}

static int add(struct subtree *s, const struct boot_child *child, struct err *e)
{
    char token[REMOTE_TOKEN_DIGITS + 1];
    if (remotes_token(token, e) < 0)
        return -1;
    const struct remote_ssh ssh = {.ssh = s->record->ssh,
                                   .args = (const char *const *)s->record->ssh_args,
                                   .port = child->port,
                                   .user = child->user,
                                   .host = child->host,
                                   .muster = s->record->muster,
                                   .token = token};
    struct argv argv = {0};
    if (remote_ssh_argv(&ssh, &argv, e) < 0)
        return -1;
    const struct remote_command command = {
        .host = child->host, .node = child->node, .nnodes = 1, .argv = &argv, .token = token};
    remotes_add(s->remotes, &command);
    return 0;
}

struct subtree *subtree_start(struct uv_loop_s *loop, const struct boot_record *record,
                              const struct rlimit *limits, const struct subtree_events *events)
{
    struct subtree *s = mem_alloc(1, sizeof *s);
    const struct remotes_events own = {.ctx = s,
                                       .boot = boot,
                                       .on_failed = on_failed,
                                       .on_state = on_state,
                                       .on_step = on_step,
                                       .on_below = on_below,
                                       .on_words = on_words,
                                       .on_process = on_process};
    uint32_t n = boot_record_nchildren(record);
    s->record = record;
    s->events = *events;
    s->remotes = n ? remotes_new(loop, limits, BOOT_NODES_MAX, &own) : NULL;
    for (uint32_t i = 0; i < n; i++) {
        struct err e;
        const struct boot_child *child = boot_record_child(record, i);
        if (add(s, child, &e) < 0)
            tell(s, STATUS_FAILED, child->node, e.text);
    }
    if (n) {
        remotes_start(s->remotes);
        return s;
    }
    free(s);
    return NULL;
}

void subtree_each_process(const struct subtree *s, void (*fn)(void *ctx, pid_t pid), void *ctx)
{
    remotes_each_process(s->remotes, fn, ctx);
}

void subtree_close(struct subtree *s)
{
    if (!s)
        return;
    remotes_close(s->remotes);
    free(s);
}
