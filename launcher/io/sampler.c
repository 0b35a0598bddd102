#include "launcher/io/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/core/node_sample.h"
#include "launcher/io/reap.h"

enum { READ_BYTES = 16 * 1024, LAST_WAIT_MS = 500 };

enum helper_kind { HELPER_USAGE, HELPER_GPUS, HELPER_COUNT };

static const struct {
    const char *word; /* of `muster sampler` */
    const char *late, *busy;
} kinds[] = {
    [HELPER_USAGE] = {"usage", "/proc was not read in time", "/proc is still being read"},
    [HELPER_GPUS] = {"gpus", "NVML did not answer in time", "NVML has not answered yet"},
};

struct helper {
    struct sampler *sampler;
    enum helper_kind kind;
    pid_t pid;
    int pidfd, in, out;       /* -1 = it does not run */
    int killed;               /* pidfd of the one before, -1 = none, or it is seen dead */
    struct watch watch, room; /* of out; of in, while a part of the question is to be sent */
    struct buf question;
    size_t sent;
    bool is_busy;       /* it owes a line */
    bool is_waited_for; /* which belongs to the answer */
    uint64_t asked_ms;
    struct buf line;
};

struct sampler {
    struct helper_host host;
    void (*on_sample)(void *ctx, struct str items);
    struct helper helpers[HELPER_COUNT];
    bool is_waited_for; /* on_sample is due */
    uint64_t asked_ms;
    struct buf answer; /* what on_sample is given */
};

struct sampler *sampler_new(const struct helper_host *host,
                            void (*on_sample)(void *ctx, struct str items))
{
    struct sampler *s = mem_alloc(1, sizeof *s);
    s->host = *host;
    s->on_sample = on_sample;
    buf_init(&s->answer, 0);
    for (int i = 0; i < HELPER_COUNT; i++) {
        s->helpers[i] = (struct helper){.sampler = s,
                                        .kind = (enum helper_kind)i,
                                        .pidfd = -1,
                                        .in = -1,
                                        .out = -1,
                                        .killed = -1};
        buf_init(&s->helpers[i].question, 0);
        buf_init(&s->helpers[i].line, NODE_SAMPLE_BYTES_MAX + 1);
    }
    return s;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Its zombie is collected with muster's other children, but for the last: sampler_free. */
static void end_helper(struct helper *h)
{
    if (h->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, h->pidfd, SIGKILL, NULL, 0);
    watch_forget(&h->watch);
    watch_forget(&h->room);
    if (h->pidfd >= 0) {
        close_fd(&h->killed);
        h->killed = h->pidfd;
    }
    h->pidfd = -1;
    close_fd(&h->in);
    close_fd(&h->out);
    h->is_busy = false;
}

/* Muster is about to end, and leaves nothing to be collected by others; a process that is stuck
 * in its driver it leaves. */
static void await_helper(const struct helper *h)
{
    int status;
    syscall(SYS_pidfd_send_signal, h->pidfd, SIGKILL, NULL, 0);
    reap(h->pid, h->pidfd, LAST_WAIT_MS, &status);
}

void sampler_free(struct sampler *s)
{
    if (!s)
        return;
    for (int i = 0; i < HELPER_COUNT; i++) {
        if (s->helpers[i].pidfd >= 0)
            await_helper(&s->helpers[i]);
        end_helper(&s->helpers[i]);
        close_fd(&s->helpers[i].killed);
        buf_fini(&s->helpers[i].question);
        buf_fini(&s->helpers[i].line);
    }
    buf_fini(&s->answer);
    free(s);
}

/* ---- answers ---- */

/* Gives what there is, once nobody is waited for. */
static void maybe_give(struct sampler *s)
{
    for (int i = 0; i < HELPER_COUNT; i++)
        if (s->helpers[i].is_waited_for)
            return;
    if (!s->is_waited_for)
        return;
    s->is_waited_for = false;
    s->on_sample(s->host.ctx, (struct str){buf_str(&s->answer), s->answer.len});
}

/* Nothing comes from this one in time; why. */
static void give_up(struct helper *h, const char *why)
{
    if (h->is_waited_for)
        node_sample_add_why(why, &h->sampler->answer);
    h->is_waited_for = false;
}

static void end_for(struct helper *h, const char *why)
{
    end_helper(h);
    give_up(h, why);
    maybe_give(h->sampler);
}

static void take_line(struct helper *h)
{
    struct buf *answer = &h->sampler->answer;
    const struct str line = {h->line.data, h->line.len};
    h->is_busy = false;
    if (h->is_waited_for)
        node_sample_add_left_out(node_sample_add_items(line, answer), answer);
    h->is_waited_for = false;
    maybe_give(h->sampler);
}

static void on_readable(void *ctx)
{
    struct helper *h = ctx;
    char part[READ_BYTES];
    ssize_t n = read(h->out, part, sizeof part);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        buf_add(&h->line, part, (size_t)n);
    if (n <= 0)
        end_for(h, "the helper that measures has ended");
    else if (h->line.overflowed)
        end_for(h, "the helper that measures says too much");
    else if (part[n - 1] == '\n')
        take_line(h);
}

void sampler_forget(struct sampler *s)
{
    if (!s)
        return;
    s->is_waited_for = false;
    for (int i = 0; i < HELPER_COUNT; i++)
        s->helpers[i].is_waited_for = false;
}

/* ---- helpers ---- */

static int start_process(struct helper *h, int in, int out, struct err *e)
{
    const struct helper_host *host = &h->sampler->host;
    char name[] = "muster", word[] = "sampler", *kind = mem_strdup(kinds[h->kind].word);
    char *const argv[] = {name, word, kind, NULL};
    char *const *envp = (char *const *)(uintptr_t)host->facts->environment;
    const struct helper_streams streams = {in, out, host->dev_null};
    int rc = helper_start(host, "/proc/self/exe", argv, envp, &streams, &h->pid, &h->pidfd, e);
    free(kind);
    return rc;
}

/* One that no signal ends sleeps in the driver, as the next one would. */
static bool is_gone(struct helper *h)
{
    struct pollfd end = {.fd = h->killed, .events = POLLIN};
    if (h->killed >= 0 && poll(&end, 1, 0) == 0)
        return false;
    close_fd(&h->killed);
    return true;
}

static int start_helper(struct helper *h, struct err *e)
{
    const struct helper_host *host = &h->sampler->host;
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    int rc = 0;
    if (!is_gone(h))
        return err_set(e, ERR_UNAVAILABLE, "%s", kinds[h->kind].busy);
    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        rc = err_sys(e, errno, "cannot make a pipe");
    if (rc == 0)
        rc = start_process(h, to[0], from[1], e);
    close_fd(&to[0]);
    close_fd(&from[1]);
    h->in = to[1];
    h->out = from[0];
    if (rc == 0) {
        fcntl(h->in, F_SETFL, O_NONBLOCK);
        fcntl(h->out, F_SETFL, O_NONBLOCK);
        rc = watch_start(host->watches, &h->watch, h->out, on_readable, h, e);
    }
    if (rc < 0)
        end_helper(h);
    return rc;
}

/* ---- questions ---- */

static void on_room(void *ctx);

/* What the pipe takes now; on_room sends the rest. Where the user has many pipes (pipe(7),
 * pipe-user-pages-soft), a new one holds less than the question of 700 workers. */
static int send_part(struct helper *h, struct err *e)
{
    struct watch_set *watches = h->sampler->host.watches;
    ssize_t n = write(h->in, h->question.data + h->sent, h->question.len - h->sent);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return err_set(e, ERR_SYSTEM, "the helper that measures takes no question");
    h->sent += n > 0 ? (size_t)n : 0;
    if (h->sent == h->question.len)
        watch_stop(watches, &h->room, h->in);
    else if (!h->room.on_ready)
        return watch_start_writable(watches, &h->room, h->in, on_room, h, e);
    return 0;
}

static void on_room(void *ctx)
{
    struct helper *h = ctx;
    struct err e;
    if (send_part(h, &e) < 0)
        end_for(h, e.text);
}

static int send_question(struct helper *h, const struct buf *question, struct err *e)
{
    if (h->pidfd < 0 && start_helper(h, e) < 0)
        return -1;
    buf_reset(&h->question);
    buf_add(&h->question, question->data, question->len);
    h->sent = 0;
    if (send_part(h, e) == 0)
        return 0;
    end_helper(h);
    return -1;
}

static void ask(struct helper *h, const struct buf *question, uint64_t now_ms)
{
    struct err e;
    h->is_waited_for = true;
    if (h->is_busy) {
        give_up(h, kinds[h->kind].busy);
        return;
    }
    buf_reset(&h->line);
    if (send_question(h, question, &e) < 0) {
        give_up(h, e.text);
        return;
    }
    h->is_busy = true;
    h->asked_ms = now_ms;
}

void sampler_take(struct sampler *s, const struct sample_subject *subjects, size_t n,
                  uint64_t now_ms)
{
    bool has_gpus = false;
    struct buf question;
    buf_init(&question, 0);
    for (size_t i = 0; i < n; i++) {
        sample_ask_format(&subjects[i], &question);
        has_gpus = has_gpus || subjects[i].uuid.p;
    }
    buf_addc(&question, '\n');
    buf_reset(&s->answer);
    s->is_waited_for = true;
    s->asked_ms = now_ms;
    ask(&s->helpers[HELPER_USAGE], &question, now_ms);
    if (has_gpus)
        ask(&s->helpers[HELPER_GPUS], &question, now_ms);
    buf_fini(&question);
    maybe_give(s);
}

/* ---- time ---- */

static uint64_t end_due_ms(const struct helper *h)
{
    return h->pidfd >= 0 ? h->asked_ms + SAMPLER_END_MS : UINT64_MAX;
}

uint64_t sampler_deadline(const struct sampler *s)
{
    uint64_t due_ms = s->is_waited_for ? s->asked_ms + SAMPLER_LIMIT_MS : UINT64_MAX;
    for (int i = 0; i < HELPER_COUNT; i++) {
        uint64_t end_ms = end_due_ms(&s->helpers[i]);
        due_ms = end_ms < due_ms ? end_ms : due_ms;
    }
    return due_ms;
}

void sampler_tick(struct sampler *s, uint64_t now_ms)
{
    for (int i = 0; i < HELPER_COUNT; i++) {
        struct helper *h = &s->helpers[i];
        if (s->is_waited_for && now_ms >= s->asked_ms + SAMPLER_LIMIT_MS)
            give_up(h, kinds[i].late);
        if (!h->is_waited_for && now_ms >= end_due_ms(h))
            end_helper(h);
    }
    maybe_give(s);
}
