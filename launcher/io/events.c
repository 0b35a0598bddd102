#include "launcher/io/events.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/core/signal_names.h"
#include "launcher/io/json_text.h"
#include "launcher/io/line_queue.h"
#include "launcher/io/report_json.h"

enum { CLOSE_WAIT_MS = 2000 };

struct events {
    struct line_queue *queue;
    const struct options *opt;
    bool is_stopping;
};

/* A named pipe that nobody reads yet must not hold up the start: held open for both, it takes
 * what it can until somebody does. */
static int open_file(const char *path)
{
    int flags = O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NONBLOCK;
    int fd = open(path, O_WRONLY | flags, 0666);
    return fd < 0 && errno == ENXIO ? open(path, O_RDWR | flags, 0666) : fd;
}

struct events *events_open(uv_loop_t *loop, const char *path, const struct options *opt,
                           struct err *e)
{
    bool is_out = strcmp(path, "-") == 0, is_err = strcmp(path, "/dev/stderr") == 0;
    int fd = is_out || is_err /* not opened again: that would empty a file */
                 ? fcntl(is_out ? STDOUT_FILENO : STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
                 : open_file(path);
    if (fd < 0) {
        err_set(e, ERR_USAGE, "--events: cannot write %s: %s", path, strerror(errno));
        return NULL;
    }
    struct events *ev = mem_alloc(1, sizeof *ev);
    ev->queue = line_queue_new(loop, fd, "--events");
    ev->opt = opt;
    return ev;
}

void events_close(struct events *ev)
{
    if (!ev)
        return;
    line_queue_close(ev->queue, CLOSE_WAIT_MS);
    free(ev);
}

/* Takes o. */
static void emit_line(struct events *ev, const char *type, uint32_t generation, json_t *o)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    json_t *line = json_pack("{s:i, s:s, s:I, s:I}", "v", 1, "type", type, "unix_ms",
                             (json_int_t)now.tv_sec * 1000 + now.tv_nsec / 1000000,
                             "generation", (json_int_t)generation);
    json_object_update(line, o);
    json_decref(o);
    char *text = json_dumps(line, JSON_COMPACT);
    char *whole = text ? mem_printf("%s\n", text) : NULL; /* one write, one line */
    if (whole)
        line_queue_add(ev->queue, whole, strlen(whole));
    free(whole);
    free(text);
    json_decref(line);
}

/* The same, after word of what was lost before it. */
static void emit(struct events *ev, const char *type, uint32_t generation, json_t *o)
{
    uint64_t nlost = line_queue_take_lost(ev->queue);
    if (nlost)
        emit_line(ev, "lost", generation, json_pack("{s:I}", "count", (json_int_t)nlost));
    emit_line(ev, type, generation, o);
}

static json_t *program_json(const struct options *opt)
{
    json_t *a = json_array();
    for (char *const *word = opt->program; word && *word; word++)
        json_array_append_new(a, json_text(*word));
    return a;
}

static void begin(struct events *ev, const struct event *boot)
{
    emit(ev, "job", 0,
         json_pack("{s:o, s:s, s:o, s:I, s:i}", "job", json_text(ev->opt->job_id), "version",
                   MUSTER_VERSION, "program", program_json(ev->opt), "max_restarts",
                   (json_int_t)ev->opt->max_restarts, "master_port", (int)boot->u.boot.port));
}

static json_t *rank_json(const struct job *job, uint32_t link, uint32_t local_rank,
                         bool is_exit)
{
    uint32_t rank;
    const struct job_rank *r = job_rank_behind(job, link, local_rank, &rank);
    if (!r)
        return NULL;
    json_t *o = json_pack("{s:I, s:I, s:o, s:o}", "rank", (json_int_t)rank, "local_rank",
                          (json_int_t)local_rank, "host", json_text(r->host), "pid",
                          r->pid ? json_integer(r->pid) : json_null());
    if (is_exit) {
        json_object_set_new(o, "end", report_json_end(&r->end));
        json_object_set_new(o, "was_stopped", json_boolean(r->was_stopped));
    }
    return o;
}

static json_t *count(struct maybe_u64 n)
{
    return n.is_known ? json_integer((json_int_t)n.value) : json_null();
}

static json_t *stack_json(const struct job *job, uint32_t link, const struct frame *frame)
{
    const struct rank_facts *facts = &frame->u.stack.facts;
    json_t *o = rank_json(job, link, frame->u.stack.local_rank, false);
    if (!o)
        return NULL;
    json_object_set_new(o, "where", json_text(facts->where));
    json_object_set_new(o, "step", count(facts->step));
    json_object_set_new(o, "quiet_ms", count(facts->quiet_ms));
    return o;
}

static void on_frame(struct events *ev, const struct job *job, uint32_t link,
                     const struct frame *frame)
{
    json_t *o = NULL;
    bool is_exit = frame->type == FRAME_EXITED;
    if (frame->generation != job_generation(job))
        return;
    if (is_exit)
        o = rank_json(job, link, frame->u.exited.local_rank, true);
    else if (frame->type == FRAME_STARTED)
        o = rank_json(job, link, frame->u.started.local_rank, false);
    else if (frame->type == FRAME_STACK)
        o = stack_json(job, link, frame);
    if (o)
        emit(ev,
             is_exit                      ? "exited"
             : frame->type == FRAME_STACK ? "stack"
                                          : "started",
             frame->generation, o);
}

/* The frames of one step go to every node: the first tells. */
static void on_send(struct events *ev, const struct job *job, const struct frame *frame)
{
    uint32_t n;
    if (frame->type == FRAME_START) {
        job_ranks(job, &n);
        ev->is_stopping = false;
        emit(ev, "generation", frame->generation,
             json_pack("{s:I}", "world_size", (json_int_t)n));
    } else if (frame->type == FRAME_STOP) {
        if (!ev->is_stopping)
            emit(ev, "verdict", frame->generation,
                 report_json_verdict(job_verdict(job), ev->opt));
        ev->is_stopping = true;
        const struct notice *notice = &frame->u.stop.notice;
        emit(ev, "stop", frame->generation,
             json_pack("{s:s, s:I, s:o, s:I}", "signal", signal_name(frame->u.stop.signo),
                       "grace_ms", (json_int_t)frame->u.stop.grace_ms, "notice_signal",
                       json_text(notice->ms ? signal_name(notice->signo) : NULL), "notice_ms",
                       (json_int_t)notice->ms));
    }
}

void events_step(struct events *ev, const struct job *job, const struct event *seen,
                 const struct effects *effects)
{
    bool has_sent = false;
    if (seen->type == EV_BOOT)
        begin(ev, seen);
    if (seen->type == EV_FRAME)
        on_frame(ev, job, seen->u.frame.node, &seen->u.frame.frame);
    for (size_t i = 0; i < effects->len; i++) {
        const struct effect *fx = &effects->items[i];
        if (fx->type == FX_SEND && !has_sent
            && (fx->u.send.frame.type == FRAME_START || fx->u.send.frame.type == FRAME_STOP)) {
            on_send(ev, job, &fx->u.send.frame);
            has_sent = true;
        }
        if (fx->type == FX_STORE_RESET)
            ev->is_stopping = false;
        if (fx->type != FX_DONE)
            continue;
        if (!ev->is_stopping)
            emit(ev, "verdict", job_generation(job),
                 report_json_verdict(job_verdict(job), ev->opt));
        emit(ev, "end", job_generation(job),
             json_pack("{s:i}", "status", verdict_exit_status(job_verdict(job))));
    }
}
