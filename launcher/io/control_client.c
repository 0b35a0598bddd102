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

/* ---- one question ---- */

/* A connection, or -1 with ERR_UNAVAILABLE and e->sys. */
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
    err_set(e, ERR_UNAVAILABLE, "%s: %s", path, strerror(why));
    e->sys = why;
    return -1;
}

/* Reads to the end. */
static int read_all(int fd, uint64_t deadline_ms, struct buf *out, struct err *e)
{
    for (;;) {
        uint64_t now = now_ms();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int n = now < deadline_ms ? poll(&p, 1, (int)(deadline_ms - now)) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(e, ERR_TIMEOUT, "it does not answer; is it suspended?");
        char bytes[4096];
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (got <= 0)
            return 0;
        buf_add(out, bytes, (size_t)got);
    }
}

int control_ask(const char *path, enum control_verb verb, struct control_status *out,
                struct err *e)
{
    int fd = dial(path, e);
    if (fd < 0)
        return -1;
    struct buf text;
    buf_init(&text, ANSWER_BYTES_MAX);
    control_request_format(verb, &text);
    ssize_t sent = send(fd, text.data, text.len, MSG_NOSIGNAL);
    bool is_sent = sent == (ssize_t)text.len;
    buf_reset(&text);
    int rc = is_sent ? read_all(fd, now_ms() + (verb == CONTROL_STACK ? STACK_MS : ANSWER_MS),
                                &text, e)
                     : err_set(e, ERR_UNAVAILABLE, "it takes no request");
    if (rc == 0)
        rc = control_status_parse((struct str){buf_str(&text), text.len}, out, e);
    close(fd);
    buf_fini(&text);
    return rc;
}

/* ---- all jobs ---- */

/* All that is known of a job that does not answer. */
static void read_name(const char *name, struct control_status *status)
{
    struct str id;
    pid_t pid;
    control_name_parse(name, &id, &pid);
    status->pid = (uint32_t)pid;
    status->job_id = mem_printf("%.*s", (int)id.n, id.p);
}

/* Adds the job behind a socket. One that nobody listens at is left alone: its job may have
 * died, but may as well be about to listen, or run on another host that shares the folder. */
static void add_job(struct job_list *list, enum control_verb verb, const char *folder,
                    const char *name)
{
    struct err e;
    struct job_row row = {.path = mem_printf("%s/%s", folder, name)};
    if (!control_is_socket(row.path)) {
        free(row.path);
        return;
    }
    if (control_ask(row.path, verb, &row.status, &e) < 0) {
        if (e.code == ERR_UNAVAILABLE) {
            free(row.path);
            return;
        }
        read_name(name, &row.status);
        row.why = mem_strdup(e.text);
    }
    job_list_add(list, &row);
}

static int search(const char *folder, enum control_verb verb, struct job_list *list,
                  struct err *e)
{
    bool is_there;
    if (control_folder_check(folder, &is_there, e) < 0)
        return -1;
    DIR *dir = is_there ? opendir(folder) : NULL;
    for (const struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        if (control_name_parse(entry->d_name, NULL, NULL))
            add_job(list, verb, folder, entry->d_name);
    if (dir)
        closedir(dir);
    return 0;
}

int control_find(enum control_verb verb, struct job_list *out, struct err *e)
{
    struct buf folder;
    int rc = 0;
    *out = (struct job_list){0};
    buf_init(&folder, 0);
    for (int place = 0; place < CONTROL_PLACES && rc == 0; place++) {
        buf_reset(&folder);
        if (control_folder_format((enum control_place)place, &folder))
            rc = search(buf_str(&folder), verb, out, e);
    }
    buf_fini(&folder);
    if (rc < 0)
        job_list_fini(out);
    else
        job_list_sort(out);
    return rc;
}
