#include "launcher/io/node_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/io/notify.h"
#include "launcher/io/proc_stat.h"
#include "launcher/io/sampler.h"
#include "launcher/io/stacks.h"

enum {
    PARENTS_MAX = 32, /* from who sent a message up to a worker */
    ROUNDS = 2        /* of the loop, until what was waiting has been read */
};

struct node_watch {
    struct node_watch_host host;
    struct watch_set *watches;
    struct notify *notify;
    bool was_notify_asked, has_refused;
    const struct node_plan *plan;
    struct child *const *children;
    char *file; /* of this generation's stacks, NULL = none */
    uint64_t output_at_ms;
    int rounds_left;   /* of a look; 0 = none is under way */
    bool tells_output; /* the next output is news */
    struct stacks *stacks;
    struct sampler *sampler; /* NULL = nobody has looked yet */
};

struct node_watch *node_watch_new(const struct node_watch_host *host)
{
    struct node_watch *w = mem_alloc(1, sizeof *w);
    w->host = *host;
    return w;
}

void node_watch_free(struct node_watch *w)
{
    if (!w)
        return;
    notify_close(w->notify);
    stacks_free(w->stacks);
    sampler_free(w->sampler);
    free(w->file);
    free(w);
}

/* ---- messages ---- */

static bool find_worker(const struct node_watch *w, pid_t pid, uint32_t *local_rank)
{
    for (uint32_t i = 0; i < w->plan->order.nworkers; i++) {
        if (!w->children[i] || child_pid(w->children[i]) != pid)
            continue;
        *local_rank = i;
        return true;
    }
    return false;
}

/* A worker, a process of its session or group, or one that descends from it. */
static bool find_sender(const struct node_watch *w, pid_t pid, uint32_t *local_rank)
{
    struct proc_stat stat;
    for (int i = 0; i < PARENTS_MAX && pid > 1; i++, pid = stat.parent) {
        if (find_worker(w, pid, local_rank))
            return true;
        if (!proc_stat_read(pid, &stat))
            return false;
        if ((stat.session > 0 && find_worker(w, stat.session, local_rank))
            || (stat.group > 0 && find_worker(w, stat.group, local_rank)))
            return true;
    }
    return false;
}

/* The kernel's word goes first; one that has ended meanwhile has to say whose it was. */
static bool find_rank(const struct node_watch *w, pid_t pid, const struct notify_message *m,
                      uint32_t *local_rank)
{
    if (!w->plan || !w->children)
        return false;
    if (find_sender(w, pid, local_rank))
        return true;
    uint64_t first = w->plan->order.first_rank;
    if (!m || !m->rank.is_known || m->rank.value < first
        || m->rank.value - first >= w->plan->order.nworkers)
        return false;
    *local_rank = (uint32_t)(m->rank.value - first);
    return true;
}

static void on_message(void *ctx, pid_t pid, const struct notify_message *m)
{
    struct node_watch *w = ctx;
    uint32_t local_rank;
    if (!find_rank(w, pid, m, &local_rank)) {
        log_debug("notify", "a message of pid %d is of no worker; RANK=$RANK may be missing",
                  (int)pid);
        return;
    }
    struct event ev = {.type = EV_NOTIFY};
    ev.u.notify.local_rank = local_rank;
    ev.u.notify.sign = (struct sign){.is_alive = m->is_alive,
                                     .step = m->step,
                                     .section = m->section[0] ? m->section : NULL,
                                     .section_ms = m->section_ms,
                                     .status = m->status[0] ? m->status : NULL};
    w->host.post(w->host.ctx, &ev);
}

/* Said once: a worker that does it wrong does it a thousand times. */
static void on_refused(void *ctx, pid_t pid, const struct err *e)
{
    struct node_watch *w = ctx;
    uint32_t local_rank;
    if (w->has_refused)
        return;
    w->has_refused = true;
    if (find_rank(w, pid, NULL, &local_rank))
        log_warn("notify", "MUSTER_NOTIFY_SOCKET: rank %u: %s",
                 w->plan->workers[local_rank].rank, e->text);
    else
        log_warn("notify", "MUSTER_NOTIFY_SOCKET: pid %d: %s", (int)pid, e->text);
}

static void open_notify(struct node_watch *w)
{
    const struct notify_events events = {w, on_message, on_refused};
    struct err e;
    if (w->was_notify_asked)
        return;
    w->was_notify_asked = true;
    w->notify = notify_open(w->watches, &events, &e);
    if (!w->notify)
        log_info("notify", "%s: workers cannot send heartbeats", e.text);
}

void node_watch_prepare(struct node_watch *w, struct watch_set *watches,
                        const struct node_plan *plan, struct child *const *children,
                        const char *log_dir)
{
    w->watches = watches;
    w->plan = plan;
    w->children = children;
    w->output_at_ms = 0;
    free(w->file);
    w->file = !log_dir ? NULL
              : plan->order.nnodes == 1
                  ? mem_printf("%s/stacks.txt", log_dir)
                  : mem_printf("%s/stacks-node-%u.txt", log_dir, plan->order.node_rank);
    open_notify(w);
}

void node_watch_forget(struct node_watch *w)
{
    sampler_forget(w->sampler);
    w->plan = NULL;
    w->children = NULL;
}

const char *node_watch_address(const struct node_watch *w)
{
    return w->notify ? notify_address(w->notify) : NULL;
}

/* ---- output ---- */

static void post_looked(struct node_watch *w)
{
    struct event ev = {.type = EV_LOOKED};
    ev.u.looked.output_at_ms = w->output_at_ms;
    w->host.post(w->host.ctx, &ev);
}

void node_watch_output(struct node_watch *w)
{
    w->output_at_ms = now_ms();
    if (!w->tells_output)
        return;
    w->tells_output = false;
    post_looked(w);
}

void node_watch_look(struct node_watch *w)
{
    w->rounds_left = ROUNDS;
    w->tells_output = false;
}

static void look_tick(struct node_watch *w)
{
    if (!w->rounds_left || --w->rounds_left)
        return;
    w->tells_output = true;
    post_looked(w);
}

/* ---- stacks ---- */

static void on_started(void *ctx, pid_t pid)
{
    struct node_watch *w = ctx;
    descendants_except(w->host.descendants, pid);
}

static void on_rank(void *ctx, uint32_t local_rank, const char *where)
{
    struct node_watch *w = ctx;
    struct event ev = {.type = EV_STACK};
    ev.u.stack.local_rank = local_rank;
    ev.u.stack.where = where;
    w->host.post(w->host.ctx, &ev);
}

static void on_stderr(void *ctx, uint32_t local_rank, const char *p, size_t n)
{
    struct node_watch *w = ctx;
    stacks_stderr(w->stacks, local_rank, p, n);
}

static void on_capture(void *ctx, uint32_t local_rank, bool is_wanted)
{
    struct node_watch *w = ctx;
    if (w->plan && local_rank < w->plan->order.nworkers && w->children[local_rank])
        child_capture(w->children[local_rank], is_wanted ? on_stderr : NULL, w);
}

/* Appended: SIGQUIT may come more than once. */
static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    size_t n = strlen(text);
    while (fd >= 0 && n) {
        ssize_t k = write(fd, text, n);
        if (k < 0 && errno != EINTR)
            break;
        text += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (fd < 0 || n)
        log_warn("stacks", "cannot write %s: %s", path, strerror(why));
    return fd >= 0 && !n;
}

static void on_stacks_end(void *ctx, const char *screen, const char *file)
{
    struct node_watch *w = ctx;
    struct event ev = {.type = EV_STACKED};
    output_note(w->host.output, screen, strlen(screen));
    if (w->file && *file && write_file(w->file, file))
        ev.u.stacked.file = w->file;
    w->host.post(w->host.ctx, &ev);
}

static struct helper_host helper_host(struct node_watch *w)
{
    return (struct helper_host){
        .watches = w->watches,
        .spawn = w->host.spawn,
        .facts = w->host.facts,
        .dev_null = w->host.dev_null,
        .ctx = w,
        .on_started = on_started,
    };
}

static void make_stacks(struct node_watch *w)
{
    const struct helper_host host = helper_host(w);
    const struct stacks_events events = {w, on_rank, on_stacks_end, on_capture};
    const char *tool = w->host.opt->stack_tool;
    w->stacks = stacks_new(&host, tool ? tool : "auto", &events);
}

static void begin(struct node_watch *w, bool may_abort)
{
    uint32_t n = 0, all = w->plan->order.nworkers;
    struct stacks_subject *subjects = mem_alloc(all, sizeof *subjects);
    for (uint32_t i = 0; i < all; i++)
        if (w->children[i] && child_is_running(w->children[i]))
            subjects[n++] =
                (struct stacks_subject){i, w->plan->workers[i].rank, child_pid(w->children[i])};
    stacks_begin(w->stacks, subjects, n, may_abort, now_ms());
    free(subjects);
}

void node_watch_stacks(struct node_watch *w, bool may_abort)
{
    if (!w->stacks)
        make_stacks(w);
    if (!stacks_is_running(w->stacks)) /* else its end answers this one too */
        begin(w, may_abort);
}

/* ---- samples ---- */

static void on_sample(void *ctx, struct str items)
{
    struct node_watch *w = ctx;
    struct event ev = {.type = EV_SAMPLED};
    ev.u.sampled.text = items;
    w->host.post(w->host.ctx, &ev);
}

void node_watch_sample(struct node_watch *w)
{
    uint32_t n = 0, all = w->plan ? w->plan->order.nworkers : 0;
    struct sample_subject *subjects = mem_alloc(all, sizeof *subjects);
    const struct helper_host host = helper_host(w);
    if (!w->sampler)
        w->sampler = sampler_new(&host, on_sample);
    for (uint32_t i = 0; i < all; i++)
        if (w->children[i] && child_is_running(w->children[i]))
            subjects[n++] = (struct sample_subject){i, (uint32_t)child_pid(w->children[i]),
                                                    str_from(w->plan->workers[i].gpu_uuid)};
    sampler_take(w->sampler, subjects, n, now_ms());
    free(subjects);
}

/* ---- time ---- */

uint64_t node_watch_deadline(const struct node_watch *w)
{
    if (w->rounds_left)
        return 0;
    uint64_t stacks = w->stacks ? stacks_deadline(w->stacks) : UINT64_MAX;
    uint64_t sampler = w->sampler ? sampler_deadline(w->sampler) : UINT64_MAX;
    return stacks < sampler ? stacks : sampler;
}

void node_watch_tick(struct node_watch *w, uint64_t now_ms)
{
    look_tick(w);
    if (w->stacks)
        stacks_tick(w->stacks, now_ms);
    if (w->sampler)
        sampler_tick(w->sampler, now_ms);
}
