#include "launcher/io/control_client.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launcher/io/control_folder.h"

enum {
    ANSWER_MS = 3000,
    STACK_MS = 60000, /* the job's own limits are below it */
    ANSWER_BYTES_MAX = 64 << 20
};

static const char no_answer[] = "it does not answer; is it suspended?";

/* ---- questions ---- */

/* One job and what it has answered so far. */
struct question {
    char *path; /* owned */
    int fd;     /* -1 = the answer has ended, or none will come */
    struct buf answer;
    struct err e; /* ERR_OK = nothing went wrong */
};

/* A connection, or -1 with ERR_UNAVAILABLE: nobody is there; ERR_TIMEOUT: it lets others wait
 * as well; ERR_SYSTEM. */
static int dial(const char *path, struct err *e)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof name.sun_path)
        return err_set(e, ERR_UNAVAILABLE, "%s: too long", path);
    strcpy(name.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(e, errno, "cannot make a socket");
    if (connect(fd, (const struct sockaddr *)&name, sizeof name) == 0)
        return fd;
    int why = errno;
    close(fd);
    return why == EAGAIN ? err_set(e, ERR_TIMEOUT, "%s", no_answer)
                         : err_set(e, ERR_UNAVAILABLE, "%s: %s", path, strerror(why));
}

/* Takes over path. */
static void question_begin(struct question *q, char *path, enum control_verb verb)
{
    struct buf words;
    buf_init(&words, 0);
    control_request_format(verb, &words);
    *q = (struct question){.path = path};
    buf_init(&q->answer, ANSWER_BYTES_MAX);
    q->fd = dial(path, &q->e);
    /* Who hangs up may have said why: that is read. */
    if (q->fd >= 0 && send(q->fd, words.data, words.len, MSG_NOSIGNAL) != (ssize_t)words.len)
        err_set(&q->e, ERR_UNAVAILABLE, "it takes no request");
    buf_fini(&words);
}

static void question_hang_up(struct question *q)
{
    close(q->fd);
    q->fd = -1;
}

static void question_read(struct question *q)
{
    char bytes[4096];
    ssize_t got = read(q->fd, bytes, sizeof bytes);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0)
        buf_add(&q->answer, bytes, (size_t)got);
    else
        question_hang_up(q);
}

/* Waits until one of those that have not ended says something. False once all have, or at the
 * deadline. */
static bool questions_wait(struct question *qs, size_t n, struct pollfd *fds,
                           uint64_t deadline_ms)
{
    nfds_t nopen = 0;
    for (size_t i = 0; i < n; i++)
        if (qs[i].fd >= 0)
            fds[nopen++] = (struct pollfd){.fd = qs[i].fd, .events = POLLIN};
    uint64_t now = now_ms();
    int got = nopen && now < deadline_ms ? poll(fds, nopen, (int)(deadline_ms - now)) : 0;
    if (got <= 0)
        return got < 0 && errno == EINTR;
    for (size_t i = 0, at = 0; i < n; i++)
        if (qs[i].fd >= 0 && fds[at++].revents)
            question_read(&qs[i]);
    return true;
}

/* All at the same time, so that those that do not answer cost the wait of one. */
static void questions_end(struct question *qs, size_t n, int ms)
{
    uint64_t deadline_ms = now_ms() + (uint64_t)ms;
    struct pollfd *fds = mem_alloc(n, sizeof *fds);
    while (questions_wait(qs, n, fds, deadline_ms))
        ;
    for (size_t i = 0; i < n; i++)
        if (qs[i].fd >= 0) {
            question_hang_up(&qs[i]);
            buf_reset(&qs[i].answer);
            err_set(&qs[i].e, ERR_TIMEOUT, "%s", no_answer);
        }
    free(fds);
}

/* 0, or -1 with what control_ask says. */
static int question_status(const struct question *q, struct control_status *out, struct err *e)
{
    *e = q->e;
    if (e->code != ERR_OK && !q->answer.len)
        return -1;
    return control_status_parse((struct str){buf_str(&q->answer), q->answer.len}, out, e);
}

static void question_fini(struct question *q)
{
    buf_fini(&q->answer);
    free(q->path);
}

int control_ask(const char *path, enum control_verb verb, struct control_status *out,
                struct err *e)
{
    struct question q;
    question_begin(&q, mem_strdup(path), verb);
    questions_end(&q, 1, verb == CONTROL_STACK ? STACK_MS : ANSWER_MS);
    int rc = question_status(&q, out, e);
    question_fini(&q);
    return rc;
}

/* ---- all jobs ---- */

struct questions {
    struct question *items;
    size_t n, cap;
};

static int search(const char *folder, enum control_verb verb, struct questions *qs,
                  struct err *e)
{
    bool is_there;
    if (control_folder_check(folder, &is_there, e) < 0)
        return -1;
    DIR *dir = is_there ? opendir(folder) : NULL;
    for (const struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        char *path = mem_printf("%s/%s", folder, entry->d_name);
        if (!control_name_parse(entry->d_name, NULL, NULL) || !control_is_socket(path)) {
            free(path);
            continue;
        }
        array_grow(qs->items, qs->n, qs->cap);
        question_begin(&qs->items[qs->n++], path, verb);
    }
    if (dir)
        closedir(dir);
    return 0;
}

/* All that is known of a job that does not answer. */
static void read_name(const char *path, struct control_status *status)
{
    struct str id;
    pid_t pid;
    control_name_parse(strrchr(path, '/') + 1, &id, &pid);
    status->pid = (uint32_t)pid;
    status->job_id = mem_printf("%.*s", (int)id.n, id.p);
}

/* Adds the job behind a socket. One that nobody listens at is left alone: its job may have
 * died, but may as well be about to listen, or run on another host that shares the folder. */
static void add_job(struct job_list *list, const struct question *q)
{
    struct err e;
    struct job_row row = {0};
    if (question_status(q, &row.status, &e) < 0) {
        if (e.code == ERR_UNAVAILABLE)
            return;
        read_name(q->path, &row.status);
        row.why = mem_strdup(e.text);
    }
    row.path = mem_strdup(q->path);
    job_list_add(list, &row);
}

int control_find(enum control_verb verb, struct job_list *out, struct err *e)
{
    struct buf folder;
    struct questions qs = {0};
    int rc = 0;
    *out = (struct job_list){0};
    buf_init(&folder, 0);
    for (int place = 0; place < CONTROL_PLACES && rc == 0; place++) {
        buf_reset(&folder);
        if (control_folder_format((enum control_place)place, &folder))
            rc = search(buf_str(&folder), verb, &qs, e);
    }
    buf_fini(&folder);
    questions_end(qs.items, qs.n, rc < 0 ? 0 : ANSWER_MS);
    for (size_t i = 0; i < qs.n; i++) {
        if (rc == 0)
            add_job(out, &qs.items[i]);
        question_fini(&qs.items[i]);
    }
    free(qs.items);
    job_list_sort(out);
    return rc;
}
