#include "worker/phase_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "rendezvous/store_client.h"
#include "worker/phase.h"
#include "worker/status.h"

enum { NAMED_MAX = 8, BLOCK = 64, CONNECT_MS = 5000, ANSWER_MS = 5000, LINGER_MS = 20000 };

void phase_key(char key[PHASE_KEY_MAX], const char *point, uint32_t rank)
{
    snprintf(key, PHASE_KEY_MAX, "mw/0/%s/%u", point, rank);
}

static const char *name_of(const struct phase_wait *w)
{
    return *w->what ? w->what : w->point;
}

struct missing {
    struct store_client *client;
    const char *point;
    uint32_t named[NAMED_MAX];
    uint64_t count;
    bool is_lost; /* the store did not answer */
};

static bool all_present(struct missing *m, uint32_t first, uint32_t end)
{
    char text[BLOCK][PHASE_KEY_MAX];
    const char *keys[BLOCK];
    for (uint32_t at = first; at < end && !m->is_lost;) {
        size_t n = 0;
        bool present = false;
        for (; n < BLOCK && at < end; n++, at++) {
            phase_key(text[n], m->point, at);
            keys[n] = text[n];
        }
        m->is_lost = store_client_check(m->client, keys, n, &present, NULL) < 0;
        if (!present)
            return false;
    }
    return !m->is_lost;
}

/* Halves the range until single ranks are left. */
static void find_missing(struct missing *m, uint32_t first, uint32_t end)
{
    if (m->is_lost || all_present(m, first, end) || m->is_lost)
        return;
    if (end - first == 1) {
        if (m->count < NAMED_MAX)
            m->named[m->count] = first;
        m->count++;
        return;
    }
    find_missing(m, first, first + (end - first) / 2);
    find_missing(m, first + (end - first) / 2, end);
}

void phases_record_field(const char *record, const char *key, char *out, size_t size)
{
    struct str rest = str_from(record), line, name;
    *out = '\0';
    while (str_split(&rest, '\n', &line))
        if (str_split(&line, '=', &name) && str_eq(name, key) && line.p)
            snprintf(out, size, "%.*s", STR_ARG(line));
}

static void describe_rank(struct store_client *c, uint32_t rank, char *out, size_t size)
{
    char key[PHASE_KEY_MAX], host[64], local[16], gpu[48], pid[16];
    struct buf record;
    buf_init(&record, 0);
    snprintf(key, sizeof key, "mw/rank/%u", rank);
    if (store_client_get(c, key, &record, NULL) < 0 || record.len == 0) {
        snprintf(out, size, "rank %u (it never wrote its record)", rank);
    } else {
        phases_record_field(buf_str(&record), "host", host, sizeof host);
        phases_record_field(buf_str(&record), "local_rank", local, sizeof local);
        phases_record_field(buf_str(&record), "gpu", gpu, sizeof gpu);
        phases_record_field(buf_str(&record), "pid", pid, sizeof pid);
        snprintf(out, size, "rank %u (host %s, local rank %s, %s, pid %s)", rank, host, local,
                 *gpu ? gpu : "no GPU", pid);
    }
    buf_fini(&record);
}

/* "; last phase uid_seen, 31 s ago" */
static void describe_last(struct store_client *c, const struct phase_wait *w, uint32_t rank,
                          char *out, size_t size)
{
    char key[PHASE_KEY_MAX];
    struct buf value;
    buf_init(&value, 0);
    snprintf(out, size, "; no phase reached");
    for (unsigned i = w->history_len; i-- > 0;) {
        phase_key(key, w->history[i], rank);
        if (store_client_get(c, key, &value, NULL) < 0 || value.len == 0)
            continue;
        struct str rest = {value.data, value.len}, clock;
        uint64_t at = 0, now = wall_ms();
        str_split(&rest, '\n', &clock);
        str_parse_u64(clock, 0, UINT64_MAX, &at);
        snprintf(out, size, "; last phase %s, %llu s ago", w->history[i],
                 (unsigned long long)(now > at ? (now - at) / 1000 : 0));
        break;
    }
    buf_fini(&value);
}

static void print_missing(const struct missing *m, const struct phase_wait *w,
                          const char *has_not)
{
    for (uint64_t i = 0; i < m->count && i < NAMED_MAX; i++) {
        char who[256], last[96];
        describe_rank(m->client, m->named[i], who, sizeof who);
        describe_last(m->client, w, m->named[i], last, sizeof last);
        log_error("phase", "%s has not %s%s", who, has_not, last);
    }
    if (m->count > NAMED_MAX)
        log_error("phase", "and %llu more ranks", (unsigned long long)(m->count - NAMED_MAX));
}

static struct missing search(const struct env *env, struct store_client *c, const char *point)
{
    struct missing m = {.client = c, .point = point};
    find_missing(&m, 0, env->world_size);
    return m;
}

/* True for the first rank of the job that asks. */
static bool may_speak(struct store_client *c, const char *key)
{
    int64_t order = 0;
    return store_client_add(c, key, 1, &order, NULL) < 0 || order == 1;
}

/* Without the store nobody knows who entered it: nobody is blamed. */
static int speak_of_collective(const struct env *env, struct store_client *c,
                               const struct phase_wait *w, uint64_t waited_ms)
{
    unsigned long long s = waited_ms / 1000;
    const char *what = name_of(w);
    struct missing absent = search(env, c, w->enter);
    if (absent.count > 0) {
        log_error("phase", "%s did not begin on all ranks within %llu s", what, s);
        print_missing(&absent, w, "entered it");
        return STATUS_PHASE;
    }
    struct missing stuck = absent;
    if (!absent.is_lost)
        stuck = search(env, c, w->point);
    if (stuck.is_lost) {
        log_error("phase", "rank %u waited %llu s in the %s and the store does not answer",
                  env->rank, s, what);
        return STATUS_PHASE;
    }
    log_error("phase",
              "all %u ranks entered the %s and it did not end within %llu s; %llu of them are "
              "in it",
              env->world_size, what, s, (unsigned long long)stuck.count);
    print_missing(&stuck, w, "left it");
    if (w->on_hang)
        w->on_hang(w->on_hang_ctx);
    return STATUS_STUCK;
}

static int speak(const struct env *env, struct store_client *c, const struct phase_wait *w,
                 uint64_t waited_ms)
{
    char has_not[128];
    unsigned long long s = waited_ms / 1000;
    if (w->can_hang)
        return speak_of_collective(env, c, w, waited_ms);
    struct missing m = search(env, c, w->point);
    if (m.is_lost)
        log_error("phase", "rank %u waited %llu s for %s and the store does not answer",
                  env->rank, s, w->point);
    else if (m.count == 0)
        log_error("phase", "all ranks reached %s, but rank 0 did not say so within %llu s",
                  w->point, s);
    snprintf(has_not, sizeof has_not, "reached %s", w->point);
    print_missing(&m, w, has_not);
    return STATUS_PHASE;
}

/* Silent ranks stay until the speaker is done: the launcher ends all when the first one ends.
 */
static int stay_silent(const struct env *env, struct store_client *c,
                       const struct phase_wait *w)
{
    const char *keys[] = {"mw/0/abort"};
    store_client_wait(c, keys, 1, LINGER_MS, NULL);
    struct missing absent = {0};
    if (w->can_hang)
        absent = search(env, c, w->enter);
    return w->can_hang && absent.count == 0 && !absent.is_lost ? STATUS_STUCK : STATUS_PHASE;
}

int phase_report_deadline(const struct env *env, const struct phase_wait *w, uint64_t waited_ms)
{
    struct err e;
    int status = w->can_hang ? STATUS_STUCK : STATUS_PHASE;
    unsigned long long s = waited_ms / 1000;
    if (!env->master_addr) {
        log_error("phase", "%s did not end within %llu s", name_of(w), s);
        return status;
    }
    struct store_client *c =
        store_client_new(env->master_addr, env->master_port, CONNECT_MS, ANSWER_MS, &e);
    if (!c) {
        log_error("phase", "rank %u waited %llu s for %s; the store says nothing about it: %s",
                  env->rank, s, w->point, e.text);
        return STATUS_PHASE;
    }
    if (may_speak(c, "mw/0/report")) {
        status = speak(env, c, w, waited_ms);
        store_client_set(c, "mw/0/abort", w->point, strlen(w->point), NULL);
    } else {
        status = stay_silent(env, c, w);
    }
    store_client_free(c);
    return status;
}

void phase_report_words(const struct phase_wait *w, const struct phase_count *n,
                        uint64_t waited_ms, const char *who, struct buf *out)
{
    unsigned long long s = waited_ms / 1000, absent = n->nabsent, missing = n->nmissing;
    if (!missing)
        return;
    if (w->can_hang && absent)
        buf_addf(out, "after %llu s %llu of %u ranks have not entered the %s, among them %s", s,
                 absent, n->nranks, name_of(w), who);
    else if (w->can_hang)
        buf_addf(out, "after %llu s %llu of %u ranks are still in the %s", s, missing,
                 n->nranks, name_of(w));
    else if (missing == n->nranks)
        buf_addf(out, "after %llu s all %u ranks are still on their way to %s", s, n->nranks,
                 w->point);
    else
        buf_addf(out, "after %llu s %llu of %u ranks have not reached %s, among them %s", s,
                 missing, n->nranks, w->point, who);
}

static void say_notice(const struct env *env, struct store_client *c,
                       const struct phase_wait *w, uint64_t waited_ms)
{
    char who[256] = "";
    struct buf words;
    const struct missing nobody = {.count = 0};
    struct missing absent = w->can_hang ? search(env, c, w->enter) : nobody;
    struct missing missing = search(env, c, w->point);
    if (absent.is_lost || missing.is_lost)
        return;
    if (absent.count || missing.count)
        describe_rank(c, absent.count ? absent.named[0] : missing.named[0], who, sizeof who);
    const struct phase_count n = {env->world_size, absent.count, missing.count};
    buf_init(&words, 0);
    phase_report_words(w, &n, waited_ms, who, &words);
    if (words.len)
        log_warn("phase", "%s", buf_str(&words));
    buf_fini(&words);
}

void phase_report_notice(const struct env *env, const struct phase_wait *w, uint64_t waited_ms)
{
    char key[PHASE_KEY_MAX];
    if (!env->master_addr || env->world_size == 1)
        return;
    struct store_client *c =
        store_client_new(env->master_addr, env->master_port, CONNECT_MS, ANSWER_MS, NULL);
    if (!c)
        return;
    snprintf(key, sizeof key, "mw/0/notice/%s", w->point);
    if (may_speak(c, key))
        say_notice(env, c, w, waited_ms);
    store_client_free(c);
}
