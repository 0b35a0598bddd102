#include "worker/phase.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "worker/phase_report.h"
#include "worker/status.h"

enum { TICK_MS = 100, NOTICE_MS = 10000, GIVE_WAY_MS = 2000, BLOCK = 1024 };
enum { HEARD_MS = 1000 }; /* a main thread that polls has seen the word by then */

enum abort_state { ABORT_NO, ABORT_ASKED, ABORT_HEARD, ABORT_DONE };

static const struct {
    uint32_t seconds, per_1000;
} limits[PHASE_COUNT] = {
#define X(name, seconds, per_1000, when) [PHASE_##name] = {seconds, per_1000},
    PHASE_TABLE(X)
#undef X
};

struct phases {
    const struct env *env;
    const struct options *options;
    struct store_client *client;
    pthread_t watchdog;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_watching, is_noticed, is_ending; /* and the rest: under lock */
    uint64_t began_ms, deadline_ms;
    struct phase_wait wait;
    uint64_t abort_ms; /* of diagnosis; 0: the process just ends */
    _Atomic int abort; /* enum abort_state */
};

static void point_name(struct point at, const char *suffix, char name[PHASE_POINT_MAX])
{
    if (at.step < 0)
        snprintf(name, PHASE_POINT_MAX, "%s%s", phase_name(at.phase), suffix);
    else
        snprintf(name, PHASE_POINT_MAX, "%s%s.%d", phase_name(at.phase), suffix, at.step);
}

static void pause_ms(uint64_t ms)
{
    struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000L};
    while (nanosleep(&left, &left) < 0)
        continue;
}

static bool comes_to(struct phases *p, enum abort_state state, uint64_t limit_ms)
{
    for (uint64_t end = now_ms() + limit_ms; now_ms() < end; pause_ms(TICK_MS))
        if (atomic_load(&p->abort) >= (int)state)
            return true;
    return false;
}

/* A main thread that waits elsewhere has nothing to abort. */
static void have_it_aborted(struct phases *p)
{
    atomic_store(&p->abort, ABORT_ASKED);
    if (comes_to(p, ABORT_HEARD, HEARD_MS) && !comes_to(p, ABORT_DONE, p->abort_ms))
        log_error("phase", "rank %u: the abort did not end within %llu s", p->env->rank,
                  (unsigned long long)p->abort_ms / 1000);
}

void phases_set_abort(struct phases *p, uint64_t limit_ms)
{
    pthread_mutex_lock(&p->lock);
    p->abort_ms = limit_ms;
    pthread_mutex_unlock(&p->lock);
}

bool phases_is_aborting(void *ctx)
{
    struct phases *p = ctx;
    if (atomic_load(&p->abort) == ABORT_NO)
        return false;
    atomic_store(&p->abort, ABORT_HEARD);
    return true;
}

void phases_aborted(void *ctx)
{
    struct phases *p = ctx;
    atomic_store(&p->abort, ABORT_DONE);
    for (;;)
        pause();
}

/* Called with the lock held, which ends with the process. */
static _Noreturn void end_at_deadline(struct phases *p, uint64_t waited)
{
    int status = phase_report_deadline(p->env, &p->wait, waited);
    if (p->abort_ms)
        have_it_aborted(p);
    _exit(status);
}

/* Called with the lock held. */
static void watch_tick(struct phases *p)
{
    if (!p->is_watching)
        return;
    uint64_t waited = now_ms() - p->began_ms;
    if (waited >= p->deadline_ms)
        end_at_deadline(p, waited);
    if (waited >= NOTICE_MS && !p->is_noticed) {
        p->is_noticed = true;
        struct phase_wait wait = p->wait;
        pthread_mutex_unlock(&p->lock);
        phase_report_notice(p->env, &wait, waited);
        pthread_mutex_lock(&p->lock);
    }
}

static void *watchdog_main(void *arg)
{
    struct phases *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!p->is_ending) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += TICK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&p->changed, &p->lock, &until);
        watch_tick(p);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Signals of the process are the main thread's. */
static int start_watchdog(struct phases *p)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int sys = pthread_create(&p->watchdog, NULL, watchdog_main, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return sys;
}

struct phases *phases_new(const struct env *env, const struct options *o,
                          struct store_client *client, struct err *e)
{
    struct phases *p = mem_alloc(1, sizeof *p);
    p->env = env;
    p->options = o;
    p->client = client;
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&p->changed, &clock);
    pthread_condattr_destroy(&clock);
    int sys = start_watchdog(p);
    if (sys == 0)
        return p;
    err_sys(e, sys, "no thread for the deadlines");
    free(p);
    return NULL;
}

void phases_free(struct phases *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->is_ending = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->watchdog, NULL);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static void make_fault(const struct phases *p, struct point at)
{
    const struct inject *in = &p->options->inject;
    if (in->rank != p->env->rank || in->phase != at.phase || at.step > 0)
        return;
    if (in->kind == INJECT_LATE)
        pause_ms(in->ms);
    if (in->kind == INJECT_DIE && in->signal)
        raise(in->signal);
    if (in->kind == INJECT_DIE)
        _exit(1);
    while (in->kind == INJECT_HANG)
        pause();
}

static uint64_t deadline_of(const struct phases *p, enum phase phase)
{
    if (p->options->deadline_ms[phase])
        return p->options->deadline_ms[phase];
    return limits[phase].seconds * 1000ull
           + (uint64_t)limits[phase].per_1000 * p->env->world_size;
}

void phases_begin(struct phases *p, struct point at, const char *what, uint64_t min_ms)
{
    make_fault(p, at);
    uint64_t ms = deadline_of(p, at.phase);
    pthread_mutex_lock(&p->lock);
    struct phase_wait *w = &p->wait;
    w->can_hang = at.phase == PHASE_warm || at.phase == PHASE_bench;
    point_name(at, "", w->point);
    point_name(at, "-enter", w->enter);
    snprintf(w->what, sizeof w->what, "%s", what);
    if (w->history_len < PHASE_HISTORY_MAX)
        memcpy(w->history[w->history_len++], w->point, PHASE_POINT_MAX);
    else
        memcpy(w->history[PHASE_HISTORY_MAX - 1], w->point, PHASE_POINT_MAX);
    p->began_ms = now_ms();
    p->deadline_ms = ms > min_ms || p->options->deadline_ms[at.phase] ? ms : min_ms;
    p->is_noticed = false;
    p->is_watching = true;
    pthread_mutex_unlock(&p->lock);
}

void phases_go_on(struct phases *p)
{
    pthread_mutex_lock(&p->lock);
    p->began_ms = now_ms();
    pthread_mutex_unlock(&p->lock);
}

static void stop_clock(struct phases *p)
{
    pthread_mutex_lock(&p->lock);
    p->is_watching = false;
    pthread_mutex_unlock(&p->lock);
}

/* The watchdog ends the process before this runs out. */
static uint64_t patience_ms(struct phases *p)
{
    pthread_mutex_lock(&p->lock);
    uint64_t ms = p->deadline_ms + 60000;
    pthread_mutex_unlock(&p->lock);
    return ms;
}

static int store_status(struct err *e)
{
    err_wrap(e, "store");
    return e->code == ERR_TIMEOUT ? STATUS_PHASE : err_exit_status(ERR_UNAVAILABLE);
}

static int wait_one(struct phases *p, const char *key, struct err *e)
{
    const char *keys[] = {key};
    return store_client_wait(p->client, keys, 1, patience_ms(p), e);
}

/* Rank 0: all ranks' keys of a point, a block at a time; their values into all. */
static int gather(struct phases *p, const char *point, struct buf *all, struct err *e)
{
    uint32_t n = p->env->world_size;
    char(*text)[PHASE_KEY_MAX] = mem_alloc(BLOCK, sizeof *text);
    const char *keys[BLOCK];
    int rc = 0;
    for (uint32_t first = 0; first < n && rc == 0; first += BLOCK) {
        uint32_t count = n - first < BLOCK ? n - first : BLOCK;
        for (uint32_t i = 0; i < count; i++) {
            phase_key(text[i], point, first + i);
            keys[i] = text[i];
        }
        rc = store_client_wait(p->client, keys, count, patience_ms(p), e);
        if (rc == 0 && all)
            rc = store_client_multi_get(p->client, keys, count, all + first, e);
    }
    free(text);
    return rc;
}

static int set_point(struct phases *p, const char *point, const void *said, size_t len,
                     struct err *e)
{
    char key[PHASE_KEY_MAX];
    struct buf value;
    buf_init(&value, 0);
    buf_addf(&value, "%llu\n", (unsigned long long)wall_ms());
    buf_add(&value, said, len);
    phase_key(key, point, p->env->rank);
    int rc = store_client_set(p->client, key, value.data, value.len, e);
    buf_fini(&value);
    return rc;
}

/* Drops the first line, the wall clock. */
static void strip_clock(struct buf *b)
{
    const char *end = b->len ? memchr(b->data, '\n', b->len) : NULL;
    buf_consume(b, end ? (size_t)(end - b->data) + 1 : b->len);
}

int phases_reach(struct phases *p, struct point at, const void *said, size_t len,
                 struct buf *all, struct err *e)
{
    char name[PHASE_POINT_MAX];
    if (!p->client) {
        if (all) {
            buf_reset(all);
            buf_add(all, said, len);
        }
        return 0;
    }
    point_name(at, "", name);
    if (set_point(p, name, said, len, e) < 0)
        return store_status(e);
    if (p->env->rank != 0)
        return 0;
    if (gather(p, name, all, e) < 0)
        return store_status(e);
    for (uint32_t r = 0; all && r < p->env->world_size; r++)
        strip_clock(&all[r]);
    return 0;
}

static int go(struct phases *p, const char *name, struct buf *word, struct err *e)
{
    char key[PHASE_KEY_MAX];
    snprintf(key, sizeof key, "mw/0/go/%s", name);
    if (p->env->rank == 0)
        return store_client_set(p->client, key, word ? buf_str(word) : "", word ? word->len : 0,
                                e);
    if (wait_one(p, key, e) < 0)
        return -1;
    return word ? store_client_get(p->client, key, word, e) : 0;
}

int phases_go(struct phases *p, struct point at, struct buf *word, struct err *e)
{
    char name[PHASE_POINT_MAX];
    point_name(at, "", name);
    int rc = p->client ? go(p, name, word, e) : 0;
    stop_clock(p);
    return rc < 0 ? store_status(e) : 0;
}

void phases_give_way(void)
{
    pause_ms(GIVE_WAY_MS);
}

int phases_meet(struct phases *p, struct point at, struct err *e)
{
    int status = phases_reach(p, at, "", 0, NULL, e);
    return status ? status : phases_go(p, at, NULL, e);
}

int phases_enter(struct phases *p, struct point at, struct err *e)
{
    char name[PHASE_POINT_MAX];
    if (!p->client)
        return 0;
    point_name(at, "-enter", name);
    if (set_point(p, name, "", 0, e) < 0 || (p->env->rank == 0 && gather(p, name, NULL, e) < 0)
        || go(p, name, NULL, e) < 0)
        return store_status(e);
    return 0;
}

int phases_set(struct phases *p, const char *name, const void *value, size_t len, struct err *e)
{
    char key[PHASE_KEY_MAX];
    snprintf(key, sizeof key, "mw/0/%s", name);
    return p->client && store_client_set(p->client, key, value, len, e) < 0 ? store_status(e)
                                                                            : 0;
}

int phases_get(struct phases *p, const char *name, struct buf *out, struct err *e)
{
    char key[PHASE_KEY_MAX];
    snprintf(key, sizeof key, "mw/0/%s", name);
    buf_reset(out);
    if (!p->client)
        return 0;
    if (wait_one(p, key, e) < 0 || store_client_get(p->client, key, out, e) < 0)
        return store_status(e);
    return 0;
}

int phases_set_result(struct phases *p, const void *json, size_t len, struct err *e)
{
    int rc = p->client ? store_client_set(p->client, "mw/result", json, len, e) : 0;
    return rc < 0 ? store_status(e) : 0;
}

int phases_set_record(struct phases *p, const char *text, struct err *e)
{
    char key[PHASE_KEY_MAX];
    snprintf(key, sizeof key, "mw/rank/%u", p->env->rank);
    return p->client && store_client_set(p->client, key, text, strlen(text), e) < 0
               ? store_status(e)
               : 0;
}

void phases_on_hang(struct phases *p, void (*report)(void *ctx), void *ctx)
{
    pthread_mutex_lock(&p->lock);
    p->wait.on_hang = report;
    p->wait.on_hang_ctx = ctx;
    pthread_mutex_unlock(&p->lock);
}
