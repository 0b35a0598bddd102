#include "launcher/io/doctor_hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/reach_plan.h"
#include "launcher/io/evidence_reach.h"
#include "launcher/io/reap.h"
#include "launcher/io/spread.h"

enum {
    LOOK_MS = 60000, /* from the start of a command to its evidence */
    LEAVE_MS = 5000, /* from the end of its input to its own */
    WINDOW = 32,     /* commands that have not answered yet */
    ANSWER_MAX = 4 << 20
};

enum asked_state {
    ASKED_NOT_YET,
    ASKED_LOOKS,
    ASKED_READY,
    ASKED_TRIES,
    ASKED_DONE,
    ASKED_LOST
};

/* One host. */
struct asked {
    const struct host *host;
    enum asked_state state;
    pid_t pid; /* 0 = none, or collected */
    int pidfd;
    int in, out, err;     /* its streams; -1 = closed */
    struct buf answer;    /* the part that is being read */
    struct buf complaint; /* standard error */
    uint64_t deadline_ms;
    struct host_evidence ev;
};

struct ask {
    const struct options *opt;
    bool is_worker_asked;
    struct asked *hosts;
    size_t n;
    struct env_list env;
    char self[PATH_MAX], name[HOST_NAME_MAX + 1];
};

/* ---- starting ---- */

static bool is_here(const struct ask *a, const struct host *host)
{
    return strcasecmp(host->name, a->name) == 0 || strcasecmp(host->name, "localhost") == 0;
}

static void make_words(const struct ask *a, const struct host *host, char number[16],
                       const char *words[16])
{
    size_t n = 0;
    words[n++] = "doctor";
    words[n++] = "--evidence=reach";
    if (host->slots) {
        snprintf(number, 16, "-n%u", host->slots);
        words[n++] = number;
    }
    if (host->gpus || a->opt->gpus) {
        words[n++] = "--gpus";
        words[n++] = a->opt->origin[OPTION_GPUS] == ORIGIN_COMMAND_LINE || !host->gpus
                         ? a->opt->gpus
                         : host->gpus;
    }
    words[n] = NULL;
}

static int make_argv(const struct ask *a, const struct host *host, struct argv *out,
                     struct err *e)
{
    const char *words[16];
    char number[16];
    make_words(a, host, number, words);
    const struct remote_ssh ssh = {.ssh = a->opt->ssh,
                                   .args = a->opt->ssh_args.items,
                                   .port = host->port,
                                   .user = host->user,
                                   .host = host->name,
                                   .muster =
                                       a->opt->remote_muster ? a->opt->remote_muster : a->self,
                                   .words = words};
    if (!is_here(a, host))
        return remote_ssh_argv(&ssh, out, e);
    *out = (struct argv){0};
    out->words = mem_alloc(17, sizeof *out->words);
    out->words[out->n++] = mem_strdup(a->self);
    for (size_t i = 0; words[i]; i++)
        out->words[out->n++] = mem_strdup(words[i]);
    return 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Each stream is a socket, so that writing to one that is gone raises no signal. */
static int start(const struct ask *a, struct asked *h, struct err *e)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
    struct argv argv;
    if (make_argv(a, h->host, &argv, e) < 0)
        return -1;
    int kind = SOCK_STREAM | SOCK_CLOEXEC, why = 0;
    if (socketpair(AF_UNIX, kind, 0, in) < 0 || socketpair(AF_UNIX, kind, 0, out) < 0
        || socketpair(AF_UNIX, kind, 0, err) < 0)
        why = errno;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
    if (!why)
        why = posix_spawnp(&h->pid, argv.words[0], &actions, NULL, argv.words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close_fd(&in[1]);
    close_fd(&out[1]);
    close_fd(&err[1]);
    h->in = in[0];
    h->out = out[0];
    h->err = err[0];
    if (why)
        err_sys(e, why, "%s", argv.words[0]);
    else
        h->pidfd = (int)syscall(SYS_pidfd_open, h->pid, 0);
    argv_fini(&argv);
    return why ? -1 : 0;
}

static void lose(struct asked *h, const char *why)
{
    struct str rest = str_trim(str_from(buf_str(&h->complaint))), line = {NULL, 0};
    while (rest.n && str_split(&rest, '\n', &line))
        ;
    h->state = ASKED_LOST;
    log_error("doctor", "%s: %s%s%.*s", h->host->name, why, line.n ? ": " : "", STR_ARG(line));
}

/* The socket has room for all that is said; whoever is gone is known by its end. */
static void send_text(struct asked *h, const struct buf *text)
{
    ssize_t n = send(h->in, text->data, text->len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0 ? (size_t)n < text->len : errno == EAGAIN)
        lose(h, "it does not listen");
}

static void begin(const struct ask *a, struct asked *h)
{
    struct err e;
    struct buf text;
    h->deadline_ms = now_ms() + LOOK_MS;
    h->state = ASKED_LOOKS;
    if (start(a, h, &e) < 0) {
        lose(h, e.text);
        return;
    }
    buf_init(&text, 0);
    if (!a->is_worker_asked)
        buf_adds(&text, "worker=no\n");
    for (size_t i = 0; i < a->env.n; i++)
        if (!strchr(a->env.items[i], '\n'))
            buf_addf(&text, "env=%s\n", a->env.items[i]);
    for (size_t i = 0; i < a->n && i < TEXT_LIST_MAX; i++)
        buf_addf(&text, "lookup=%s\n", a->hosts[i].host->name);
    for (size_t i = 0; i < a->opt->lookups.n; i++)
        buf_addf(&text, "lookup=%s\n", a->opt->lookups.items[i]);
    buf_addc(&text, '\n');
    send_text(h, &text);
    buf_fini(&text);
}

/* ---- reading ---- */

static void hear_part(struct asked *h)
{
    struct err e;
    struct str text = {h->answer.data, h->answer.len};
    if (evidence_parse(text, &h->ev, &e) < 0)
        lose(h, e.text);
    else
        h->state = h->state == ASKED_LOOKS ? ASKED_READY : ASKED_DONE;
    buf_reset(&h->answer);
}

static bool is_waited_for(const struct asked *h)
{
    return h->state == ASKED_LOOKS || h->state == ASKED_TRIES;
}

static void read_answer(struct asked *h)
{
    char part[4096];
    ssize_t n = recv(h->out, part, sizeof part, 0);
    if (n > 0)
        buf_add(&h->answer, part, (size_t)n);
    bool is_over =
        h->answer.len >= 2 && memcmp(h->answer.data + h->answer.len - 2, "\n\n", 2) == 0;
    if (is_over && is_waited_for(h))
        hear_part(h);
    else if (h->answer.overflowed)
        lose(h, "it says too much");
    else if (n <= 0)
        close_fd(&h->out);
}

static void read_complaint(struct asked *h)
{
    char part[4096];
    ssize_t n = recv(h->err, part, sizeof part, 0);
    if (n > 0)
        buf_add(&h->complaint, part, (size_t)n);
    else
        close_fd(&h->err);
}

/* Both streams over: whatever it was has ended, and has said why. */
static void judge_end(struct asked *h, uint64_t now)
{
    if (is_waited_for(h) && h->out < 0 && h->err < 0)
        lose(h, "it cannot be asked");
    else if (is_waited_for(h) && now >= h->deadline_ms)
        lose(h, "no answer in time");
}

static void poll_once(struct ask *a, struct pollfd *p)
{
    size_t n = 0;
    uint64_t now = now_ms(), next = now + LOOK_MS;
    for (size_t i = 0; i < a->n; i++) {
        struct asked *h = &a->hosts[i];
        bool is_read = is_waited_for(h);
        p[n++] = (struct pollfd){.fd = is_read ? h->out : -1, .events = POLLIN};
        p[n++] = (struct pollfd){.fd = is_read ? h->err : -1, .events = POLLIN};
        if (is_read && h->deadline_ms < next)
            next = h->deadline_ms;
    }
    int ready = poll(p, n, next > now ? (int)(next - now) : 0);
    for (size_t i = 0; i < a->n; i++) {
        if (ready > 0 && p[2 * i].revents)
            read_answer(&a->hosts[i]);
        if (ready > 0 && p[2 * i + 1].revents)
            read_complaint(&a->hosts[i]);
        judge_end(&a->hosts[i], now_ms());
    }
}

static size_t count(const struct ask *a, enum asked_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++)
        n += a->hosts[i].state == state;
    return n;
}

/* Every host has answered, or will not. */
static void look_all(struct ask *a, struct pollfd *p)
{
    do {
        for (size_t i = 0; i < a->n && count(a, ASKED_LOOKS) < WINDOW; i++)
            if (a->hosts[i].state == ASKED_NOT_YET)
                begin(a, &a->hosts[i]);
        if (count(a, ASKED_LOOKS))
            poll_once(a, p);
    } while (count(a, ASKED_LOOKS) || count(a, ASKED_NOT_YET));
}

static void reach_all(struct ask *a, struct pollfd *p)
{
    for (size_t i = 0; i < a->n; i++) {
        size_t peers[REACH_PEERS_MAX];
        struct buf text;
        if (a->hosts[i].state != ASKED_READY)
            continue;
        buf_init(&text, 0);
        for (size_t k = 0, n = reach_plan(a->n, i, peers); k < n && a->is_worker_asked; k++) {
            const struct asked *peer = &a->hosts[peers[k]];
            if (peer->state != ASKED_LOST && peer->ev.listen)
                buf_addf(&text, "peer=%s %s\n", peer->host->name, peer->ev.listen);
        }
        buf_addc(&text, '\n');
        a->hosts[i].state = ASKED_TRIES;
        a->hosts[i].deadline_ms = now_ms() + EVIDENCE_REACH_MS + LOOK_MS;
        send_text(&a->hosts[i], &text);
        buf_fini(&text);
    }
    while (count(a, ASKED_TRIES))
        poll_once(a, p);
}

/* ---- the end ---- */

static int time_left(uint64_t end_ms)
{
    uint64_t now = now_ms();
    return now < end_ms ? (int)(end_ms - now) : 0;
}

static void collect(struct asked *h, uint64_t end_ms)
{
    int status;
    if (h->pid > 0 && reap(h->pid, h->pidfd, time_left(end_ms), &status))
        h->pid = 0;
}

/* Its input has ended, so it ends; if not, it is ended. It may close its output and live on. */
static void leave(struct asked *h, uint64_t end_ms)
{
    if (h->state == ASKED_LOST && h->pid > 0)
        kill(h->pid, SIGTERM);
    while (h->out >= 0 && now_ms() < end_ms) {
        struct pollfd p = {.fd = h->out, .events = POLLIN};
        char part[256];
        if (poll(&p, 1, time_left(end_ms)) > 0 && recv(h->out, part, sizeof part, 0) <= 0)
            close_fd(&h->out);
    }
    collect(h, end_ms);
    if (h->pid > 0)
        kill(h->pid, SIGKILL);
}

static void forget(struct asked *h)
{
    if (h->pid > 0)
        log_warn("doctor", "%s: process %d does not end", h->host->name, (int)h->pid);
    close_fd(&h->pidfd);
    close_fd(&h->out);
    close_fd(&h->err);
    buf_fini(&h->answer);
    buf_fini(&h->complaint);
}

/* Both bounds are for all of them together. */
static void leave_all(struct ask *a)
{
    uint64_t end_ms = now_ms() + LEAVE_MS;
    for (size_t i = 0; i < a->n; i++)
        close_fd(&a->hosts[i].in);
    for (size_t i = 0; i < a->n; i++)
        leave(&a->hosts[i], end_ms);
    end_ms = now_ms() + REAP_MS;
    for (size_t i = 0; i < a->n; i++) {
        collect(&a->hosts[i], end_ms);
        forget(&a->hosts[i]);
    }
}

static void finish(struct ask *a, struct evidence_set *out, size_t *nlost)
{
    *out = (struct evidence_set){.hosts = mem_alloc(a->n, sizeof *out->hosts)};
    leave_all(a);
    for (size_t i = 0; i < a->n; i++) {
        struct asked *h = &a->hosts[i];
        if (h->state == ASKED_DONE) {
            evidence_set_text(&h->ev.host, h->host->name);
            out->hosts[out->n++] = h->ev;
        } else {
            evidence_clear(&h->ev);
        }
    }
    *nlost = a->n - out->n;
}

static int find_self(struct ask *a, struct err *e)
{
    ssize_t n = readlink("/proc/self/exe", a->self, sizeof a->self - 1);
    if (n <= 0)
        return err_sys(e, errno, "/proc/self/exe");
    a->self[n] = '\0';
    return gethostname(a->name, sizeof a->name - 1) < 0 ? err_sys(e, errno, "gethostname") : 0;
}

int doctor_hosts_ask(const struct options *opt, bool is_worker_asked, struct evidence_set *out,
                     size_t *nlost, struct err *e)
{
    struct ask a = {.opt = opt, .is_worker_asked = is_worker_asked};
    struct host_list list;
    struct buf text;
    buf_init(&text, 0);
    int rc = spread_read_hosts(opt, &list, &text, e);
    buf_fini(&text);
    if (rc < 0)
        return -1;
    if (find_self(&a, e) < 0 || spread_read_env(opt, &a.env, e) < 0) {
        host_list_fini(&list);
        env_list_fini(&a.env);
        return -1;
    }
    a.n = list.n;
    a.hosts = mem_alloc(a.n, sizeof *a.hosts);
    for (size_t i = 0; i < a.n; i++) {
        a.hosts[i] =
            (struct asked){.host = &list.hosts[i], .pidfd = -1, .in = -1, .out = -1, .err = -1};
        buf_init(&a.hosts[i].answer, ANSWER_MAX);
        buf_init(&a.hosts[i].complaint, ANSWER_MAX);
    }
    struct pollfd *p = mem_alloc(2 * a.n, sizeof *p);
    look_all(&a, p);
    reach_all(&a, p);
    finish(&a, out, nlost);
    free(p);
    free(a.hosts);
    env_list_fini(&a.env);
    host_list_fini(&list);
    return 0;
}
