#include "launcher/io/remotes.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <uv.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launcher/io/descendants.h"
#include "launcher/io/remotes_state.h"
#include "launcher/io/start.h"

enum {
    END_MS = 3000,        /* from the end of its standard input to a signal */
    END_GROUP_MS = 10000, /* from SIGTERM to SIGKILL, of srun and mpirun */
};

/* ---- whose turn it is ---- */

static bool is_full(const struct remotes *r)
{
    return r->is_closing || r->nlogins >= REMOTES_WINDOW;
}

/* Whose pause is over, else who has not had its turn; NULL = nobody. */
static struct start *find_next(struct remotes *r)
{
    uint64_t now = now_ms();
    for (uint32_t i = 0; i < r->n && r->npaused; i++) {
        struct start *m = r->list[i];
        if (m->state == START_PAUSE && m->due_ms <= now && remote_is_over(m->remote))
            return m;
    }
    return r->next < r->n ? r->list[r->next++] : NULL;
}

/* One that fails at once makes its owner ask for more: that is a turn of this loop. */
void remotes_more(struct remotes *r)
{
    struct start *m;
    if (r->is_starting)
        return;
    r->is_starting = true;
    while (!is_full(r) && (m = find_next(r)))
        start_one(m);
    r->is_starting = false;
    remotes_arm(r);
}

static void on_again(uv_timer_t *timer)
{
    remotes_more(timer->data);
}

/* Those whose handles are still closing come back by themselves, and so does a login that ends.
 */
void remotes_arm(struct remotes *r)
{
    uint64_t due_ms = UINT64_MAX, now = now_ms();
    if (is_full(r) || !r->npaused)
        return;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->list[i]->state == START_PAUSE && r->list[i]->due_ms < due_ms
            && (r->list[i]->due_ms > now || remote_is_over(r->list[i]->remote)))
            due_ms = r->list[i]->due_ms;
    if (due_ms != UINT64_MAX)
        uv_timer_start(&r->timer, on_again, due_ms > now ? due_ms - now : 0, 0);
}

/* ---- the end of one, and of all ---- */

static void maybe_finish(struct remotes *r)
{
    if (!r->is_closing || r->nleft || r->has_timer)
        return;
    for (uint32_t i = 0; i < r->n; i++)
        start_free(r->list[i]);
    descendants_free(r->descendants);
    free(r->list);
    free(r->is_linked);
    free(r);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct remotes *r = handle->data;
    r->has_timer = false;
    maybe_finish(r);
}

/* Unless it is tried again. */
void remotes_over(void *ctx)
{
    struct start *m = ctx;
    struct remotes *r = m->owner;
    if (--r->nleft == 0 && r->is_closing && r->has_timer)
        uv_close((uv_handle_t *)&r->timer, on_timer_closed);
    if (!r->is_closing && m->state == START_PAUSE)
        remotes_more(r);
    maybe_finish(r);
}

/* mpirun leaves an ssh that hangs; by now no agent has anything left to do. */
void remotes_sweep(const struct remotes *r)
{
    if (r->descendants)
        descendants_signal(r->descendants, SIGKILL);
}

/* ---- the whole ---- */

struct remotes *remotes_new(struct uv_loop_s *loop, const struct rlimit *limits,
                            uint32_t nnodes, const struct remotes_events *events)
{
    struct remotes *r = mem_alloc(1, sizeof *r);
    r->loop = loop;
    r->events = *events;
    r->nnodes = nnodes;
    r->is_linked = mem_alloc(nnodes, sizeof *r->is_linked);
    spawn_init(&r->spawn);
    r->spawn.nofile = *limits;
    uv_timer_init(loop, &r->timer);
    r->timer.data = r;
    r->has_timer = true;
    return r;
}

int remotes_token(char token[REMOTE_TOKEN_DIGITS + 1], struct err *e)
{
    unsigned char random[REMOTE_TOKEN_DIGITS / 2];
    if (getrandom(random, sizeof random, 0) < 0)
        return err_sys(e, errno, "getrandom");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(token + 2 * i, 3, "%02x", random[i]);
    return 0;
}

void remotes_add(struct remotes *r, const struct remote_command *command)
{
    array_grow(r->list, r->n, r->cap);
    if (command->is_group && !r->descendants)
        r->descendants = descendants_adopt();
    r->list[r->n++] = start_new(r, command);
}

void remotes_start(struct remotes *r)
{
    remotes_more(r);
}

void remotes_each_process(const struct remotes *r, void (*fn)(void *ctx, pid_t pid), void *ctx)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (remote_pid(r->list[i]->remote))
            fn(ctx, remote_pid(r->list[i]->remote));
}

void remotes_linked(struct remotes *r, uint32_t node)
{
    if (node < r->nnodes)
        r->is_linked[node] = true;
}

static void on_end_time(uv_timer_t *timer)
{
    const struct remotes *r = timer->data;
    for (uint32_t i = 0; i < r->n; i++)
        if (remote_pid(r->list[i]->remote))
            kill(-remote_pid(r->list[i]->remote), SIGKILL);
}

/* mpirun ends its own children at SIGTERM only; srun's tasks have ended by now. */
static void on_end_asked(uv_timer_t *timer)
{
    const struct remotes *r = timer->data;
    for (uint32_t i = 0; i < r->n; i++) {
        pid_t pid = remote_pid(r->list[i]->remote);
        if (pid)
            kill(r->list[i]->is_group ? pid : -pid, r->list[i]->is_group ? SIGTERM : SIGKILL);
    }
    uv_timer_start(timer, on_end_time, END_GROUP_MS, 0);
}

void remotes_close(struct remotes *r)
{
    r->is_closing = true;
    for (uint32_t i = 0; i < r->n; i++)
        remote_end_input(r->list[i]->remote);
    if (r->nleft) {
        uv_timer_start(&r->timer, on_end_asked, END_MS, 0);
    } else {
        remotes_sweep(r);
        uv_close((uv_handle_t *)&r->timer, on_timer_closed);
    }
}
